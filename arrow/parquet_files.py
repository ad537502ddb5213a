"""How records become Parquet: one place for `write_parquet` and the loader.

A dictionary pays for columns whose values come again (partition, timestamp, keys of users, decoded words). It is given up at
PARQUET_DICTIONARY_BYTES_MAX of different values in a row group: by Arrow's own bound of 1 MiB the 65,536 different keys or offsets of
a batch have one, and are stored twice. `value` and `offset` don't repeat. The least and the largest `value` of a row group serve
no query.

Floats have neither statistics nor a dictionary: readers pass over row groups by both, and by what floats are not. The least and the largest
leave NaN out, which is Spark's largest number; a dictionary of -0.0 alone has no 0.0, though both are equal.

By `bench/spark_rows.py`, 100-byte values, two cores: 4.6 million records/s with Arrow's defaults, 5.2 so; from zstd 4.0
and 5.1 (2026-11-26).
"""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.limits import PARQUET_DICTIONARY_BYTES_MAX

UNREPEATED = frozenset(("offset", "value"))


def parquet_writer(path: str | os.PathLike[str], schema: pa.Schema, compression: str) -> pq.ParquetWriter:
    """A writer of one file; `compression` as pyarrow has it. raises OSError"""
    ordered = [name for name, kind in _leaves(schema) if not pa.types.is_floating(kind)]
    return pq.ParquetWriter(
        path,
        schema,
        compression=compression,
        use_dictionary=[name for name in ordered if name not in UNREPEATED],
        dictionary_pagesize_limit=PARQUET_DICTIONARY_BYTES_MAX,
        write_statistics=[name for name in ordered if name != "value"],
    )


def _leaves(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    """Columns as Parquet names them, those of nested ones by their path, and their types."""
    found = []
    for field in schema:
        found += _paths(field.name, field.type)
    return found


def _paths(path: str, kind: pa.DataType) -> list[tuple[str, pa.DataType]]:
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _paths(f"{path}.{field.name}", field.type)]
    if pa.types.is_map(kind):
        return [*_paths(f"{path}.key_value.key", kind.key_type), *_paths(f"{path}.key_value.value", kind.item_type)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _paths(f"{path}.list.element", kind.value_type)
    return [(path, kind)]
