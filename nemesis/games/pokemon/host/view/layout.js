// The layout of view records, as sent by Python, and the offsets of its fields.

/**
 * @typedef {{start: number, width: number, fields: Record<string, [number, number]>}} Block
 * @typedef {object} Layout
 * @property {number} team
 * @property {number} slots
 * @property {number} moves
 * @property {number} size
 * @property {{position: Block, side: Block, pokemon: Block}} blocks
 * @property {Record<string, string[]>} names
 * @typedef {{species: string[], moves: string[], items: string[], abilities: string[], types: string[]}} Vocabulary
 */

/**
 * @template {string} Name
 * @param {string} title
 * @param {Block} block
 * @param {readonly Name[]} written
 * @returns {Record<Name, number>} where each field starts in its block
 */
export function offsets(title, { fields }, written) {
  const missing = written.filter((name) => !(name in fields));
  if (missing.length) throw new Error(`The layout lacks fields of the ${title} block: ${missing.join(', ')}.`);
  const unwritten = Object.keys(fields).filter((name) => !written.includes(/** @type {Name} */ (name)));
  if (unwritten.length) {
    throw new Error(`The host does not write these fields of the ${title} block: ${unwritten.join(', ')}.`);
  }
  return /** @type {Record<Name, number>} */ (Object.fromEntries(written.map((name) => [name, fields[name][0]])));
}

/**
 * @param {string[]} names
 * @returns {Map<string, number>} name to place
 */
export function places(names) {
  return new Map(names.map((name, place) => [name, place]));
}
