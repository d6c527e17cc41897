"""Parquet files, a table each, written as the episodes come; they appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from api.exporting.card import REWARDS_TWIN
from api.exporting.rows import Rows
from detectors.model.codec import canonical

FORMAT = 1
ROWS = 50_000
"""Rows of a row group, about."""

_text, _real, _whole, _truth = pa.string(), pa.float64(), pa.int64(), pa.bool_()


def _table(needed: str, optional: str, types: dict[str, pa.DataType]) -> pa.Schema:
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
_TRUTHS = dict.fromkeys(("closed", "success", "done", "mask", "baseline", "paid"), _truth)
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
        "episode step ruleset status mask components done through",
        "reward credit credit_low credit_high credit_reason siblings next_siblings"
        " reason decided_by success cause cause_reason cause_evidence",
        {**_TYPES, "components": pa.map_(_text, _real), "cause_evidence": pa.list_(_whole)},
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


def write(
    folder: Path, batches: Iterable[Rows], schemas: Mapping[str, pa.Schema] = SCHEMAS
) -> dict[str, int]:
    """Write all rows below ``folder``, replacing an earlier export there; how many each table
    has."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: folder / f"{name}.parquet.part" for name in schemas}
    counts = dict.fromkeys(schemas, 0)
    waiting: Rows = {name: [] for name in schemas}
    writers = {
        name: pq.ParquetWriter(part, schemas[name], compression="zstd")
        for name, part in parts.items()
    }
    try:
        for rows in batches:
            for name in schemas:
                waiting[name] += rows[name]
                if len(waiting[name]) >= ROWS:
                    counts[name] += _flush(writers[name], name, waiting)
        for name in schemas:
            counts[name] += _flush(writers[name], name, waiting)
    except BaseException:
        for name, part in parts.items():
            writers[name].close()
            part.unlink()
        raise
    for name, part in parts.items():
        writers[name].close()
        part.replace(folder / f"{name}.parquet")
    return counts


def write_rewards_twin(folder: Path) -> None:
    """Write the rewards of an export again, with their components as JSON text.

    For readers that have no type for Arrow's maps, such as Hugging Face's `datasets`.
    """
    source = pq.ParquetFile(folder / "rewards.parquet")
    schema = source.schema_arrow
    place = schema.get_field_index("components")
    schema = schema.set(place, pa.field("components", _text, nullable=False))
    part = folder / f"{REWARDS_TWIN}.part"
    with source, pq.ParquetWriter(part, schema, compression="zstd") as writer:
        for batch in source.iter_batches(ROWS):
            rows = batch.to_pylist()
            for row in rows:
                row["components"] = canonical(dict(row["components"])).decode()
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    part.replace(folder / REWARDS_TWIN)


def _flush(writer: pq.ParquetWriter, name: str, waiting: Rows) -> int:
    rows, waiting[name] = waiting[name], []
    if rows:
        writer.write_table(pa.Table.from_pylist(rows, schema=writer.schema))
    return len(rows)
