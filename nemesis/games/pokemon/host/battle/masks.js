// Masks over actions: one bit for each action, eight in a byte, the highest bit first, as packed by numpy's `packbits`.

/**
 * @param {number} actions
 * @returns {number} bytes of a mask
 */
export function maskSize(actions) {
  return Math.ceil(actions / 8);
}

/** @type {(bits: Uint8Array, index: number) => void} */
export function setBit(bits, index) {
  bits[index >> 3] |= 128 >> (index & 7);
}

/** @type {(bits: Uint8Array, index: number) => boolean} */
export function hasBit(bits, index) {
  return (bits[index >> 3] & (128 >> (index & 7))) !== 0;
}

/**
 * @param {Uint8Array} bits
 * @returns {number[]} the actions whose bit is set
 */
export function setIndices(bits) {
  const indices = [];
  for (let index = 0; index < 8 * bits.length; index++) if (hasBit(bits, index)) indices.push(index);
  return indices;
}
