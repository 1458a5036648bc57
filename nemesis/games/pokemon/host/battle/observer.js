// Follows battles that are played elsewhere, as one seat of each is told of them: protocol lines and requests in, the same
// view records and legal masks out as those of the battles that a host plays itself, and actions back as choices.

/** @import { ActionSpace } from './actions.js' */
/** @import { Request } from './requests.js' */
/** @import { Write } from '../view/writer.js' */

import { maskSize } from './masks.js';
import { Tracker } from '../tracker/tracker.js';

/**
 * What a battle's seat was told since the last time.
 * @typedef {object} News
 * @property {string} battle any name
 * @property {number} seat
 * @property {string[]} lines
 * @property {Request} request to be answered
 * @property {number} refusals choices that were refused since the request before
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
    /** @type {Map<string, Request>} what each battle's seat was asked last */
    this.requests = new Map();
  }

  /**
   * @param {News[]} news at most one of a battle
   * @returns {{views: string, masks: string}} rows of both, one for each of the news, in base 64
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
   * @param {{battle: string, action: number}[]} actions that answer what was asked last
   * @returns {string[]} Showdown's choices
   */
  choices(actions) {
    return actions.map(({ battle, action }) => {
      const request = this.requests.get(battle);
      if (!request) throw new Error(`Nothing was asked in the battle ${battle}.`);
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
