// Loads the battle simulator from its npm package, as it is or with the speed overlay.

import { createRequire } from 'node:module';

import { installOverlay } from './overlay.js';

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

/** @type {boolean | null} */
let overlaid = null;

/**
 * A thread holds one simulator: the package loads its data as it goes, so two of them would share what each changes.
 * @param {{overlay: boolean}} options
 * @returns {Simulator}
 */
export function loadSimulator({ overlay }) {
  if (overlaid === null && overlay) installOverlay(simulatorModule);
  overlaid ??= overlay;
  if (overlaid !== overlay) throw new Error('This thread has loaded the other simulator already.');
  const { Battle, Dex, Teams, TeamValidator, PRNG, toID } = require('pokemon-showdown');
  const { extractChannelMessages } = simulatorModule('battle');
  return { Battle, Dex, Teams, TeamValidator, PRNG, toID, extractChannelMessages };
}

/**
 * @param {string} name of a module of the simulator, such as "battle"
 * @returns {any}
 */
export function simulatorModule(name) {
  return require(`pokemon-showdown/dist/sim/${name}`);
}
