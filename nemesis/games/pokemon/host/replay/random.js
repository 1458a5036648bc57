// Random numbers seeded by the text of a log, so that every reading of the log draws the same.

import { createHash } from 'node:crypto';

const BYTES = 4; // per number

export class LogRandom {
  /**
   * @param {string} text of the log
   * @param {string} purpose separates independent streams of one log
   */
  constructor(text, purpose) {
    this.text = text;
    this.purpose = purpose;
    this.blocks = 0;
    this.block = Buffer.alloc(0);
    this.place = 0;
  }

  /** @returns {number} in [0, 1) */
  next() {
    if (this.place === this.block.length) {
      this.block = createHash('sha256').update(`${this.purpose}|${this.blocks++}|`).update(this.text).digest();
      this.place = 0;
    }
    const number = this.block.readUInt32LE(this.place);
    this.place += BYTES;
    return number / 2 ** (8 * BYTES);
  }

  /**
   * @param {Record<string, number>} counts
   * @param {(id: string) => boolean} [allowed]
   * @returns {string | undefined} an allowed id, with probability proportional to its count
   */
  pick(counts, allowed = () => true) {
    const ids = Object.keys(counts).filter(allowed);
    let rest = this.next() * ids.reduce((sum, id) => sum + counts[id], 0);
    return ids.find((id) => (rest -= counts[id]) < 0) ?? ids[ids.length - 1];
  }

  /**
   * @param {number[]} numbers
   * @param {number} count at most the number of numbers
   * @returns {number[]} a uniform sample without replacement
   */
  sample(numbers, count) {
    const left = [...numbers];
    return Array.from({ length: count }, () => left.splice(Math.floor(this.next() * left.length), 1)[0]);
  }
}
