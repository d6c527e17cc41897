"""Parquet files, a table each, written as the episodes come; they appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from api.exporting.card import REWARDS_TWIN
from api.exporting.rows import Row, Rows
from detectors.model.codec import canonical

FORMAT = 1
ROWS = 50_000
"""Rows of a row group at most, about."""
PACKED_ROWS = 500
"""So many rows are packed together."""
MAX_BYTES = 2 * 1024 * 1024
"""Bytes of a table's packed rows at which they are a row group, and of texts of rows at which they
are packed, about: five tables wait for theirs at once."""

_text, _real, _whole, _truth = pa.string(), pa.float64(), pa.int64(), pa.bool_()


def _table(needed: str, optional: str, types: dict[str, pa.DataType]) -> pa.Schema:
    """Return a table's columns: those that each row has, then those that may be null."""
    named = [(name, False) for name in needed.split()] + [(name, True) for name in optional.split()]
    return pa.schema(
        [pa.field(name, types.get(name, _text), nullable=nullable) for name, nullable in named],
        {"milestoned.format": str(FORMAT)},
    )


_NUMBERS = dict.fromkeys(
    (
        "events",
        "steps",
        "masked",
        "seed",
        "step",
        "first",
        "last",
        "through",
        "cause_step",
        "first_failure_step",
        "first_failure_event",
        "unknown",
        "siblings",
        "next_siblings",
    ),
    _whole,
)
_REALS = dict.fromkeys(
    (
        "total",
        "reward",
        "credit",
        "credit_low",
        "credit_high",
        "value",
        "worth",
        "gamma",
        "return_to_go",
        "seen",
    ),
    _real,
)
_TRUTHS = dict.fromkeys(
    ("closed", "success", "done", "mask", "baseline", "paid", "first_wrong"), _truth
)
_TYPES = {**_NUMBERS, **_REALS, **_TRUTHS}

SCHEMAS: dict[str, pa.Schema] = {
    "episodes": _table(
        "episode name task version ruleset head closed events steps masked labels",
        "success total seed opened_at closed_at cause cause_reason cause_evidence"
        " first_failure_step first_failure_event",
        {**_TYPES, "cause_evidence": pa.list_(_whole)},
    ),
    "steps": _table("episode step first last done observation", "action next_observation", _TYPES),
    "rewards": _table(
        "episode step ruleset status mask components objectives done through",
        "reward credit credit_low credit_high credit_reason siblings next_siblings"
        " first_wrong reason decided_by success cause cause_reason cause_evidence",
        {
            **_TYPES,
            "components": pa.map_(_text, _real),
            "objectives": pa.map_(_text, _real),
            "cause_evidence": pa.list_(_whole),
        },
    ),
    "milestones": _table(
        "episode step id rule version component value worth evidence baseline paid",
        "cause_step",
        {**_TYPES, "version": _whole, "evidence": pa.list_(_whole)},
    ),
    "returns": _table("episode step gamma seen unknown", "return_to_go", _TYPES),
}
"""The columns of each table; docs/export.md says what they mean."""


_messages = pa.list_(pa.struct({"role": _text, "content": _text}))
_left_out = pa.list_(pa.struct({"step": _whole, "reason": _text}))
CHAT_SCHEMAS: dict[str, pa.Schema] = {
    "sft": _table(
        "messages episode task",
        "success total left_out",
        {**_TYPES, "messages": _messages, "left_out": _left_out},
    ),
    "dpo": _table(
        "prompt chosen rejected task step margin chosen_episode rejected_episode",
        "",
        {**_TYPES, **dict.fromkeys(("prompt", "chosen", "rejected"), _messages), "margin": _real},
    ),
    "kto": _table(
        "prompt completion label episode task step reward",
        "left_out",
        {
            **_TYPES,
            **dict.fromkeys(("prompt", "completion"), _messages),
            "label": _truth,
            "left_out": _left_out,
        },
    ),
    "prm": _table(
        "prompt completions labels episode task",
        "total left_out",
        {
            **_TYPES,
            "completions": pa.list_(_text),
            "labels": pa.list_(_truth),
            "left_out": _left_out,
        },
    ),
}
"""The columns of each form of chat data; the first ones are those that TRL's trainers read."""


class _TableWriter:
    """Writes one table; what waits to be a row group is packed as Arrow packs it, since rows as
    objects take many times the memory."""

    def __init__(self, part: Path, schema: pa.Schema) -> None:
        self.count = 0
        self._writer = pq.ParquetWriter(part, schema, compression="zstd")
        self._rows: list[Row] = []
        self._text_bytes = 0
        self._packed: list[pa.Table] = []

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows, and write a row group where enough wait."""
        for row in rows:
            self._rows.append(row)
            self._text_bytes += sum(len(text) for text in row.values() if isinstance(text, str))
        if len(self._rows) >= PACKED_ROWS or self._text_bytes >= MAX_BYTES:
            self._pack()
            waiting = sum(table.num_rows for table in self._packed)
            if waiting >= ROWS or sum(table.nbytes for table in self._packed) >= MAX_BYTES:
                self._write()

    def finish(self) -> None:
        """Write what waits, and close the file."""
        self._pack()
        self._write()
        self.close()

    def close(self) -> None:
        """Close the file as it is."""
        self._writer.close()

    def _pack(self) -> None:
        if self._rows:
            self._packed.append(pa.Table.from_pylist(self._rows, schema=self._writer.schema))
        self._rows = []
        self._text_bytes = 0

    def _write(self) -> None:
        if self._packed:
            table = pa.concat_tables(self._packed)
            self._writer.write_table(table)
            self.count += table.num_rows
        self._packed = []


def write(
    folder: Path, batches: Iterable[Rows], schemas: Mapping[str, pa.Schema] = SCHEMAS
) -> dict[str, int]:
    """Write all rows below ``folder``, replacing an earlier export there; how many each table
    has."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: folder / f"{name}.parquet.part" for name in schemas}
    writers = {name: _TableWriter(part, schemas[name]) for name, part in parts.items()}
    try:
        for rows in batches:
            for name, writer in writers.items():
                writer.add(rows[name])
        for writer in writers.values():
            writer.finish()
    except BaseException:
        for name, part in parts.items():
            writers[name].close()
            part.unlink()
        raise
    for name, part in parts.items():
        part.replace(folder / f"{name}.parquet")
    return {name: writer.count for name, writer in writers.items()}


_MAPS = ("components", "objectives")


def write_rewards_twin(folder: Path) -> None:
    """Write the rewards of an export again, with their components and objectives as JSON text.

    For readers that have no type for Arrow's maps, such as Hugging Face's `datasets`.
    """
    source = pq.ParquetFile(folder / "rewards.parquet")
    schema = source.schema_arrow
    for name in _MAPS:
        place = schema.get_field_index(name)
        schema = schema.set(place, pa.field(name, _text, nullable=False))
    part = folder / f"{REWARDS_TWIN}.part"
    writer = _TableWriter(part, schema)
    try:
        with source:
            for batch in source.iter_batches(PACKED_ROWS):
                rows = batch.to_pylist()
                for row in rows:
                    for name in _MAPS:
                        row[name] = canonical(dict(row[name])).decode()
                writer.add(rows)
        writer.finish()
    except BaseException:
        writer.close()
        part.unlink()
        raise
    part.replace(folder / REWARDS_TWIN)
