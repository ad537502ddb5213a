"""Spark reads segments from the page cache: `scan`, `register` (for `.format("headrace")`), `write_parquet`, `refresh`.

Each is imported when it is asked for: `headrace.arrow` reads by the same modules without Spark.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from headrace.spark.executor_python import choose_python

if TYPE_CHECKING:
    from headrace.spark.datasource import register
    from headrace.spark.parquet import write_parquet
    from headrace.spark.refresh import refresh
    from headrace.spark.scan import scan

choose_python(os.environ, sys.executable)

_EXTRA = ("pyarrow", "pyspark", "numba", "llvmlite", "pandas")
_PLACES = {"refresh": "refresh", "register": "datasource", "scan": "scan", "write_parquet": "parquet"}

__all__ = ["refresh", "register", "scan", "write_parquet"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    except ModuleNotFoundError as failure:
        if (failure.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise ImportError(
            f"headrace.spark needs the extra spark: pip install 'headrace[spark]' ({failure})"
        ) from failure
    globals()[name] = found
    return found
