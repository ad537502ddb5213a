"""`refresh`: a DataFrame of `.format("headrace")` that resolves its offsets again.

Spark plans a Python data source once for each `load()`, and keeps that plan for every action, view and DataFrame
made from it (`PythonDataSourceV2.getOrCreateReadInfo`); the connector, which is Scala, resolves again at each action. Tasks could resolve
themselves, but then a retried task, or a recomputed cached block, would read other rows, and a shuffle over them
loses or repeats some (docs/decisions/023).

Runs in: Spark's driver, PySpark Classic. Not possible with Spark Connect: call `load()` again.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


def refresh(frame: DataFrame) -> DataFrame:
    """The same query over current offsets; views and DataFrames that share its `load()` are refreshed too.

    raises   ValueError, if it reads nothing by `.format("headrace")` in a classic session
    """
    plan = getattr(getattr(frame, "_jdf", None), "queryExecution", None)
    if plan is None:
        raise ValueError("refresh needs a classic session: with Spark Connect call load() again")
    leaves = plan().analyzed().collectLeaves()
    sources = [source_of(leaves.apply(index)) for index in range(leaves.size())]
    if not any(source is not None for source in sources):
        raise ValueError('this DataFrame does not read with .format("headrace")')
    for source in sources:
        if source is not None:
            source.setReadInfo(None)
    return frame.select("*")


def source_of(leaf: Any) -> Any:
    """The JVM's side of our data source, None for other leaves of a plan."""
    if leaf.getClass().getSimpleName() != "DataSourceV2Relation":
        return None
    table = leaf.table()
    if table.getClass().getSimpleName() != "PythonTable" or table.name().lower() != "headrace":
        return None
    held = table.getClass().getDeclaredField("ds")
    held.setAccessible(True)
    return held.get(table)
