"""A dataset: a folder of shards with a card.

    card.json              what is in it, with the size and sha256 of every shard, and one hash over all
    README.md              the same for people
    shard-00000.parquet    (shards.py)
    lock                   held by whoever writes

The card is written last. A folder with shards and no card was left unfinished, and a shard that the card does not name
is of an addition that was: neither is read, and the writer can go on from both.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from nemesis.core.files import replace_file
from nemesis.core.game import GameSpec
from nemesis.core.settings import Settings
from nemesis.data.shards import SCHEMA, SUFFIX, DatasetError, Kind, Shard, open_shard
from nemesis.data.summary import Summary

CARD, README = "card.json", "README.md"
_SHARD_NAME = re.compile(r"shard-(\d{5,})\.parquet")
_CHUNK = 1 << 20  # bytes


class ShardEntry(Settings):
    """A shard as the card knows it."""

    name: str
    size: int
    sha256: str


class Card(Settings):
    """What is in a dataset."""

    schema_version: int
    kind: Kind
    summary: Summary
    hash: str  # over the shards' content
    shards: tuple[ShardEntry, ...]

    def text(self) -> str:
        """Return the card for people, as Markdown."""
        size = sum(shard.size for shard in self.shards)
        return "\n".join(
            [
                f"# Dataset of {self.kind.game}",
                "",
                *self.summary.lines(),
                "",
                f"{len(self.shards)} shard{'s' if len(self.shards) > 1 else ''}, {size / 1e6:,.1f} MB. "
                f"Views of version `{self.kind.view_version}`: {self.kind.view_size} numbers, {self.kind.actions} actions.",
                f"Content: `sha256:{self.hash}`.",
                "",
            ]
        )


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset that can be read."""

    path: Path
    card: Card
    shards: tuple[Shard, ...]

    @property
    def kind(self) -> Kind:
        return self.card.kind

    def verify(self) -> None:
        """Read every byte and compare it with the card."""
        for entry in self.card.shards:
            if sha256_of(self.path / entry.name) != entry.sha256:
                raise DatasetError(
                    f"{self.path / entry.name} is not what the card says; put its original back, or make the dataset "
                    "again."
                )


def open_dataset(path: Path, spec: GameSpec | None = None, *, any_format: bool = False) -> Dataset:
    """Return the dataset in a folder, checked as far as that goes without reading all of it.

    With a game's spec, it must be of that game's views and actions and, unless any will do, of its format.
    """
    card = read_card(path)
    if spec is not None:
        _check_fits(path, card, spec, any_format)
    for entry in card.shards:
        size = _size(path / entry.name)
        if size != entry.size:
            raise DatasetError(
                f"{path / entry.name} has {size:,} bytes, and the card says {entry.size:,}; put its original back, or "
                "make the dataset again."
            )
    shards = tuple(open_shard(path / entry.name) for entry in card.shards)
    for shard in shards:
        if shard.kind != card.kind:
            raise DatasetError(f"{shard.path} is of {shard.kind.game}, and the card of {card.kind.game}; take it out.")
    return Dataset(path, card, shards)


def read_card(path: Path) -> Card:
    """Return the card of a dataset."""
    try:
        text = (path / CARD).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        if shard_paths(path):
            raise DatasetError(
                f"{path} was left unfinished, since it has shards but no {CARD}; finish it by the command that began "
                "it, with --add."
            ) from error
        raise DatasetError(
            f"There is no dataset in {path}; make one with `nemesis collect PLAYER PLAYER --out {path}`."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path / CARD} cannot be read ({error}); put its original back.") from error
    try:
        found = json.loads(text)
        version = found["schema_version"]
        if version != SCHEMA:
            raise DatasetError(f"{path} has version {version} of the columns, and this Nemesis reads {SCHEMA}.")
        card = Card.model_validate(found)
    except (ValueError, LookupError, TypeError, ValidationError) as error:
        raise DatasetError(f"{path / CARD} is not the card of a dataset; put its original back.") from error
    for entry in card.shards:
        if not _SHARD_NAME.fullmatch(entry.name):  # also keeps paths of other folders out
            raise DatasetError(f"{path / CARD} names a shard '{entry.name}', as none is called; put its original back.")
    return card


def write_card(path: Path, shards: list[Shard]) -> Card:
    """Write the card and the README of these shards."""
    summary = Summary()
    for shard in shards:
        summary = summary.plus(shard.summary)
    entries = tuple(
        ShardEntry(name=shard.path.name, size=_size(shard.path), sha256=sha256_of(shard.path)) for shard in shards
    )
    content = hashlib.sha256("".join(entry.sha256 for entry in entries).encode()).hexdigest()
    card = Card(schema_version=SCHEMA, kind=shards[0].kind, summary=summary, hash=content, shards=entries)
    replace_file(path / README, card.text())
    replace_file(path / CARD, card.model_dump_json(indent=2) + "\n")
    return card


def shard_paths(path: Path) -> list[Path]:
    """Return the files of a folder that are called as shards are, in order."""
    if not path.is_dir():
        return []
    return sorted(file for file in path.glob(f"shard-*{SUFFIX}") if _SHARD_NAME.fullmatch(file.name))


def shard_path(path: Path, number: int) -> Path:
    return path / f"shard-{number:05d}{SUFFIX}"


def shard_number(path: Path) -> int:
    match = _SHARD_NAME.fullmatch(path.name)
    return int(match[1]) if match else -1


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise DatasetError(f"{path} is missing; put it back, or make the dataset again.") from error


def _check_fits(path: Path, card: Card, spec: GameSpec, any_format: bool) -> None:
    theirs, ours = card.kind, Kind.of(spec)
    if theirs.game.partition(":")[0] != ours.game.partition(":")[0]:
        raise DatasetError(f"{path} is of {theirs.game}, and what plays here is {ours.game}.")
    if theirs.view_version != ours.view_version:
        raise DatasetError(
            f"{path} has views of version {theirs.view_version}, and this Nemesis makes and reads {ours.view_version}; make the "
            "dataset again."
        )
    if theirs.model_copy(update={"game": ours.game}) != ours:
        raise DatasetError(
            f"{path} has {theirs.view_size} numbers in a view and {theirs.actions} actions; {ours.game} has "
            f"{ours.view_size} and {ours.actions}."
        )
    other = sorted(set(card.summary.formats) - {ours.format})
    if other and not any_format:
        raise DatasetError(
            f"{path} has battles of {', '.join(other)}, and the run plays {ours.format}; allow it with "
            "data.any_format=true, or name another dataset."
        )
