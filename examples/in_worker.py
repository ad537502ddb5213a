"""The same results with the counting done in Spark's Python workers (`headrace.spark.aggregate`), in a batch.

What crosses to the JVM is a row for each group of a task, not one for each record. Where a job asks "how many with this status", the worker
groups by the status too, and Spark adds up the few rows that come. A feed and sessions need the records themselves: `jobs.py` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from examples import jobs
from examples.activity import SCHEMA
from headrace.spark import aggregate
from headrace.spark.decoding import json


class Counted:
    """Activity of a topic, counted in the workers. `options` are further arguments of `aggregate`."""

    def __init__(self, spark: SparkSession, topic: str, bootstrap_servers: str, **options: Any) -> None:
        self._spark = spark
        self._topic = topic
        self._options: dict[str, Any] = {"bootstrap_servers": bootstrap_servers, **options}

    def by(self, keys: str, window: str, **aggregates: str) -> DataFrame:
        """window | keys | aggregates; records that are no activity are left out"""
        return aggregate(
            self._spark,
            self._topic,
            aggregates,
            by=keys,
            window=window,
            decode=json(SCHEMA),
            decode_mode="null",
            where=pc.field(keys.partition(",")[0]).is_valid(),
            **self._options,
        )


def relevance(events: Counted, *, window: str = "1 hour") -> DataFrame:
    """As `jobs.relevance`."""
    counted = events.by("page,action", window, n="count()").groupBy("window", "page")
    return jobs.with_click_share(
        counted.agg(_n_if(F.col("action") == "view").alias("views"), _n_if(F.col("action") == "click").alias("clicks"))
    )


def rates(events: Counted, *, window: str = "1 minute") -> DataFrame:
    """As `jobs.rates`."""
    counted = events.by("address,status", window, n="count()").groupBy("window", "address")
    return counted.agg(F.sum("n").alias("requests"), _n_if(F.col("status").isin(*jobs.FAILED_LOGINS)).alias("failures"))


def bans(events: Counted, *, window: str = "1 minute", requests: int = 300, failures: int = 5) -> DataFrame:
    """As `jobs.bans`."""
    return jobs.over_limits(rates(events, window=window), requests, failures)


def services(events: Counted, *, window: str = "1 minute") -> DataFrame:
    """As `jobs.services`."""
    counted = events.by("service,status", window, n="count()", ms="sum(ms)", max_ms="max(ms)")
    return counted.groupBy("window", "service").agg(
        F.sum("n").alias("requests"),
        _n_if(F.col("status") >= jobs.ERROR).alias("errors"),
        (F.sum("ms") / F.sum("n")).alias("mean_ms"),
        F.max("max_ms").alias("max_ms"),
    )


def alerts(events: Counted, *, window: str = "1 minute", error_share: float = 0.1, mean_ms: int = 1000) -> DataFrame:
    """As `jobs.alerts`."""
    return jobs.ill(services(events, window=window), error_share, mean_ms)


def reports(events: Counted, *, window: str = "1 hour") -> DataFrame:
    """As `jobs.reports`."""
    return events.by(
        "action",
        window,
        requests="count()",
        sent_bytes="sum(sent_bytes)",
        users="approx_count_distinct(user)",
        first="min(timestamp)",
        last="max(timestamp)",
    )


def visitors(events: Counted, *, window: str = "1 day") -> DataFrame:
    """As `jobs.visitors`."""
    return events.by("service", window, visitors="approx_count_distinct(user)")


def top(events: Counted, *, window: str = "1 hour", pages: int = 10) -> DataFrame:
    """As `jobs.top`."""
    return jobs.ranked(events.by("page", window, requests="count()"), pages)


def _n_if(condition: Column) -> Column:
    """The sum of `n` where a condition holds, 0 where it never does."""
    return F.coalesce(F.sum(F.when(condition, F.col("n"))), F.lit(0))


JOBS: dict[str, Callable[..., DataFrame]] = {
    one.__name__: one for one in (relevance, rates, bans, services, alerts, reports, visitors, top)
}
