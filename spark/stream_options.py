"""The options of a stream: those of a batch without an end, and how much a micro-batch reads.

Source: Spark's Kafka integration guide, `KafkaSourceProvider.validateStreamOptions`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.client.cluster import LATEST
from headrace.spark.options import (
    COMMIT_GROUP,
    DESCRIPTORS,
    SourceOptions,
    number_of,
    parse_options,
)

if TYPE_CHECKING:
    from headrace.spark.decoding.decode_plan import DecodePlan

MAX_TRIGGER_DELAY_MS = 15 * 60 * 1000  # the connector's
UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]+)\s*([a-z]*)")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What a stream reads.

    max_offsets    of a micro-batch, prorated by lag
    min_offsets    a micro-batch waits for that many, at most `max_delay_ms`
    commit_group   a consumer group whose offsets follow the query's; '' for none
    descriptors    0: records are read; else ranges for that many cores, which are read elsewhere
    """

    scan: SourceOptions
    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = MAX_TRIGGER_DELAY_MS
    commit_group: str = ""
    descriptors: int = 0

    @property
    def may_start_at_latest(self) -> bool:
        """Whether a second attempt to resolve the start could come to a later offset."""
        start = self.scan.start
        if start.timestamp is not None or start.timestamps:
            return self.scan.unmatched_timestamp_is_latest
        return LATEST in start.offsets.values() if start.offsets else start.default == LATEST


def parse_stream_options(options: Mapping[str, str], decode: DecodePlan | None = None) -> StreamOptions:
    """The options of a stream reader.

    decode   given as an argument: then not in options too
    raises   ValueError, naming option, value and reason
    """
    given = {key.lower(): str(value) for key, value in options.items()}
    scan = parse_options(given, is_stream=True, decode=decode)
    most = number_of(given, "maxOffsetsPerTrigger", 1)
    least = number_of(given, "minOffsetsPerTrigger", 1)
    group = given.get(COMMIT_GROUP, "").strip()
    if COMMIT_GROUP in given and not group:
        raise ValueError(f"option {COMMIT_GROUP} is empty")
    descriptors = number_of(given, DESCRIPTORS, 1, 0) or 0
    if descriptors:
        scan = replace(scan, splits=True)
    return StreamOptions(scan, most, least, _delay_ms(given.get("maxtriggerdelay")), group, descriptors)


def _delay_ms(text: str | None) -> int:
    if text is None:
        return MAX_TRIGGER_DELAY_MS
    match = _DURATION.fullmatch(text.strip().lower())
    unit_ms = UNITS_MS.get(match[2] or "ms") if match else None
    if match is None or unit_ms is None:
        raise ValueError(
            f"option maxTriggerDelay {text!r} must be a duration, such as 15m (units: {', '.join(UNITS_MS)})"
        )
    return int(match[1]) * unit_ms
