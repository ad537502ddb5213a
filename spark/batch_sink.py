"""`write_batches`: what `foreachBatch` is given to write each micro-batch once, in every output mode.

    counts.writeStream.outputMode("update").foreachBatch(write_batches("pages", bootstrap_servers=b, sort="key")).start()

Spark lets a Python data source write a stream in the output modes append and complete; foreachBatch has update too. There Spark repeats
a whole micro-batch where it was interrupted, and each repetition is a batch of its own. What it has in common with the others is the
query's id, which the checkpoint keeps, and the number of the micro-batch: txnAppId and txnVersion of the batch sink (`sink.py`).

Runs in: Spark's driver, on the thread of the query, where Spark keeps the query's id as a local property. With Spark Connect the function
runs in a process of the server's that is not told it: an id has to be given there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from headrace.spark.scan import joined, merged_options
from headrace.spark.sink_options import EXACTLY_ONCE, TXN_APP_ID, TXN_VERSION
from headrace.spark.sink_task import QUERY_ID

OWN = (EXACTLY_ONCE, TXN_APP_ID, TXN_VERSION)
NO_QUERY = (
    f"Spark does not provide the query id ({QUERY_ID}) here: the function is not called by foreachBatch, or runs in Spark Connect;"
    " give an app_id, unique to one checkpoint and one write in it"
)


def write_batches(
    topic: str,
    *,
    bootstrap_servers: str | Sequence[str],
    sort: str | Sequence[str] = (),
    app_id: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch` that writes each micro-batch into a topic, once.

    sort      columns that the rows of a task are sorted by. Rows have to come in the same order in each attempt, and after a shuffle
              (an aggregate, a join) they don't
    app_id    who writes; without it the query, so a query that writes twice into one topic needs it. It belongs to one checkpoint
    options   further options of the sink
    returns   a function of (frame, batch id); it raises what the sink raises, and RuntimeError where there is no query's id
    raises    ValueError
    """
    if app_id is not None and not app_id.strip():
        raise ValueError(f"app_id {app_id!r} is empty")
    given = {"kafka.bootstrap.servers": joined(bootstrap_servers, "bootstrap_servers"), "topic": topic}
    merged = merged_options(given, options)
    for name in OWN:
        if name.lower() in merged:
            raise ValueError(f"option {name} is set by write_batches itself")
    merged[EXACTLY_ONCE] = "true"
    columns = [sort] if isinstance(sort, str) else list(sort)

    def write(frame: DataFrame, batch_id: int) -> None:
        identity = {TXN_APP_ID: app_id or _query_of(frame), TXN_VERSION: str(batch_id)}
        ordered = frame.sortWithinPartitions(*columns) if columns else frame
        ordered.write.format("headrace").options(**merged, **identity).mode("append").save()

    return write


def _query_of(frame: DataFrame) -> str:
    """raises   RuntimeError"""
    session = frame.sparkSession
    context = session.sparkContext if hasattr(session, "_jsparkSession") else None
    found = context.getLocalProperty(QUERY_ID) if context is not None else None
    if not found:
        raise RuntimeError(NO_QUERY)
    return str(found)
