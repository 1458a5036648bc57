// The speed overlay: replaces hot methods of the simulator's classes with faster ones that behave identically.
//
// Formats and mods put their own methods on instances. Those still override the methods replaced here.

import { installDex, installIds } from './dex.js';
import { installEvents } from './events.js';
import { installMethods } from './methods.js';
import { installShapes } from './shapes.js';
import { installTurn } from './turn.js';

/** @import { Modules } from '../simulator.js' */

/** @param {Modules} modules none of which is loaded yet */
export function installOverlay(modules) {
  installIds(modules);
  installDex(modules);
  installEvents(modules);
  installMethods(modules);
  installShapes(modules);
  installTurn(modules);
}
