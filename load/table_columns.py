"""A table's columns as it has them now, by its own schema, beside those that our commits gave it: the table is right.

    ours       a commit of ours added it: every file of ours has it, or is older and has null there
    foreign    another program added it: our files have null there, and a load writes none
    missing    a commit of ours added it, and another program dropped or renamed it

The type is the table's where another program widened it. Types that differ in Arrow's layout only stay as our commits have them.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from headrace.load.commits import Snapshot
from headrace.load.errors import SchemaConflict
from headrace.load.schemas import evolved, schema_from_text, schema_to_text


def with_columns_of(snapshot: Snapshot, table: pa.Schema, hidden: Collection[str] = ()) -> Snapshot:
    """A snapshot of our commits with the table's columns.

    hidden   columns of the table that are no part of its rows here, unless a commit of ours gave them
    """
    ours = schema_from_text(snapshot.schema) if snapshot.schema else pa.schema([])
    kept = [
        field if is_alike(field.type, table.field(field.name).type) else field.with_type(table.field(field.name).type)
        for field in ours
        if field.name in table.names
    ]
    foreign = [field for field in table if field.name not in ours.names and field.name not in hidden]
    fields = [pa.field(one.name, _usual(one.type)) for one in [*kept, *foreign]]
    return replace(
        snapshot,
        schema=schema_to_text(pa.schema(fields)) if fields else "",
        foreign=tuple(field.name for field in foreign),
        missing=tuple(name for name in ours.names if name not in table.names),
    )


def after_change(view: Snapshot, schema: str) -> Snapshot:
    """The view after a commit of ours that says these columns: those of others stay."""
    ours = schema_from_text(schema)
    past = schema_from_text(view.schema) if view.schema else pa.schema([])
    foreign = tuple(name for name in view.foreign if name not in ours.names)
    fields = [*ours, *(past.field(name) for name in foreign if name in past.names)]
    missing = tuple(name for name in view.missing if name not in ours.names)
    return replace(view, schema=schema_to_text(pa.schema(fields)), foreign=foreign, missing=missing)


def own_columns(snapshot: Snapshot) -> pa.Schema:
    """Those that our files have: none of other programs."""
    return pa.schema([field for field in schema_from_text(snapshot.schema) if field.name not in snapshot.foreign])


def columns_after(snapshot: Snapshot, load: pa.Schema, target: str) -> pa.Schema:
    """Our columns after a load of these.

    raises   SchemaConflict, also where another program took a column of the load from the table
    """
    gone = [name for name in load.names if name in snapshot.missing]
    if gone:
        raise SchemaConflict(
            f"column {', '.join(gone)}: {target} no longer has it, because another program dropped or renamed it;"
            " rename it back, add it again, or load without it (columns)"
        )
    table = schema_from_text(snapshot.schema) if snapshot.schema else pa.schema([])
    after = evolved(_laid_out(table, load), load)
    return pa.schema([field for field in after if field.name not in snapshot.foreign or field.name in load.names])


def _laid_out(table: pa.Schema, load: pa.Schema) -> pa.Schema:
    """The table's columns; in the load's layout, where that alone differs."""
    return pa.schema(
        [
            load.field(one.name) if one.name in load.names and is_alike(one.type, load.field(one.name).type) else one
            for one in table
        ]
    )


def lacks(table: pa.Schema, wanted: pa.Schema) -> bool:
    """Whether a table needs another column, or a wider one, for these."""
    after = evolved(_laid_out(table, wanted), wanted)
    return bool(after != _laid_out(table, wanted))


def is_alike(ours: pa.DataType, table: pa.DataType) -> bool:
    """Whether two types hold the same values."""
    return bool(_plain(ours) == _plain(table))


def _usual(kind: pa.DataType) -> pa.DataType:
    """The type that files are read as."""
    return {"binary": pa.binary(), "string": pa.string()}.get(str(_plain(kind)), kind)


def _plain(kind: pa.DataType) -> object:
    """A type without what Arrow alone distinguishes: offsets of 32 or 64 bits, views, names and nullability within lists."""
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return "binary"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "string"
    if pa.types.is_timestamp(kind):
        return ("timestamp", kind.tz is not None)
    if pa.types.is_struct(kind):
        return ("struct", tuple((field.name, _plain(field.type)) for field in kind))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ("list", _plain(kind.value_type))
    if pa.types.is_map(kind):
        return ("map", _plain(kind.key_type), _plain(kind.item_type))
    return kind
