// The speed overlay: replaces hot methods of the simulator's classes by faster ones that do exactly the same.
//
// Formats and mods put methods of their own on instances, and those still win over what is replaced here.

import { installDex, installIds } from './dex.js';
import { installEvents } from './events.js';
import { installMethods } from './methods.js';
import { installShapes } from './shapes.js';
import { installTurn } from './turn.js';

/** @import { Modules } from '../simulator.js' */

/** @param {Modules} modules none of them loaded yet */
export function installOverlay(modules) {
  installIds(modules);
  installDex(modules);
  installEvents(modules);
  installMethods(modules);
  installShapes(modules);
  installTurn(modules);
}
