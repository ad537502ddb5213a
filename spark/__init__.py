"""Spark reads segments from the page cache: `scan`, `register` (for `.format("headrace")`), `write_parquet`, `refresh`, `explain`.

What `decode=` takes is in `headrace.spark.decoding`.
"""

import os
import sys

try:
    from headrace.spark.datasource import register
    from headrace.spark.explain import explain
    from headrace.spark.parquet import write_parquet
    from headrace.spark.refresh import refresh
    from headrace.spark.scan import scan
except ModuleNotFoundError as failure:
    if (failure.name or "").partition(".")[0] not in ("pyarrow", "pyspark", "numba", "llvmlite", "pandas"):
        raise
    raise ImportError(f"headrace.spark needs the extra spark: pip install 'headrace[spark]' ({failure})") from failure

from headrace.spark.executor_python import choose_python

choose_python(os.environ, sys.executable)

__all__ = ["explain", "refresh", "register", "scan", "write_parquet"]
