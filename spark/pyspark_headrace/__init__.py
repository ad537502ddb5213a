"""Installed beside `headrace` as `pyspark_headrace`: PySpark looks into every `pyspark_*` package for a `DefaultSource`, so that
`.format("headrace")` and SQL's `USING headrace` work without `register` (spark-sql, Thrift and Connect servers).

An editable install is found by import only, not by PySpark's search: there `register` it is.
"""

from headrace.spark.datasource import HeadraceDataSource


class DefaultSource(HeadraceDataSource):
    """The class name that PySpark looks for."""
