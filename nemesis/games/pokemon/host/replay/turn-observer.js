// Collects what the lines of one turn reveal about the choices for it.

import { AIMED } from '../battle/requests.js';
import { isChosen } from '../tracker/actions.js';
import { noObservation } from './choices.js';

/** @import { Pokemon, Slot } from '../tracker/state.js' */
/** @import { Tracker } from '../tracker/tracker.js' */
/** @import { Observation } from './choices.js' */
/** @import { SeatReplay } from './requests.js' */

const GIMMICK_LINES = new Set(['-terastallize', '-mega', '-burst', '-zpower']);
const REDIRECTS = /^\|-activate\|[^|]*\|ability: (Lightning Rod|Storm Drain)/;
const REDIRECTING_VOLATILES = ['followme', 'spotlight'];
/** Generations in which a Pokémon can be hit before it switches out. */
const HAS_PURSUIT = [2, 3, 4, 5, 6, 7];

/** One slot of a seat that has to act in this turn. */
class Actor {
  /** @param {Pokemon | null} pokemon */
  constructor(pokemon) {
    this.pokemon = pokemon;
    this.seen = noObservation();
    this.done = !pokemon || pokemon.fainted; // whether it acted or cannot act
    this.overridden = false; // whether another move may replace the chosen one
    this.instructed = false; // whether its next move is a repetition by Instruct
    this.cancelled = false; // whether it lost its turn, perhaps with an unseen gimmick
  }
}

/** The choices of one seat for one turn. */
export class TurnObserver {
  /**
   * @param {SeatReplay} replay
   * @param {any} request
   */
  constructor(replay, request) {
    const { tracker, side } = replay;
    this.replay = replay;
    this.request = request;
    this.places = replay.order.slice();
    this.actors = side.slots.slice(0, tracker.activeSlots).map((slot) => new Actor(slot.pokemon));
    this.unsure = false; // whether the reconstructed request may be wrong
    this.swapped = false; // whether foes swapped places
    this.actors.forEach(({ seen }, index) => {
      const { moves, unsure } = request.active[index];
      seen.open = unsure || (!replay.knowsMoves(side.slots[index]) && moves[0]?.pp !== undefined);
      this.unsure ||= Boolean(unsure);
      seen.stayed = !HAS_PURSUIT.includes(tracker.lexicon.generation);
    });
  }

  /** @returns {Observation[]} */
  get seen() {
    return this.actors.map(({ seen }) => seen);
  }

  /**
   * @param {Pokemon | null} pokemon
   * @returns {Actor | undefined} its actor, if it has not acted yet
   */
  waiting(pokemon) {
    return this.actors.find((actor) => actor.pokemon === pokemon && pokemon && !actor.done);
  }

  /**
   * Process a line before the tracker reads it.
   * @param {string[]} parts
   * @param {string[]} lines
   * @param {number} place
   */
  readLine(parts, lines, place) {
    const { tracker, seat } = this.replay;
    const [, type, ident = ''] = parts;
    if (type === 'swap' && tracker.sideAt(ident).index !== seat) this.swapped = true;
    // All gimmicks are used before the first move.
    if (type === 'move' || type === 'cant') this.ruleOutGimmicks();
    if (!ident.startsWith(`p${seat + 1}`)) return;
    const slot = tracker.slotAt(ident);
    const actor = this.waiting(slot.pokemon);
    if (!actor) return;
    if (type === 'move') this.readMove(actor, slot, parts, lines, place);
    else if (type === 'cant') this.readCant(actor, parts, lines, place);
    else if (GIMMICK_LINES.has(type)) actor.seen.gimmick = true;
    else if (type === '-start' && tracker.lexicon.effect(parts[3]).id === 'encore') actor.overridden = true;
    else if (type === '-singleturn' && tracker.lexicon.effect(parts[3]).id === 'instruct') actor.instructed = true;
    else if (type === '-activate' && tracker.lexicon.effect(parts[3]).id === 'commander') this.leave(actor);
    else if (type === 'faint') this.cancel(actor); // even if it is revived, it does not act
    else if (type === 'drag') actor.done = true;
  }

  ruleOutGimmicks() {
    for (const { seen, cancelled } of this.actors) if (!cancelled) seen.gimmick ??= false;
  }

  /** @param {Actor} actor */
  cancel(actor) {
    actor.done = actor.cancelled = true;
  }

  /**
   * @param {Actor} actor that left the field before it could act, perhaps by Commander
   */
  leave(actor) {
    this.cancel(actor);
    actor.seen.stayed = false;
  }

  /**
   * @param {Actor} actor
   * @param {number} number of the Pokémon that was chosen to replace it
   */
  switchTo(actor, number) {
    actor.done = true;
    actor.seen.kind = 'switch';
    actor.seen.place = this.places.indexOf(number);
  }

  /**
   * @param {Actor} actor
   * @param {Slot} slot
   * @param {string[]} parts
   * @param {string[]} lines
   * @param {number} place
   */
  readMove(actor, slot, parts, lines, place) {
    const { tracker } = this.replay;
    if (!isOwn(tracker, parts) || takeInstructed(actor)) return;
    const { id } = tracker.lexicon.move(parts[3]);
    actor.done = true;
    if (actor.overridden) return;
    actor.seen.kind = 'move';
    actor.seen.move = id;
    this.aim(actor.seen, slot, id, parts, lines, place);
  }

  /**
   * @param {Observation} seen
   * @param {Slot} slot of the user
   * @param {string} id of the move
   * @param {string[]} parts
   * @param {string[]} lines
   * @param {number} place
   */
  aim(seen, slot, id, parts, lines, place) {
    const { tracker, seat } = this.replay;
    const target = parts[4] || targetOfChargedMove(lines, place);
    if (tracker.activeSlots === 1 || !/^p[12][ab]?: /.test(target)) return;
    const spread = parts.some((part) => part.startsWith('[spread]'));
    const spreads = spread || (id === 'expandingforce' && tracker.terrain?.id === 'psychicterrain');
    if (id === 'dragondarts' || spreads || redirected(lines, place)) return;
    // If the target type changes after the choice, the target is random.
    if (id === 'curse' || (id === 'terastarstorm' && seen.gimmick)) return;
    const side = tracker.sides[target.charCodeAt(1) - 49];
    if (side.index === seat) {
      const ally = AIMED.own[1 - slot.index];
      const self = AIMED.own[slot.index];
      const hit = target.charCodeAt(2) === 58 || tracker.slotAt(target) !== slot ? ally : self;
      const { pokemon } = this.replay.side.slots[1 - slot.index];
      seen.targets = hit === self && (!pokemon || pokemon.fainted) ? [self, ally] : [hit];
      return;
    }
    const hit = target.charCodeAt(2) === 58 ? null : tracker.slotAt(target);
    // Redirection also affects moves that target the ally.
    if (hit && REDIRECTING_VOLATILES.some((volatile) => hit.volatiles.has(volatile))) return;
    if (!hit || this.swapped) {
      seen.targets = [...AIMED.foes];
      return;
    }
    const other = side.slots[1 - hit.index];
    // A move that targets an empty slot hits the other one.
    const standing = other.pokemon !== null && !other.pokemon.fainted;
    seen.targets = standing ? [AIMED.foes[hit.index]] : [...AIMED.foes];
  }

  /**
   * @param {Actor} actor
   * @param {string[]} parts
   * @param {string[]} lines
   * @param {number} place
   */
  readCant(actor, parts, lines, place) {
    const { lexicon } = this.replay.tracker;
    const reason = lexicon.effect(parts[3] ?? '');
    if (reason.kind === 'ability' && reason.id !== 'truant') return; // the line names the owner of the ability
    if (reason.id === 'slp' && triesToMoveAsleep(lines, place)) return;
    if (takeInstructed(actor)) return;
    actor.done = true;
    const named = parts[4] && !parts[4].startsWith('[') ? lexicon.move(parts[4]) : null;
    if (!named?.inMoveset || actor.overridden) return;
    actor.seen.kind = 'move';
    actor.seen.move = named.id;
  }
}

/**
 * @param {Tracker} tracker
 * @param {string[]} parts of a line of a move
 * @returns {boolean} whether its user chose it, and no other effect caused it
 */
export function isOwn(tracker, parts) {
  tracker.readTags(parts, 5);
  return isChosen(tracker, tracker.lexicon.move(parts[3]).id);
}

/**
 * @param {Actor} actor that moves or tries to
 * @returns {boolean} whether this is a repetition by Instruct, and the chosen move is still to come
 */
function takeInstructed(actor) {
  const { instructed } = actor;
  actor.instructed = false;
  return instructed;
}

/**
 * @param {string[]} lines
 * @param {number} place of a line that a Pokémon is asleep
 * @returns {boolean} whether it tries to move anyway
 */
function triesToMoveAsleep(lines, place) {
  const ident = lines[place].split('|', 3)[2];
  let next = place + 1;
  while (lines[next]?.startsWith('|-')) next++;
  const [, type, other] = (lines[next] ?? '').split('|', 3);
  return (type === 'move' || type === 'cant') && other === ident;
}

/**
 * @param {string[]} lines
 * @param {number} place of a move without a target
 * @returns {string} the target, if the move charges and hits in the same turn
 */
function targetOfChargedMove(lines, place) {
  const start = `|-anim|${lines[place].split('|', 4).slice(2).join('|')}|`;
  for (let next = place + 1; lines[next]?.startsWith('|-'); next++) {
    if (lines[next].startsWith(start)) return lines[next].slice(start.length).split('|', 1)[0];
  }
  return '';
}

/**
 * @param {string[]} lines
 * @param {number} place of a move
 * @returns {boolean} whether an ability redirects it
 */
function redirected(lines, place) {
  for (let next = place + 1; lines[next]?.startsWith('|-'); next++) if (REDIRECTS.test(lines[next])) return true;
  return false;
}
