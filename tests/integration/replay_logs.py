"""Small public logs of a doubles battle, and what is read in them."""

import numpy as np

from nemesis.core.game import BoolArray
from nemesis.games import open_game
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.replays.reading import ReplayBattle, ReplayReader, SeatDecisions
from nemesis.games.pokemon.views.actions import action_space

SHEETS = (
    "Incineroar||SafetyGoggles|Intimidate|FakeOut,FlareBlitz,PartingShot,KnockOff|||M|||50|,,,,,Ghost]"
    "Rillaboom||AssaultVest|GrassySurge|FakeOut,GrassyGlide,WoodHammer,Uturn|||M|||50|,,,,,Fire]"
    "Amoonguss||RockyHelmet|Regenerator|Spore,RagePowder,PollenPuff,Protect|||M|||50|,,,,,Water]"
    "Flutter Mane||ChoiceSpecs|Protosynthesis|Moonblast,ShadowBall,DazzlingGleam,IcyWind||||||50|,,,,,Fairy]"
    "Whimsicott||FocusSash|Prankster|Tailwind,Encore,Moonblast,HelpingHand|||M|||50|,,,,,Ghost]"
    "Pawmot||LifeOrb|VoltAbsorb|RevivalBlessing,CloseCombat,DoubleShock,Protect|||M|||50|,,,,,Fire"
)
NAMES = ("Incineroar", "Rillaboom", "Amoonguss", "Flutter Mane", "Whimsicott", "Pawmot")
DETAILS = {name: f"{name}, L50" + ("" if name == "Flutter Mane" else ", M") for name in NAMES}
SPACE = action_space(2, 4)


def switch(ident: str, name: str, condition: str = "100/100", cause: str = "") -> str:
    return f"|switch|{ident}: {name}|{DETAILS[name]}|{condition}{cause}"


def vgc_log(*turns: list[str], leads: tuple[str, str, str, str] = NAMES[:2] + NAMES[2:4], end: str = "|win|One") -> str:
    """Return a log of a battle between two times the same team; each of the turns follows one that is announced."""
    lines = ["|gametype|doubles", "|player|p1|One|1|1500", "|player|p2|Other|2|1600", "|gen|9"]
    lines += ["|tier|[Gen 9] VGC 2025 Reg I (Bo3)", "|rated|", "|clearpoke"]
    lines += [f"|poke|{seat}|{DETAILS[name]}|" for seat in ("p1", "p2") for name in NAMES]
    lines += ["|teampreview|4", f"|showteam|p1|{SHEETS}", f"|showteam|p2|{SHEETS}", "|", "|t:|1", "|start"]
    lines += [switch(ident, name) for ident, name in zip(("p1a", "p1b", "p2a", "p2b"), leads, strict=True)]
    for number, turn in enumerate(turns, start=1):
        lines += [f"|turn|{number}", "|", "|t:|2", *turn]
    return "\n".join([*lines, "|", end])


def done(*turn: str) -> list[str]:
    return [*turn, "|", "|upkeep"]


def vgc_reader() -> ReplayReader:
    game = open_game("pokemon:gen9vgc2025regi")
    assert isinstance(game, PokemonGame)
    return game.replay_reader()


def read(reader: ReplayReader, log: str) -> ReplayBattle:
    (battle,) = reader.read([("one", log)])
    assert isinstance(battle, ReplayBattle), battle
    return battle


def possible(decisions: SeatDecisions) -> BoolArray:
    return np.unpackbits(decisions.possible, axis=1, count=SPACE.size).view(np.bool_)
