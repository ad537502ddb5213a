"""The jobs: each a function from activity to its result, for a batch and for a stream.

    feed(events), relevance(events), rates(events), bans(events), services(events), alerts(events), reports(events),
    visitors(events), top(events), sessions(events)

`events` is a DataFrame with `timestamp` and fields of `activity.SCHEMA` (`Job.columns` says which). A stream needs a watermark on
`timestamp`: a row of a window comes once the watermark has passed the window's end, and is final. Only `feed` has no window: its
rows change, so a stream gives them in update mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

FAILED_LOGINS = (401, 403)
ERROR = 500  # statuses from here on are the service's own errors


def feed(events: DataFrame, *, last: int = 10) -> DataFrame:
    """News feed: for each user the last things done, newest first. user | recent: array of (timestamp, action, page)"""
    doing = F.struct("timestamp", "action", "page")
    return events.groupBy("user").agg(F.max_by(doing, doing, last).alias("recent"))


def relevance(events: DataFrame, *, window: str = "1 hour") -> DataFrame:
    """Counts by which pages are ranked. window | page | views | clicks | click_share"""
    counted = events.groupBy(F.window("timestamp", window), "page").agg(
        F.count_if(F.col("action") == "view").alias("views"), F.count_if(F.col("action") == "click").alias("clicks")
    )
    return with_click_share(counted)


def rates(events: DataFrame, *, window: str = "1 minute") -> DataFrame:
    """Security: how often each address comes, and fails to log in. window | address | requests | failures"""
    return events.groupBy(F.window("timestamp", window), "address").agg(
        F.count("*").alias("requests"), F.count_if(F.col("status").isin(*FAILED_LOGINS)).alias("failures")
    )


def bans(events: DataFrame, *, window: str = "1 minute", requests: int = 300, failures: int = 5) -> DataFrame:
    """Security: addresses above a limit. window | address | requests | failures | reason"""
    return over_limits(rates(events, window=window), requests, failures)


def services(events: DataFrame, *, window: str = "1 minute") -> DataFrame:
    """Monitoring: how each service does. window | service | requests | errors | mean_ms | max_ms"""
    return events.groupBy(F.window("timestamp", window), "service").agg(
        F.count("*").alias("requests"),
        F.count_if(F.col("status") >= ERROR).alias("errors"),
        (F.sum("ms") / F.count("*")).alias("mean_ms"),
        F.max("ms").alias("max_ms"),
    )


def alerts(events: DataFrame, *, window: str = "1 minute", error_share: float = 0.1, mean_ms: int = 1000) -> DataFrame:
    """Monitoring: services that fail or are slow. As `services`, and alert: errors, slow"""
    return ill(services(events, window=window), error_share, mean_ms)


def reports(events: DataFrame, *, window: str = "1 hour") -> DataFrame:
    """Totals by window and action. window | action | requests | sent_bytes | users (approximate) | first | last"""
    return events.groupBy(F.window("timestamp", window), "action").agg(
        F.count("*").alias("requests"),
        F.sum("sent_bytes").alias("sent_bytes"),
        F.approx_count_distinct("user").alias("users"),
        F.min("timestamp").alias("first"),
        F.max("timestamp").alias("last"),
    )


def visitors(events: DataFrame, *, window: str = "1 day") -> DataFrame:
    """Distinct visitors of each service, within some 5 percent. window | service | visitors"""
    return events.groupBy(F.window("timestamp", window), "service").agg(
        F.approx_count_distinct("user").alias("visitors")
    )


def top(events: DataFrame, *, window: str = "1 hour", pages: int = 10) -> DataFrame:
    """The most requested pages, at equal counts by name. window | rank | page | requests"""
    counted = events.groupBy(F.window("timestamp", window), "page").agg(F.count("*").alias("requests"))
    return ranked(counted, pages)


def sessions(events: DataFrame, *, pause: str = "30 minutes") -> DataFrame:
    """Visits: what a user does without a pause as long as that. window | user | requests | pages (approximate) | entry | exit"""
    at = F.struct("timestamp", "page")
    return events.groupBy(F.session_window("timestamp", pause).alias("window"), "user").agg(
        F.count("*").alias("requests"),
        F.approx_count_distinct("page").alias("pages"),
        F.min_by("page", at).alias("entry"),
        F.max_by("page", at).alias("exit"),
    )


# Second halves, which jobs over counts made in the worker share (in_worker.py).


def with_click_share(counted: DataFrame) -> DataFrame:
    """window | page | views | clicks -> and click_share"""
    total = F.col("views") + F.col("clicks")
    return counted.where(total > 0).withColumn("click_share", F.col("clicks") / total)


def over_limits(counted: DataFrame, requests: int, failures: int) -> DataFrame:
    """window | address | requests | failures -> those above a limit, with the reason"""
    reason = _first_of(
        ("failures", F.col("failures") >= failures),
        ("requests", F.col("requests") >= requests),
    )
    return counted.withColumn("reason", reason).where("reason IS NOT NULL")


def ill(health: DataFrame, error_share: float, mean_ms: int) -> DataFrame:
    """window | service | requests | errors | mean_ms | max_ms -> those with an alert"""
    alert = _first_of(
        ("errors", F.col("errors") >= F.col("requests") * error_share),
        ("slow", F.col("mean_ms") >= mean_ms),
    )
    return health.withColumn("alert", alert).where("alert IS NOT NULL")


def ranked(counted: DataFrame, pages: int) -> DataFrame:
    """window | page | requests -> the first of each window, as rows. A second aggregation, which a stream may have in append mode"""
    entry = F.struct((-F.col("requests")).alias("minus"), "page")
    best = counted.groupBy("window").agg(F.min_by(entry, entry, pages).alias("best"))
    places = best.select("window", F.posexplode("best").alias("place", "entry"))
    return places.select(
        "window",
        (F.col("place") + 1).alias("rank"),
        F.col("entry.page").alias("page"),
        (-F.col("entry.minus")).alias("requests"),
    )


def _first_of(*cases: tuple[str, Column]) -> Column:
    """The name of the first condition that holds; else null."""
    return F.coalesce(*(F.when(condition, F.lit(name)) for name, condition in cases))


class Job(NamedTuple):
    """A job as `run_job.py` runs it.

    columns   what it reads: no other field is built, or crosses to the JVM
    key       the column that keys its result in a topic
    mode      a stream's output mode
    """

    function: Callable[..., DataFrame]
    columns: str
    key: str
    mode: str = "append"


JOBS = {
    "feed": Job(feed, "timestamp,user,action,page", "user", "update"),
    "relevance": Job(relevance, "timestamp,page,action", "page"),
    "rates": Job(rates, "timestamp,address,status", "address"),
    "bans": Job(bans, "timestamp,address,status", "address"),
    "services": Job(services, "timestamp,service,status,ms", "service"),
    "alerts": Job(alerts, "timestamp,service,status,ms", "service"),
    "reports": Job(reports, "timestamp,action,sent_bytes,user", "action"),
    "visitors": Job(visitors, "timestamp,service,user", "service"),
    "top": Job(top, "timestamp,page", "page"),
    "sessions": Job(sessions, "timestamp,user,page", "user"),
}
