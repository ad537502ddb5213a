"""Spark reads segments from the page cache: `scan`, `register` (for `.format("headrace")`), `write_parquet`."""

from headrace.spark.datasource import register
from headrace.spark.parquet import write_parquet
from headrace.spark.scan import scan

__all__ = ["register", "scan", "write_parquet"]
