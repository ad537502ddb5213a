"""Spark reads segments from the page cache: `scan`, `aggregate`, `stream`, `register` (for `.format`), `write_parquet`; `refresh`,
`explain`.

What `decode=` takes is in `headrace.spark.decoding`. Without PySpark the other modules serve `headrace.arrow`; these names say what to
install then.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from headrace.spark.executor_python import choose_python

_EXTRA = ("pyarrow", "pyspark", "numba", "llvmlite", "pandas")

try:
    from headrace.spark.aggregate import aggregate
    from headrace.spark.datasource import register
    from headrace.spark.explain import explain
    from headrace.spark.parquet import write_parquet
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

__all__ = ["aggregate", "explain", "refresh", "register", "scan", "stream", "write_parquet"]
