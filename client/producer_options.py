"""Options of a producer by Kafka's keys, checked when they are given.

Source: Kafka 3.9 `ProducerConfig`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.client.engine.producing_options import ACKS_ALL, ACKS_LEADER, ACKS_NONE, ProducingOptions
from headrace.protocol.compression import Codec

ACKS = {
    "all": ACKS_ALL, "-1": ACKS_ALL, "1": ACKS_LEADER, "0": ACKS_NONE,
    ACKS_ALL: ACKS_ALL, ACKS_LEADER: ACKS_LEADER, ACKS_NONE: ACKS_NONE,
}  # fmt: skip
CODECS = {codec.name.lower(): codec for codec in Codec}  # by Kafka's names


def producing_options(options: Mapping[str, Any]) -> ProducingOptions:
    """Options of a producer by Kafka's keys in snake case.

    `acks`: "all", 0 or 1. `compression` (compression.type): none, gzip, snappy, lz4, zstd; `compression_level`.
    `enable_idempotence`: None, which means where acks is all and the brokers have it.
    `transactional_id`, `transaction_timeout_ms`: for transactions, where acks is all.
    `linger_ms`, `batch_size`, `buffer_memory`, `max_request_size`, `max_in_flight`, `request_timeout_ms`, `delivery_timeout_ms`.

    raises   ValueError, which names key, value and reason
    """
    given = dict(options)
    acks = given.pop("acks", "all")
    if acks not in ACKS:
        raise ValueError(f"acks: {acks!r}: expected 'all', 0 or 1")
    codec = given.pop("compression", "none")
    if codec not in CODECS:
        raise ValueError(f"compression.type: {codec!r} is not one of {', '.join(CODECS)}")
    known = set(ProducingOptions.__slots__) - {"acks", "codec", "level", "is_idempotent", "ends_at_failure"}
    made: dict[str, Any] = {"acks": ACKS[acks], "codec": CODECS[codec]}
    if "compression_level" in given:
        made["level"] = given.pop("compression_level")
    if "enable_idempotence" in given:
        made["is_idempotent"] = given.pop("enable_idempotence")
    if given.get("transactional_id") is not None:
        made.setdefault("is_idempotent", True)
    for name, value in given.items():
        if name not in known:
            raise unknown_option(
                "producer", name, [*known, "acks", "compression", "compression_level", "enable_idempotence"]
            )
        made[name] = value
    return ProducingOptions(**made)


def unknown_option(what: str, name: str, known: Iterable[str]) -> ValueError:
    """An option that there is not, with the nearest that there is."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1)
    return ValueError(f"{what} option {name!r} is unknown" + (f": did you mean {near[0]!r}?" if near else ""))
