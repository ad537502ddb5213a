"""`progress`: what Spark reports of a running query, with the name and the metrics that the `kafka` source gives itself.

    progress(query)["sources"][0]["description"]    headrace[clicks]              PythonMicroBatchStream...@2b11c80 in query.lastProgress
    progress(query)["sources"][0]["metrics"]        avg/max/minOffsetsBehindLatest

The Python Data Source API has no way to name a source or to report metrics of a stream, but Spark keeps the offsets that a source
reports: the end of the micro-batch, and the latest ones there are (`reportLatestOffset`). The metrics are made of these, as in the
connector.

Runs in: Spark's driver, or a client of Spark Connect; also in a StreamingQueryListener, over `event.progress`.

Source: Spark's `KafkaMicroBatchStream` (metrics).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headrace.spark.stream_offsets import Offsets, from_json

PYTHON_SOURCE = "PythonMicroBatchStream"  # the JVM's class of every stream of a Python data source


def progress(of: Any) -> dict[str, Any] | None:
    """The progress of a query; None before its first micro-batch.

    of        a StreamingQuery (its last progress), or a progress: of `recentProgress`, of a listener's event, or as a dict
    returns   a dict as `lastProgress` is; its sources that are ours have a description and metrics
    raises    ValueError, for anything else
    """
    found = of if isinstance(of, Mapping) or hasattr(of, "sources") else getattr(of, "lastProgress", of)
    if found is None:
        return None
    if not isinstance(found, Mapping):  # PySpark 3's, or one of the JVM's
        text = getattr(found, "json", None)
        if not isinstance(text, str):
            raise ValueError(f"progress takes a StreamingQuery or its progress, not {of!r}")
        found = json.loads(text)
    return {**found, "sources": [_described(dict(source)) for source in found.get("sources", ())]}


def _described(source: dict[str, Any]) -> dict[str, Any]:
    """A source with its description and metrics, if it is ours; else as it is."""
    end = _offsets(source.get("endOffset"))
    if PYTHON_SOURCE not in str(source.get("description")) or end is None:
        return source
    latest = _offsets(source.get("latestOffset")) or {}
    source["description"] = f"headrace[{', '.join(sorted({name.topic for name in end | latest}))}]"
    source["metrics"] = {**(source.get("metrics") or {}), **behind_latest(end, latest)}
    return source


def behind_latest(end: Offsets, latest: Offsets) -> dict[str, str]:
    """The connector's metrics, as text; none where nothing is known. A new partition lacks all that it may hold."""
    behind = [max(offset - end.get(name, 0), 0) for name, offset in latest.items()]
    if not behind:
        return {}
    return {
        "avgOffsetsBehindLatest": str(sum(behind) / len(behind)),
        "maxOffsetsBehindLatest": str(max(behind)),
        "minOffsetsBehindLatest": str(min(behind)),
    }


def _offsets(found: Any) -> Offsets | None:
    """Offsets as the JVM has them, or as JSON; None for those of another source."""
    try:
        held = json.loads(found) if isinstance(found, str) else found
        return from_json(held)
    except ValueError:
        return None
