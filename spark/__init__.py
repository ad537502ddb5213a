"""Spark reads segments from the page cache: `scan`, `aggregate`, `stream`, `register` (for `.format`), `write_parquet`, `write_batches`;
`table`; `refresh`, `explain`, `progress`, `read_counts`.

What `decode=` takes is in `headrace.spark.decoding`. Without PySpark the other modules serve `headrace.arrow`; these names say what to
install then.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, NoReturn

from headrace.spark.executor_python import choose_python

_EXTRA = ("pyarrow", "pyspark", "pandas")

try:
    from headrace.spark.aggregate import aggregate
    from headrace.spark.batch_sink import write_batches
    from headrace.spark.datasource import register
    from headrace.spark.explain import explain, read_counts
    from headrace.spark.parquet import write_parquet
    from headrace.spark.query_progress import progress
    from headrace.spark.refresh import refresh
    from headrace.spark.scan import scan
    from headrace.spark.stream import stream
except ModuleNotFoundError as failure:
    if (failure.name or "").partition(".")[0] not in _EXTRA:
        raise
    _missing = str(failure)

    def __getattr__(name: str) -> NoReturn:
        if name in __all__:
            raise ImportError(f"headrace.spark needs the extra spark: pip install 'headrace[spark]' ({_missing})")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


choose_python(os.environ, sys.executable)


def table(spark: Any, topic: str, **given: Any) -> Any:
    """A topic's loaded history and the live log after it as one DataFrame: `headrace.load.spark_table.table`, which is above us."""
    return importlib.import_module("headrace.load.spark_table").table(spark, topic, **given)


__all__ = [
    "aggregate",
    "explain",
    "progress",
    "read_counts",
    "refresh",
    "register",
    "scan",
    "stream",
    "table",
    "write_batches",
    "write_parquet",
]
