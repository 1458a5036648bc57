"""Shards: Parquet files with one row per decision.

    source    string         id of the match; the rows of a match are together, one seat after the other
    group     string         of related matches, such as a series of the same players; a split takes whole groups
    format    string         such as gen1ou
    ending    string         played, forfeit, timer or truncated
    seat      int8           whose decision it is, from 0; a match may have more than two seats
    step      int32          number of the decision in its episode, from 0
    tick      int32          number of earlier decisions of the match, of all seats
    view      list[V]        the view record: int16, or float32 if the game's views are real numbers
    mask      binary[A / 8]  legal actions, packed (core/masks.py)
    action    int32          −1 where it is unknown
    known     bool           whether the action is known
    possible  binary[A / 8]  what an unknown action may have been, packed like masks; null if nothing is known
    guessed   binary[V / 8]  which numbers of the view are guessed (imputed), packed like masks; null if none are
    reward    float32        of the decision
    result    float32        of the episode, the same in all its rows
    rating    float32        of who had the seat; nan if there is none
    log_prob  float32        of the action, under the policy that chose it; nan if no policy did
    value     float32        predicted at the time; nan if it was not

The footer has JSON under the key `nemesis`: the version of this table, the game, the version of its view record (which
includes the vocabulary), its number of actions, a summary, and the options that the shard was made with. A row group
holds whole matches, so each can be read alone. Every page has a checksum.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from nemesis.core.errors import UserError
from nemesis.core.game import BoolArray, GameSpec
from nemesis.core.masks import packed_size
from nemesis.core.settings import Settings
from nemesis.data.episodes import Bytes, Episodes
from nemesis.data.summary import Summary

SCHEMA = 2
SUFFIX = ".parquet"
_KEY = b"nemesis"
_TEXTS = ("source", "group", "format", "ending")
_NULLABLE = ("possible", "guessed")
_PLAIN = ("view", "mask", "possible", "guessed")  # wide columns, for which a dictionary only costs time
_READ = (
    *_TEXTS, "seat", "step", "tick", "view", "mask", "action", "possible", "guessed", "reward", "result", "rating",
    "log_prob", "value",
)  # fmt: skip


Options: TypeAlias = Mapping[str, bool]
"""How episodes were made, by name; those made in different ways must not be mixed."""


class DatasetError(UserError):
    """A dataset cannot be read or written."""


class Kind(Settings):
    """What all shards of a dataset share: the game, and the widths of its columns."""

    game: str
    view_version: str  # version of the view record
    view_size: int
    view_bytes: int
    actions: int

    @staticmethod
    def of(spec: GameSpec) -> "Kind":
        return Kind(
            game=spec.name,
            view_version=spec.view_version,
            view_size=spec.view_size,
            view_bytes=spec.view_bytes,
            actions=spec.actions,
        )

    @property
    def format(self) -> str:
        """The game without its family."""
        return self.game.partition(":")[2] or self.game

    @property
    def mask_bytes(self) -> int:
        return packed_size(self.actions)

    @property
    def guessed_bytes(self) -> int:
        return packed_size(self.view_size)

    @property
    def columns(self) -> pa.Schema:
        number = pa.int16() if self.view_bytes == 2 else pa.float32()
        types = {
            **dict.fromkeys(_TEXTS, pa.dictionary(pa.int32(), pa.string())),
            "seat": pa.int8(),
            "step": pa.int32(),
            "tick": pa.int32(),
            "view": pa.list_(pa.field("item", number, nullable=False), self.view_size),
            "mask": pa.binary(self.mask_bytes),
            "action": pa.int32(),
            "known": pa.bool_(),
            "possible": pa.binary(self.mask_bytes),
            "guessed": pa.binary(self.guessed_bytes),
            **dict.fromkeys(("reward", "result", "rating", "log_prob", "value"), pa.float32()),
        }
        return pa.schema([pa.field(name, kind, nullable=name in _NULLABLE) for name, kind in types.items()])


class _Footer(Settings):
    """The footer of a shard."""

    schema_version: int
    kind: Kind
    summary: Summary
    options: Options


class ShardFile:
    """A shard that is being written, row group by row group."""

    def __init__(self, path: Path, kind: Kind, options: Options) -> None:
        self._kind = kind
        self._options = options
        self._schema = kind.columns
        dictionary = [name for name in self._schema.names if name not in _PLAIN]
        self._writer = pq.ParquetWriter(
            path, self._schema, compression="zstd", use_dictionary=dictionary, write_page_checksum=True
        )
        self.summary = Summary()

    def write(self, episodes: Episodes) -> None:
        """Add whole matches as one row group."""
        self._writer.write_table(_table(episodes, self._schema), row_group_size=max(episodes.decisions, 1))
        self.summary = self.summary.plus(Summary.of(episodes))

    def close(self) -> None:
        """Write the footer; without it the file cannot be read."""
        footer = _Footer(schema_version=SCHEMA, kind=self._kind, summary=self.summary, options=self._options)
        self._writer.add_key_value_metadata({_KEY: footer.model_dump_json()})
        self._writer.close()

    def abandon(self) -> None:
        """Close the file without a footer."""
        self._writer.close()


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard that can be read."""

    path: Path
    kind: Kind
    summary: Summary
    options: Options
    row_groups: tuple[int, ...]  # decisions of each

    def read(self, row_group: int) -> Episodes:
        """Return the episodes of a row group."""
        try:
            with self._open() as file:
                return _episodes(file.read_row_group(row_group, columns=list(_READ), use_threads=False), self.kind)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise _damaged(self.path, error) from error

    def sources(self) -> set[str]:
        """Return the ids of its matches."""
        try:
            with self._open() as file:
                column = file.read(columns=["source"], use_threads=False).column("source")
            return {str(source) for source in column.unique().to_pylist()}
        except (OSError, pa.ArrowException) as error:
            raise _damaged(self.path, error) from error

    def _open(self) -> pq.ParquetFile:
        # Not kept open: a dataset may have more shards than a process may have open files.
        return pq.ParquetFile(self.path, page_checksum_verification=True)


def open_shard(path: Path) -> Shard:
    """Check that a file is a shard, and return it."""
    try:
        metadata = pq.read_metadata(path)
    except FileNotFoundError as error:
        raise DatasetError(f"{path} is missing; restore the file, or make the dataset again.") from error
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from error
    try:
        text = (metadata.metadata or {})[_KEY]
        version = json.loads(text)["schema_version"]
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(
            f"{path} is a Parquet file, but not a shard of a dataset; remove it from the folder."
        ) from error
    if version != SCHEMA:
        raise DatasetError(f"{path} has version {version} of the columns, and this Nemesis reads {SCHEMA}.")
    try:
        footer = _Footer.model_validate_json(text)
    except ValidationError as error:
        raise _damaged(path, error) from error
    groups = tuple(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
    if metadata.schema.to_arrow_schema().names != footer.kind.columns.names:
        raise DatasetError(f"{path} does not have the columns of a shard; make the dataset again.")
    return Shard(path, footer.kind, footer.summary, footer.options, groups)


def _damaged(path: Path, error: Exception) -> DatasetError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return DatasetError(f"{path} is damaged ({reason}); restore the file, or make the dataset again.")


def _table(episodes: Episodes, schema: pa.Schema) -> pa.Table:
    lengths = episodes.lengths
    step = np.arange(episodes.decisions) - np.repeat(episodes.offsets[:-1], lengths)

    def repeated(column: str) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = np.repeat(getattr(episodes, column), lengths)
        return values

    def texts(column: str) -> pa.Array:
        names, place = np.unique(getattr(episodes, column), return_inverse=True)
        return pa.DictionaryArray.from_arrays(
            pa.array(np.repeat(place, lengths), pa.int32()), pa.array(names.tolist(), pa.string())
        )

    def optional(column: str) -> pa.Array:
        rows: Bytes | None = getattr(episodes, column)
        if rows is None:
            return pa.nulls(episodes.decisions, schema.field(column).type)
        return _binary(rows, np.any(rows, axis=1))

    columns: dict[str, Any] = {
        **{name: texts(name) for name in _TEXTS},
        "seat": repeated("seat"),
        "step": step.astype(np.int32),
        "tick": episodes.tick,
        "view": pa.FixedSizeListArray.from_arrays(
            pa.array(episodes.view.ravel(), schema.field("view").type.value_type), type=schema.field("view").type
        ),
        "mask": _binary(episodes.mask),
        "action": episodes.action,
        "known": episodes.known,
        "possible": optional("possible"),
        "guessed": optional("guessed"),
        "reward": episodes.reward,
        "result": repeated("result"),
        "rating": repeated("rating"),
        "log_prob": episodes.log_prob,
        "value": episodes.value,
    }
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, schema.field(name).type)
        for name, column in columns.items()
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _binary(rows: Bytes, present: BoolArray | None = None) -> pa.Array:
    """Return packed bits (n, byte) as a column, with nulls for rows that are not present (n,)."""
    count, width = rows.shape
    # Arrow packs validity with the lowest bit first.
    valid = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little").tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, [valid, pa.py_buffer(rows.tobytes())])


def _episodes(table: pa.Table, kind: Kind) -> Episodes:
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    plain = {
        name: columns[name].to_numpy(zero_copy_only=False)
        for name in ("seat", "step", "tick", "action", "reward", "result", "rating", "log_prob", "value")
    }
    starts = np.flatnonzero(plain["step"] == 0)
    if not len(starts) or starts[0] != 0:
        raise ValueError("a row group starts within an episode")
    texts = {
        name: np.array(columns[name].dictionary.to_pylist(), dtype=np.str_)[columns[name].indices.to_numpy()[starts]]
        for name in _TEXTS
    }
    view = columns["view"].flatten().to_numpy().reshape(-1, kind.view_size)

    def optional(name: str, width: int) -> Bytes | None:
        column = columns[name]
        return None if column.null_count == len(column) else _rows(column.fill_null(bytes(width)), width)

    return Episodes(
        view=view,
        mask=_rows(columns["mask"], kind.mask_bytes),
        action=plain["action"],
        tick=plain["tick"],
        log_prob=plain["log_prob"],
        value=plain["value"],
        reward=plain["reward"],
        possible=optional("possible", kind.mask_bytes),
        guessed=optional("guessed", kind.guessed_bytes),
        offsets=np.append(starts, len(view)),
        seat=plain["seat"][starts],
        result=plain["result"][starts],
        rating=plain["rating"][starts],
        **texts,
    )


def _rows(column: pa.Array, width: int) -> Bytes:
    """Return fixed-size binary values as an array without a copy: (n, width)."""
    buffer = column.buffers()[1]
    flat = np.frombuffer(buffer, dtype=np.uint8, count=len(column) * width, offset=column.offset * width)
    return flat.reshape(-1, width)
