"""A Parquet file as an Iceberg table's metadata describes it: counts, bounds, partition.

pyiceberg takes minima and maxima of times and dates as Python's `datetime`, which ends with the year 9999: a table's columns don't, and one
record whose producer wrote microseconds for milliseconds would end every load. Here they stay the numbers that the file has. Of a
column without statistics (`value`, which no query is about) nothing is said.

Source: the Iceberg specification's data files and partition transforms; iceberg-python `parquet_file_to_data_file`.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table.metadata import TableMetadata


def iceberg_data_file(metadata: TableMetadata, path: Path) -> DataFile:
    """What a commit adds for a file.

    raises   OSError; ValueError, for columns that the table does not have, or rows of more than one partition
    """
    from pyiceberg.io import pyarrow as arrow_io
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat

    footer = pq.read_metadata(path)
    schema = metadata.schema()
    arrow_io._check_pyarrow_schema_compatible(
        schema, footer.schema.to_arrow_schema(), format_version=metadata.format_version
    )
    ids = arrow_io.parquet_path_to_id_mapping(schema)
    without = _without_statistics(footer)
    wanted = arrow_io.compute_statistics_plan(schema, metadata.properties)
    widened = {ids[name] for name in _narrower(footer, schema) if name in ids}
    counted = {
        number: dataclasses.replace(one, mode=_mode(one, number in {ids[name] for name in without}, number in widened))
        for number, one in wanted.items()
    }
    statistics = arrow_io.data_file_statistics_from_parquet_metadata(footer, counted, ids)
    for number, one in wanted.items():
        if (_is_time(one.iceberg_type) or number in widened) and one.mode.type not in _unbounded():
            found = _bounds(footer, next(name for name, known in ids.items() if known == number))
            if found is not None:
                statistics.column_aggregates[number] = _aggregate(one.iceberg_type, *found)
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=statistics.partition(metadata.spec(), schema),
        file_size_in_bytes=path.stat().st_size,
        sort_order_id=None,
        spec_id=metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )


def with_any_hours(producer: Any) -> Any:
    """A snapshot producer of pyiceberg whose summary does without the names of partitions, where one is an hour that `datetime` lacks."""
    summary_of = producer._summary

    def summary(properties: dict[str, str]) -> Any:
        try:
            return summary_of(properties)
        except OverflowError:
            return _counted(producer, properties)

    producer._summary = summary
    return producer


def with_own_evaluators(producer: Any) -> Any:
    """A snapshot producer of pyiceberg that asks of each manifest by an evaluator of its own. pyiceberg (0.12) has its threads share one,
    which keeps the manifest in itself: on a busy machine a manifest is passed over that has a file to delete."""
    build = producer._build_manifest_evaluator
    producer._build_manifest_evaluator = lambda spec_id: lambda manifest: build(spec_id)(manifest)
    return producer


def _counted(producer: Any, properties: dict[str, str]) -> Any:
    """The summary of a snapshot: what was added, removed and is there."""
    from pyiceberg.table.snapshots import Summary, UpdateMetrics, update_snapshot_summaries

    metrics = UpdateMetrics()
    for file in producer._added_data_files:
        metrics.add_file(file)
    for file in producer._deleted_data_files:
        metrics.remove_file(file)
    before = producer._transaction.table_metadata.snapshot_by_id(producer._parent_snapshot_id)
    return update_snapshot_summaries(
        summary=Summary(operation=producer._operation, **metrics.to_dict(), **properties),
        previous_summary=None if before is None else before.summary,
    )


def _is_time(kind: Any) -> bool:
    from pyiceberg.types import DateType, TimestampType, TimestamptzType

    return isinstance(kind, (DateType, TimestampType, TimestamptzType))


def _unbounded() -> tuple[Any, ...]:
    from pyiceberg.io.pyarrow import MetricModeTypes

    return MetricModeTypes.NONE, MetricModeTypes.COUNTS


def _narrower(footer: pq.FileMetaData, schema: Any) -> list[str]:
    """Columns of 32 bits in the file and of 64 in the table: another program widened them."""
    from pyiceberg.types import DoubleType, LongType

    wide = {field.name for field in schema.fields if isinstance(field.field_type, (LongType, DoubleType))}
    kinds = {name: footer.schema.column(index).physical_type for index, name in enumerate(footer.schema.names)}
    return [name for name, kind in kinds.items() if name in wide and kind in ("INT32", "FLOAT")]


def _mode(one: Any, is_without: bool, is_widened: bool) -> Any:
    """What pyiceberg is to read of a column's statistics."""
    from pyiceberg.io.pyarrow import MetricModeTypes, MetricsMode

    if is_without:
        return MetricsMode(MetricModeTypes.NONE)
    if (_is_time(one.iceberg_type) or is_widened) and one.mode.type not in _unbounded():
        return MetricsMode(MetricModeTypes.COUNTS)
    return one.mode


def _without_statistics(footer: pq.FileMetaData) -> set[str]:
    """Columns that have none in some row group."""
    return {
        footer.row_group(group).column(index).path_in_schema
        for group in range(footer.num_row_groups)
        for index in range(footer.num_columns)
        if not footer.row_group(group).column(index).is_stats_set
    }


def _bounds(footer: pq.FileMetaData, name: str) -> tuple[Any, Any] | None:
    """The least and the largest number of a column, as it is stored; None where it has none."""
    found: list[Any] = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for index in range(group.num_columns):
            column = group.column(index)
            if column.path_in_schema == name and column.is_stats_set and column.statistics.has_min_max:
                found += [column.statistics.min_raw, column.statistics.max_raw]
    return (min(found), max(found)) if found else None


def _aggregate(kind: Any, least: Any, most: Any) -> Any:
    from pyiceberg.io.pyarrow import StatsAggregator
    from pyiceberg.types import DateType, DoubleType

    made = StatsAggregator(
        kind, "INT32" if isinstance(kind, DateType) else "DOUBLE" if isinstance(kind, DoubleType) else "INT64"
    )
    made.update_min(least)
    made.update_max(most)
    return made
