// Validates teams: from text in any common form to packed teams that a Showdown server accepts, or its list of
// problems. The text is untrusted. It is only read as data, and the returned team is the one that was validated.

import { createRequire } from 'node:module';

/** @type {import('pokemon-showdown')} */
const { Dex, Teams, TeamValidator } = createRequire(import.meta.url)('pokemon-showdown');

/** @typedef {NonNullable<ReturnType<typeof Teams.unpack>>[number]} PokemonSet */
/** @typedef {{packed: string} | {problems: string[]}} ValidationResult a team for a battle, or all problems */

const MAX_TEXT = 64 * 1024; // characters of a team as given
const MAX_PACKED = 25 * 1024 - 6; // a server refuses longer ones without reading them

/**
 * Validate teams as a server would. An invalid team never throws; an unknown format does.
 * @param {{format: string, teams: string[]}} question
 * @returns {{teams: ValidationResult[]}}
 */
export function checkTeams({ format, teams }) {
  const { exists, effectType, id } = Dex.formats.get(format);
  if (!exists || effectType !== 'Format') throw new Error(`There is no format ${format}.`);
  return {
    teams: teams.map((text) => {
      try {
        return validateTeam(id, importTeam(text));
      } catch (error) {
        return { problems: [error instanceof Error ? error.message : String(error)] };
      }
    }),
  };
}

/**
 * @param {string} text a paste, a packed team or the JSON of one
 * @returns {string} the packed team, not yet validated
 */
function importTeam(text) {
  if (typeof text !== 'string') throw new Error('A team must be text.');
  if (text.length > MAX_TEXT) throw new Error(`The text of this team is longer than ${MAX_TEXT} characters.`);
  const trimmed = text.replace(/\r\n?/g, '\n').trim();
  if (!trimmed) throw new Error('There is no Pokémon in this team.');
  if (trimmed.startsWith('[') || trimmed.startsWith('{')) return packJson(trimmed);
  if (trimmed.includes('|') && !trimmed.includes('\n')) return trimmed;
  return pack(Teams.import(trimmed) ?? []);
}

/**
 * @param {string} format id
 * @param {string} packed
 * @returns {ValidationResult} the team as changed by the validator, with the levels, EVs and formes of the format
 */
export function validateTeam(format, packed) {
  if (packed.length > MAX_PACKED) return { problems: ['Your team is over 25KB. Please use a smaller team.'] };
  const sets = Teams.unpack(packed);
  if (!sets) return { problems: ['This packed team is damaged or cut short.'] };
  const validator = TeamValidator.get(format);
  validator.validateSet = (set, teamHas) => {
    const problems = TeamValidator.prototype.validateSet.call(validator, set, teamHas);
    return problems && problems.map((problem) => withSpecies(set, problem));
  };
  let problems;
  try {
    problems = validator.validateTeam(sets);
  } catch (error) {
    problems = [`The validator failed on this team: ${error instanceof Error ? error.message : error}.`];
  }
  return problems?.length ? { problems } : { packed: Teams.pack(sets) };
}

/**
 * Some messages, such as that an item does not exist, do not name the Pokémon.
 * @param {PokemonSet} set
 * @param {string} problem
 */
function withSpecies(set, problem) {
  const named = [set.species, set.name].some((name) => name && problem.includes(name));
  return named ? problem : `${set.species}: ${problem}`;
}

/** @param {string} text */
function packJson(text) {
  let sets;
  try {
    sets = JSON.parse(text);
  } catch (error) {
    throw new Error(`This looks like JSON but cannot be read: ${error instanceof Error ? error.message : error}.`);
  }
  if (!Array.isArray(sets)) throw new Error('The JSON of a team must be a list of Pokémon.');
  try {
    return pack(sets.map((set) => ({ ...set, moves: [...set.moves] })));
  } catch {
    throw new Error('A Pokémon in the JSON of this team lacks its moves or has a field of the wrong type.');
  }
}

/** @param {PokemonSet[]} sets */
function pack(sets) {
  // In a packed team these characters would end the nickname.
  for (const set of sets) set.name = (set.name ?? '').replace(/[|\]]/g, ' ');
  return Teams.pack(sets);
}
