"""Effects of moves and abilities that the simulator implements in code, so that its dex has no data for them."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views import layout

Row: TypeAlias = dict[str, int | Sequence[int]]
"""Fields of a dex table and their values."""

MOVES: dict[str, Row] = {
    "return": {"power": 102},
    "frustration": {"power": 102},
    "magnitude": {"power": 71},
    "present": {"power": 52},
    "hiddenpower": {"power": 60},
    "triplekick": {"power": 20},
    "tripleaxel": {"power": 40},
    "populationbomb": {"hits": (2, 10)},
    "superfang": {"fixed_damage": dex.HALF_OF_TARGET},
    "naturesmadness": {"fixed_damage": dex.HALF_OF_TARGET},
    "ruination": {"fixed_damage": dex.HALF_OF_TARGET},
    "psywave": {"fixed_damage": dex.BY_LEVEL},
    "finalgambit": {"fixed_damage": dex.OWN_HP},
    "counter": {"fixed_damage": dex.RETURNED},
    "mirrorcoat": {"fixed_damage": dex.RETURNED},
    "metalburst": {"fixed_damage": dex.RETURNED},
    "comeuppance": {"fixed_damage": dex.RETURNED},
    "bide": {"fixed_damage": dex.RETURNED},
    "substitute": {"cost": 25},
    "bellydrum": {"cost": 50, "self_boosts": (6, 0, 0, 0, 0, 0, 0)},
    "filletaway": {"cost": 50},
    "clangoroussoul": {"cost": 33},
    "curse": {"self_boosts": (1, 1, 0, 0, -1, 0, 0)},
    "stockpile": {"self_boosts": (0, 1, 0, 1, 0, 0, 0)},
    "partingshot": {"target_boosts": (-1, 0, -1, 0, 0, 0, 0)},
    "strengthsap": {"target_boosts": (-1, 0, 0, 0, 0, 0, 0), "heal": 33},
    "tidyup": {"self_boosts": (1, 0, 0, 0, 1, 0, 0), "clears_hazards": 1},
    "rapidspin": {"clears_hazards": 1},
    "mortalspin": {"clears_hazards": 1},
    "defog": {"clears_hazards": 1},
    "stoneaxe": {"side_condition": 1 + layout.SIDE_CONDITIONS.index("stealthrock"), "hazard": 1},
    "ceaselessedge": {"side_condition": 1 + layout.SIDE_CONDITIONS.index("spikes"), "hazard": 1},
    "triattack": {"status_chances": (7, 7, 0, 7, 0, 0)},
    "direclaw": {"status_chances": (0, 17, 17, 0, 17, 0)},
    "rest": {"heal": 100},
    "wish": {"heal": 50},
}
_HALF_HEALING = (
    "recover", "softboiled", "synthesis", "moonlight", "morningsun", "shoreup", "healpulse", "floralhealing", "purify",
)  # fmt: skip
MOVES |= {name: {"heal": 50} for name in _HALF_HEALING}
MOVES |= {name: {"heal": 25} for name in ("junglehealing", "lunarblessing", "swallow")}

# Abilities: the type that they are immune to, and so on; numbers are percentages.
IMMUNE_TYPE = {
    "levitate": "ground", "eartheater": "ground", "flashfire": "fire", "wellbakedbody": "fire", "waterabsorb": "water",
    "dryskin": "water", "stormdrain": "water", "voltabsorb": "electric", "motordrive": "electric",
    "lightningrod": "electric", "sapsipper": "grass",
}  # fmt: skip
REDIRECTING = ("stormdrain", "lightningrod")  # only since the fifth generation
RESISTED_TYPES: Mapping[str, tuple[tuple[str, ...], int]] = {
    "thickfat": (("fire", "ice"), 50),
    "heatproof": (("fire",), 50),
    "waterbubble": (("fire",), 50),
    "purifyingsalt": (("ghost",), 50),
    "dryskin": (("fire",), 125),
    "fluffy": (("fire",), 200),
}
BOOSTED_TYPE = {
    "steelworker": ("steel", 150), "steelyspirit": ("steel", 150), "dragonsmaw": ("dragon", 150),
    "rockypayload": ("rock", 150), "transistor": ("electric", 130), "waterbubble": ("water", 200),
    "overgrow": ("grass", 150), "blaze": ("fire", 150), "torrent": ("water", 150), "swarm": ("bug", 150),
}  # fmt: skip
PINCH = ("overgrow", "blaze", "torrent", "swarm")
BECOMES_TYPE = {"aerilate": "flying", "pixilate": "fairy", "refrigerate": "ice", "galvanize": "electric"}
BOOSTED_FLAG = {
    "ironfist": ("punch", 120), "strongjaw": ("bite", 150), "sharpness": ("slicing", 150),
    "megalauncher": ("pulse", 150), "toughclaws": ("contact", 130), "punkrock": ("sound", 130),
}  # fmt: skip
IMMUNE_FLAG = {"soundproof": "sound", "bulletproof": "bullet", "overcoat": "powder", "windrider": "wind"}
STAT_FACTORS: Mapping[str, Row] = {
    "hugepower": {"physical_power": 200},
    "purepower": {"physical_power": 200},
    "hustle": {"physical_power": 150},
    "gorillatactics": {"physical_power": 150},
    "furcoat": {"defence": 200},
    "icescales": {"special_defence": 200},
}
WEATHER = {
    "drizzle": "raindance", "drought": "sunnyday", "sandstream": "sandstorm", "snowwarning": "snowscape",
    "desolateland": "desolateland", "primordialsea": "primordialsea", "deltastream": "deltastream",
    "orichalcumpulse": "sunnyday",
}  # fmt: skip
TERRAIN = {
    "electricsurge": "electricterrain", "grassysurge": "grassyterrain", "mistysurge": "mistyterrain",
    "psychicsurge": "psychicterrain", "hadronengine": "electricterrain",
}  # fmt: skip
SPEED_WEATHER = {
    "swiftswim": "raindance", "chlorophyll": "sunnyday", "sandrush": "sandstorm", "slushrush": "snowscape",
}  # fmt: skip
