// The speed overlay: replaces hot methods of the simulator's classes by faster ones that do exactly the same.
//
// Formats and mods put methods of their own on instances, and those still win over what is replaced here.

import { installEvents } from './overlay-events.js';

/** @param {(name: string) => any} load a module of the simulator */
export function installOverlay(load) {
  const { ModdedDex } = load('dex').Dex;
  installEvents(load);
  installMoves(ModdedDex.prototype);
}

/** @param {any} prototype of ModdedDex */
function installMoves(prototype) {
  prototype.getActiveMove = function (move) {
    if (move && typeof move.hit === 'number') return move;
    move = this.moves.get(move);
    const copy = { __proto__: Object.getPrototypeOf(move), ...move };
    for (const key in copy) {
      const value = copy[key];
      if (typeof value === 'object' && value !== null) copy[key] = this.deepClone(value);
    }
    copy.hit = 0;
    return copy;
  };
}
