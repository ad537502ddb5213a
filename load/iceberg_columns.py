"""What an Iceberg table's metadata says of its columns, deletes and partitions, and what of it a load can't do.

    a column of ours was renamed     refused, until it has its name back: our files know columns by names
    a name, or an id, stood for      files of others are read by the ids that they have
    another column before
    equality deletes, version 3      refused
    partitions of several values     refused: a load's file has one topic, partition and hour

Source: the Iceberg specification: schema evolution, column ids, partition transforms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from headrace.load.contents import ALWAYS
from headrace.load.errors import BrokenTarget

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask, Table

FORMAT_VERSION = 2
ONE_VALUE = {"topic": ("identity",), "partition": ("identity",), "timestamp": ("hour", "day", "month", "year")}


def planned(table: Table, name: str) -> Iterator[FileScanTask]:
    """The table's data files, with the files that delete rows of them.

    raises   BrokenTarget, for equality deletes, which pyiceberg does not read
    """
    try:
        yield from table.scan().plan_files()
    except ValueError as failure:
        raise BrokenTarget(
            f"{name}: its files can't be listed: {failure}; rewrite_data_files by Spark applies equality deletes"
        ) from None


def check_names(table: Table, name: str, ours: Collection[str]) -> None:
    """That columns of ours have their names, and that those are there that each table of a load has.

    raises   BrokenTarget
    """
    now = {field.field_id: field.name for field in table.schema().fields}
    for schema in table.schemas().values():
        for field in schema.fields:
            known = now.get(field.field_id)
            if known not in (None, field.name) and field.name in ours and field.name not in now.values():
                raise BrokenTarget(
                    f"{name}: another program renamed the column {field.name} to {known}: headrace knows columns by their names; "
                    f"ALTER TABLE ... RENAME COLUMN {known} TO {field.name}"
                )
    gone = [column for column in ALWAYS if column in ours and column not in now.values()]
    if gone:
        raise BrokenTarget(
            f"{name}: another program dropped the column {', '.join(gone)}, which is needed to know what is loaded: roll the table's "
            "schema back, or load to another table"
        )


def ids_of(table: Table) -> dict[str, int]:
    """Ids of the columns, where a name or an id stood for another one before; else none: files then have the names that the table has."""
    names: dict[int, set[str]] = {}
    ids: dict[str, set[int]] = {}
    for schema in table.schemas().values():
        for field in schema.fields:
            names.setdefault(field.field_id, set()).add(field.name)
            ids.setdefault(field.name, set()).add(field.field_id)
    if all(len(some) == 1 for some in names.values()) and all(len(some) == 1 for some in ids.values()):
        return {}
    return {field.name: field.field_id for field in table.schema().fields}


def check_writable(table: Table, name: str, ours: Collection[str]) -> None:
    """That a load can add files.

    raises   BrokenTarget: a later version of the format, or a partition of which a file may have several values
    """
    version = table.metadata.format_version
    if version > FORMAT_VERSION:
        raise BrokenTarget(
            f"{name} is of format version {version}, with deletion vectors and row lineage: a load writes version {FORMAT_VERSION}; "
            "load to another table"
        )
    for field in table.spec().fields:
        source = table.schema().find_column_name(field.source_id) or ""
        transform = str(field.transform)
        if transform != "void" and source in ours and transform not in ONE_VALUE.get(source, ()):
            raise BrokenTarget(
                f"{name} is partitioned by {transform}({source}): a load's file has one topic, partition and hour, and may have rows of "
                f"several such partitions; ALTER TABLE ... DROP PARTITION FIELD {field.name}"
            )
