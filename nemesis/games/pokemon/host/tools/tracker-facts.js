// Prints what the native tracker reads of the Gen 1 dex, as JSON: of each species and move, in the order of Showdown's
// numbers, its id and what the tracker's lexicon knows of it.
//
//   node tools/tracker-facts.js

import { loadSimulator } from '../simulator.js';
import { lexiconOf } from '../tracker/lexicon.js';

const SPECIES = 151;
const MOVES = 165;
const FIRST = 1;

const { Dex } = loadSimulator({ overlay: false });
const dex = Dex.mod('gen1');
const lexicon = lexiconOf(/** @type {any} */ (dex));

/**
 * @param {readonly {num: number, id: string, isNonstandard: string | null}[]} entries
 * @param {number} last
 * @returns {string[]} ids of the entries with the numbers from 1 to the last
 */
function ids(entries, last) {
  const standard = entries.filter(({ num, isNonstandard }) => num >= FIRST && num <= last && !isNonstandard);
  const byNumber = new Map(standard.map(({ num, id }) => [num, id]));
  return Array.from({ length: last }, (_, place) => {
    const id = byNumber.get(place + FIRST);
    if (!id) throw new Error(`The dex has nothing with the number ${place + FIRST}.`);
    return id;
  });
}

const species = ids(dex.species.all(), SPECIES).map((id) => {
  const { types } = lexicon.species(id);
  return { id, types };
});
const moves = ids(dex.moves.all(), MOVES).map((id) => {
  const { basePp, maxPp, named, inMoveset, locks, charges, binds } = lexicon.move(id);
  return { id, basePp, maxPp, named, inMoveset, locks, charges, binds };
});
console.log(JSON.stringify({ species, moves }));
