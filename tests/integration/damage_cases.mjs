// Plays random battles in a given host folder and prints what the simulator's own formula says about the attacks that
// were at hand: `node damage_cases.mjs HOST FORMAT BATTLES`. One JSON object per line.

import { createRequire } from 'node:module';

const [folder, format, battles] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const { Battle, PRNG, Teams } = require('pokemon-showdown');
const ROLLS = 64;
const MOST_TURNS = 40;

/** What both sides would write into a view record if nothing were hidden. */
function describe(pokemon) {
  return {
    species: pokemon.species.id,
    level: pokemon.level,
    hp: pokemon.hp,
    max_hp: pokemon.maxhp,
    status: pokemon.status,
    types: pokemon.getTypes().map((type) => type.toLowerCase()),
    tera_type: (pokemon.teraType ?? '').toLowerCase(),
    terastallized: pokemon.terastallized ? 1 : 0,
    item: pokemon.item,
    ability: pokemon.ability,
    stats: ['atk', 'def', 'spa', 'spd', 'spe'].map((stat) => pokemon.storedStats[stat]),
    boosts: Object.values(pokemon.boosts),
    paradox_stat: (pokemon.volatiles.protosynthesis ?? pokemon.volatiles.quarkdrive)?.bestStat ?? '',
    volatiles: Object.keys(pokemon.volatiles),
    conditions: Object.fromEntries(Object.entries(pokemon.side.sideConditions).map(([id, state]) => [id, state.layers ?? 1])),
  };
}

/** The mean damage of a hit, critical hits included, or null where the move is not one of the formula. */
function meanDamage(battle, source, target, id) {
  let total = 0;
  for (let roll = 0; roll < ROLLS; roll++) {
    const move = battle.dex.getActiveMove(id);
    if (move.category === 'Status' || move.ohko) return null;
    battle.setActiveMove(move, source, target);
    for (const event of ['ModifyType', 'ModifyMove']) {
      battle.singleEvent(event, move, null, source, target, move, move);
      battle.runEvent(event, source, target, move, move);
    }
    total += battle.actions.getDamage(source, target, move, true) || 0;
  }
  return total / ROLLS;
}

/** Plays something at random; what the simulator refuses becomes its own default. */
function playTurn(battle, random) {
  for (const side of battle.sides) {
    if (side.isChoiceDone() || battle.ended) continue;
    const gimmick = side.activeRequest?.active?.[0].canTerastallize && random.random(4) === 0 ? ' terastallize' : '';
    const choice = random.random(4) ? `move ${1 + random.random(4)}${gimmick}` : `switch ${2 + random.random(5)}`;
    if (!battle.choose(side.id, choice)) battle.choose(side.id, 'default');
  }
}

function main() {
  for (let seed = 1; seed <= Number(battles); seed++) {
    const random = new PRNG([seed, 7, 8, 9]);
    const battle = new Battle({ formatid: format, seed: [seed, 2, 3, 4] });
    for (const [index, id] of ['p1', 'p2'].entries()) {
      const team = Teams.generate(format, { seed: [seed, index, 5, 6] });
      battle.setPlayer(id, { name: id, team: Teams.pack(team) });
    }
    for (let turn = 0; turn < MOST_TURNS && !battle.ended; turn++) {
      if (battle.requestState === 'move') {
        const [own, foe] = battle.sides.map((side) => side.active[0]);
        const { weather, terrain } = battle.field;
        for (const { id } of own.moveSlots) {
          const damage = meanDamage(battle, own, foe, id);
          if (damage === null) continue;
          console.log(JSON.stringify({ attacker: describe(own), defender: describe(foe), move: id, damage, weather, terrain }));
        }
      }
      playTurn(battle, random);
    }
    battle.destroy();
  }
}

main();
