// Loads the battle simulator from its npm package, unchanged or with the speed overlay.

import { createRequire } from 'node:module';

import { installOverlay } from './overlay/install.js';

const require = createRequire(import.meta.url);

/**
 * @typedef {object} Simulator
 * @property {typeof import('pokemon-showdown').Battle} Battle
 * @property {typeof import('pokemon-showdown').Dex} Dex
 * @property {typeof import('pokemon-showdown').Teams} Teams
 * @property {typeof import('pokemon-showdown').TeamValidator} TeamValidator
 * @property {typeof import('pokemon-showdown').PRNG} PRNG
 * @property {typeof import('pokemon-showdown').toID} toID
 * @property {typeof import('pokemon-showdown/dist/sim/battle.js').extractChannelMessages} extractChannelMessages
 */

/**
 * The simulator's own modules, by names such as "battle".
 * @typedef {object} Modules
 * @property {(name: string) => any} load
 * @property {(name: string, exports: object) => void} replace the exports of a module for later loads
 */

/** @type {Modules} */
const modules = {
  load: (name) => require(`pokemon-showdown/dist/sim/${name}`),
  replace: (name, exports) => {
    const module = require.cache[require.resolve(`pokemon-showdown/dist/sim/${name}`)];
    if (module) module.exports = exports;
  },
};

/** @type {Overlay | false | null} */
let loaded = null;

/** @typedef {(modules: Modules) => void} Overlay */

/**
 * A thread has one simulator: the package loads its data lazily, so two of them would share each other's changes.
 * @param {{overlay: boolean | Overlay}} options an overlay other than the speed overlay is for tests
 * @returns {Simulator}
 */
export function loadSimulator({ overlay }) {
  const wanted = overlay === true ? installOverlay : overlay;
  if (loaded === null && wanted) wanted(modules);
  loaded ??= wanted;
  if (loaded !== wanted) throw new Error('This thread has already loaded a simulator with another overlay.');
  const { Battle, Dex, Teams, TeamValidator, PRNG, toID } = require('pokemon-showdown');
  const { extractChannelMessages } = modules.load('battle');
  return { Battle, Dex, Teams, TeamValidator, PRNG, toID, extractChannelMessages };
}
