// LogRandom that follows from a log alone, so that whoever reads it, and whenever, draws the same.

import { createHash } from 'node:crypto';

const BYTES = 4; // of one number

export class LogRandom {
  /**
   * @param {string} text of the log
   * @param {string} purpose what is drawn
   */
  constructor(text, purpose) {
    this.text = text;
    this.purpose = purpose;
    this.blocks = 0;
    this.block = Buffer.alloc(0);
    this.place = 0;
  }

  /** @returns {number} from 0 to 1, which it is not */
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
   * @returns {string | undefined} one of the allowed ids, each as often as it was counted
   */
  pick(counts, allowed = () => true) {
    const ids = Object.keys(counts).filter(allowed);
    let rest = this.next() * ids.reduce((sum, id) => sum + counts[id], 0);
    return ids.find((id) => (rest -= counts[id]) < 0) ?? ids[ids.length - 1];
  }

  /**
   * @param {number[]} numbers
   * @param {number} count at most as many as there are
   * @returns {number[]} so many of them, each as likely as any other
   */
  sample(numbers, count) {
    const left = [...numbers];
    return Array.from({ length: count }, () => left.splice(Math.floor(this.next() * left.length), 1)[0]);
  }
}
