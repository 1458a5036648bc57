// Which options a request contains: moves with their target types, the gimmick, and slots that cannot act.

/**
 * The parts of a request that determine the legal actions.
 * @typedef {object} Request
 * @property {boolean} [teamPreview]
 * @property {boolean[]} [forceSwitch]
 * @property {Active[]} [active]
 * @property {{pokemon: Member[]}} side
 */

/**
 * @typedef {object} Member
 * @property {string} condition
 * @property {boolean} [reviving]
 * @property {boolean} [commanding]
 */

/**
 * @typedef {object} Active
 * @property {{id: string, target?: string, disabled?: boolean | string, guessed?: boolean}[]} moves
 * @property {boolean} [trapped]
 * @property {string} [canTerastallize]
 * @property {boolean} [canMegaEvo]
 * @property {boolean} [canMegaEvoX]
 * @property {boolean} [canMegaEvoY]
 * @property {boolean} [canUltraBurst]
 * @property {({target: string} | null)[]} [canZMove]
 * @property {boolean} [canDynamax]
 * @property {{maxMoves: {target: string, disabled?: boolean}[]}} [maxMoves]
 */

export const TARGETS = ['-2', '-1', '', '+1', '+2'];
export const NO_TARGET = 2;

export const GIMMICKS = ['', 'terastallize', 'mega', 'megax', 'megay', 'ultra', 'zmove', 'dynamax'];
export const [NONE, TERASTALLIZE, MEGA, MEGA_X, MEGA_Y, ULTRA, ZMOVE, DYNAMAX] = GIMMICKS.keys();

/** The targets to choose from, by the slot that moves and the target type. Other types leave no choice. */
export const AIMS = [0, 1].map(
  (ally) =>
    new Map([
      ['normal', [ally, 3, 4]],
      ['any', [ally, 3, 4]],
      ['adjacentFoe', [3, 4]],
      ['adjacentAlly', [ally]],
      ['adjacentAllyOrSelf', [0, 1]],
    ]),
);
export const AIMLESS = [NO_TARGET];
/** Places in TARGETS of the slots of each side. */
export const AIMED = { own: [1, 0], foes: [3, 4] };

/**
 * @param {Active} active
 * @returns {number} the available gimmick
 */
export function gimmickOf(active) {
  if (active.canTerastallize) return TERASTALLIZE;
  if (active.canMegaEvo) return MEGA;
  if (active.canMegaEvoX) return MEGA_X;
  if (active.canMegaEvoY) return MEGA_Y;
  if (active.canUltraBurst) return ULTRA;
  if (active.canZMove) return ZMOVE;
  if (active.canDynamax) return DYNAMAX;
  return NONE;
}

/**
 * @param {Active} active
 * @param {number} move from 0
 * @param {number} gimmick
 * @returns {string | undefined} the target type of the move, if it is legal
 */
export function aimOf(active, move, gimmick) {
  const plain = active.moves[move];
  if (plain === undefined) return undefined;
  if (gimmick === ZMOVE) return active.canZMove?.[move]?.target;
  // A dynamaxed Pokémon has max moves only. They and Z-moves are legal even if the base move is disabled.
  if (gimmick === DYNAMAX || (active.maxMoves && !active.canDynamax)) {
    const max = active.maxMoves?.maxMoves[move];
    return max && !max.disabled ? max.target : undefined;
  }
  return plain.disabled ? undefined : (plain.target ?? '');
}

/** @type {(member: Member) => boolean} */
export function hasFainted(member) {
  return member.condition === '0 fnt';
}

/** @type {(request: Request, slot: number) => boolean} */
export function isReviving(request, slot) {
  return request.forceSwitch !== undefined && Boolean(request.side.pokemon[slot].reviving);
}

/** @type {(request: Request, slot: number) => boolean} */
export function mustPass(request, slot) {
  if (request.forceSwitch) return !request.forceSwitch[slot];
  const member = request.side.pokemon[slot];
  return hasFainted(member) || Boolean(member.commanding);
}
