// Follows battles that are played elsewhere, from the messages to one seat. Protocol lines and requests come in; the
// same view records and legal masks go out as for the host's own battles. Actions are turned into choices.

/** @import { Write } from '../view/writer.js' */
/** @import { ActionSpace } from './actions.js' */
/** @import { Request } from './requests.js' */

import { Tracker } from '../tracker/tracker.js';
import { maskSize } from './masks.js';

/**
 * What a battle's seat was sent since the last time.
 * @typedef {object} News
 * @property {string} battle any name
 * @property {number} seat
 * @property {string[]} lines
 * @property {Request} request to be answered
 * @property {number} refusals choices that were refused since the previous request
 */

export class Observer {
  /**
   * @param {any} dex of the format
   * @param {Write} write
   * @param {ActionSpace} space
   * @param {number} viewSize
   */
  constructor(dex, write, space, viewSize) {
    this.dex = dex;
    this.write = write;
    this.space = space;
    this.viewSize = viewSize;
    this.maskSize = maskSize(space.size);
    /** @type {Map<string, Tracker>} */
    this.trackers = new Map();
    /** @type {Map<string, Request>} the last request to each battle's seat */
    this.requests = new Map();
  }

  /**
   * @param {News[]} news at most one per battle
   * @returns {{views: string, masks: string}} rows of both, one per item of news, in base64
   */
  observe(news) {
    const views = new Int16Array(news.length * this.viewSize);
    const masks = new Uint8Array(news.length * this.maskSize);
    news.forEach(({ battle, seat, lines, request, refusals }, row) => {
      const tracker = this.trackers.get(battle) ?? new Tracker(this.dex);
      this.trackers.set(battle, tracker);
      this.requests.set(battle, request);
      tracker.read(lines, 0, lines.length);
      this.write(views.subarray(row * this.viewSize, (row + 1) * this.viewSize), tracker, request, seat, refusals);
      this.space.mask(request, masks.subarray(row * this.maskSize, (row + 1) * this.maskSize));
    });
    return { views: Buffer.from(views.buffer).toString('base64'), masks: Buffer.from(masks.buffer).toString('base64') };
  }

  /**
   * @param {{battle: string, action: number}[]} actions that answer the last request
   * @returns {string[]} Showdown's choices
   */
  choices(actions) {
    return actions.map(({ battle, action }) => {
      const request = this.requests.get(battle);
      if (!request) throw new Error(`There was no request in the battle ${battle} yet.`);
      return this.space.choice(request, action);
    });
  }

  /**
   * @param {string[]} battles that have ended
   */
  forget(battles) {
    for (const battle of battles) {
      this.trackers.delete(battle);
      this.requests.delete(battle);
    }
    return { followed: this.trackers.size };
  }
}
