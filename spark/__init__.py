"""Spark reads segments from the page cache: `scan`, `register` (for `.format("headrace")`), `write_parquet`, `stream`, `refresh`."""

import os
import sys

try:
    from headrace.spark.datasource import register
    from headrace.spark.parquet import write_parquet
    from headrace.spark.refresh import refresh
    from headrace.spark.scan import scan
    from headrace.spark.stream import stream
except ModuleNotFoundError as failure:
    if (failure.name or "").partition(".")[0] not in ("pyarrow", "pyspark", "numba", "llvmlite", "pandas"):
        raise
    raise ImportError(f"headrace.spark needs the extra spark: pip install 'headrace[spark]' ({failure})") from failure

from headrace.spark.executor_python import choose_python

choose_python(os.environ, sys.executable)

__all__ = ["refresh", "register", "scan", "stream", "write_parquet"]
