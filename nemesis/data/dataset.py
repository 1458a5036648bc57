"""A dataset: a folder of shards with a card.

    card.json              what is in it, with the size and sha256 of every shard, and one hash over all
    README.md              the same for people
    shard-00000.parquet    (shards.py)
    lock                   held while the dataset is written

The card is written last. Without a card, a dataset is unfinished. A shard that the card does not name belongs to an
unfinished addition. Neither is read, and a writer can continue both.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from nemesis.core.files import replace_file
from nemesis.core.game import GameSpec
from nemesis.core.progress import report
from nemesis.core.settings import Settings
from nemesis.data.shards import SCHEMA, SUFFIX, DatasetError, Kind, Shard, open_shard
from nemesis.data.summary import Summary

CARD, README = "card.json", "README.md"
_SHARD_NAME = re.compile(r"shard-(\d{5,})\.parquet")
_CHUNK = 1 << 20  # bytes


class ShardEntry(Settings):
    """A shard in the card."""

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
                f"Views of version `{self.kind.view_version}`: {self.kind.view_size} numbers, "
                f"{self.kind.actions} actions.",
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
        """Read every byte and compare the hashes with the card."""
        for number, entry in enumerate(self.card.shards):
            report(f"Reading {self.path}", number, len(self.card.shards))
            if sha256_of(self.path / entry.name) != entry.sha256:
                raise DatasetError(
                    f"{self.path / entry.name} does not have the hash in the card; restore the file, or make the "
                    "dataset again."
                )


def open_dataset(path: Path, spec: GameSpec | None = None, *, any_format: bool = False) -> Dataset:
    """Return the dataset in a folder, after the checks that need not read all of it.

    With a game's spec, the dataset must have the views and actions of that game and, unless `any_format`, its format.
    """
    card = read_card(path)
    if spec is not None:
        _check_fits(path, card, spec, any_format)
    for entry in card.shards:
        size = _size(path / entry.name)
        if size != entry.size:
            raise DatasetError(
                f"{path / entry.name} has {size:,} bytes, and the card says {entry.size:,}; restore the file, or make "
                "the dataset again."
            )
    shards = tuple(open_shard(path / entry.name) for entry in card.shards)
    for shard in shards:
        if shard.kind != card.kind:
            raise DatasetError(f"{shard.path} is of {shard.kind.game}, and the card of {card.kind.game}; remove it.")
    return Dataset(path, card, shards)


def read_card(path: Path) -> Card:
    """Return the card of a dataset."""
    try:
        text = (path / CARD).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        if shard_paths(path):
            raise DatasetError(
                f"{path} is unfinished, because it has shards but no {CARD}; run the command that began it again, "
                "with --add."
            ) from error
        raise DatasetError(
            f"There is no dataset in {path}; make one with `nemesis collect PLAYER PLAYER --out {path}`."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path / CARD} cannot be read ({error}); restore the file.") from error
    try:
        found = json.loads(text)
        version = found["schema_version"]
        if version != SCHEMA:
            raise DatasetError(f"{path} has version {version} of the columns, and this Nemesis reads {SCHEMA}.")
        card = Card.model_validate(found)
    except (ValueError, LookupError, TypeError, ValidationError) as error:
        raise DatasetError(f"{path / CARD} is not the card of a dataset; restore the file.") from error
    for entry in card.shards:
        if not _SHARD_NAME.fullmatch(entry.name):  # also keeps paths of other folders out
            raise DatasetError(f"{path / CARD} names '{entry.name}', which cannot be a shard; restore the file.")
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
    """Return the files of a folder that have names of shards, in order."""
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
        raise DatasetError(f"{path} is missing; restore the file, or make the dataset again.") from error


def _check_fits(path: Path, card: Card, spec: GameSpec, any_format: bool) -> None:
    theirs, ours = card.kind, Kind.of(spec)
    if theirs.game.partition(":")[0] != ours.game.partition(":")[0]:
        raise DatasetError(f"{path} is of {theirs.game}, and the run is of {ours.game}.")
    if theirs.view_version != ours.view_version:
        raise DatasetError(
            f"{path} has views of version {theirs.view_version}, and this Nemesis reads {ours.view_version}; make the "
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
            f"{path} has matches of {', '.join(other)}, and the run plays {ours.format}; allow it with "
            "data.any_format=true, or name another dataset."
        )
