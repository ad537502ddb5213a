"""Kafka's consumer properties, as `kafka.*` options name them: which there are, what they may be, what is refused.

Ours reads without a consumer, so most of them tune nothing here; a value that Kafka's consumer would refuse is refused all the same, for
it is a user's mistake. What promises security is refused until it is built: a job that asks for TLS must not get plain text.

Source: Kafka 3.9 `ConsumerConfig`, `CommonClientConfigs`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

PREFIX = "kafka."
BOOTSTRAP_SERVERS = "kafka.bootstrap.servers"
CHECK_CRCS = "kafka.check.crcs"
ISOLATION_LEVEL = "kafka.isolation.level"
FORBIDDEN = {
    "kafka.auto.offset.reset": "use startingOffsets",
    "kafka.key.deserializer": "keys are read as binary; cast them in the query",
    "kafka.value.deserializer": "values are read as binary; cast them in the query",
    "kafka.key.serializer": "keys are written as binary or string",
    "kafka.value.serializer": "values are written as binary or string",
    "kafka.enable.auto.commit": "the source commits no offsets",
    "kafka.interceptor.classes": "interceptors could change what is read",
}
_SECURITY = "kafka.security.protocol"
_SECURITY_PREFIXES = ("kafka.sasl.", "kafka.ssl.", "kafka.security.")
_INT_MAX, _LONG_MAX = 2**31 - 1, 2**63 - 1
_NUMBERS = {  # (least, most)
    **dict.fromkeys(
        (
            "auto.commit.interval.ms",
            "default.api.timeout.ms",
            "fetch.max.bytes",
            "fetch.max.wait.ms",
            "fetch.min.bytes",
            "max.partition.fetch.bytes",
            "request.timeout.ms",
        ),
        (0, _INT_MAX),
    ),
    **dict.fromkeys(("receive.buffer.bytes", "send.buffer.bytes"), (-1, _INT_MAX)),
    **dict.fromkeys(("max.poll.interval.ms", "max.poll.records", "metrics.num.samples"), (1, _INT_MAX)),
    **dict.fromkeys(("heartbeat.interval.ms", "session.timeout.ms"), (-(2**31), _INT_MAX)),
    **dict.fromkeys(
        (
            "metadata.max.age.ms",
            "metrics.sample.window.ms",
            "reconnect.backoff.max.ms",
            "reconnect.backoff.ms",
            "retry.backoff.max.ms",
            "retry.backoff.ms",
        ),
        (0, _LONG_MAX),
    ),
    **dict.fromkeys(
        (
            "connections.max.idle.ms",
            "socket.connection.setup.timeout.max.ms",
            "socket.connection.setup.timeout.ms",
        ),
        (-(2**63), _LONG_MAX),
    ),
}
_SWITCHES = {
    "allow.auto.create.topics",
    "auto.include.jmx.reporter",
    "check.crcs",
    "enable.metrics.push",
    "exclude.internal.topics",
}
_CHOICES = {
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "isolation.level": ("read_uncommitted", "read_committed"),
    "metadata.recovery.strategy": ("none", "rebootstrap"),
    "metrics.recording.level": ("INFO", "DEBUG", "TRACE"),
    "group.protocol": ("classic", "consumer"),
}
_IN_ANY_CASE = {"metadata.recovery.strategy", "group.protocol"}  # the other words are as they are spelt
_TEXTS = {
    "bootstrap.servers",
    "client.id",
    "client.rack",
    "group.id",
    "group.instance.id",
    "group.remote.assignor",
    "metric.reporters",
    "partition.assignment.strategy",
}


def check_properties(given: Mapping[str, str]) -> None:
    """Check the `kafka.*` options, whose names are in lower case.

    raises   ValueError, naming option, value and reason; warns of names that the consumer does not know
    """
    for option, value in given.items():
        if not option.startswith(PREFIX):
            continue
        if option in FORBIDDEN:
            raise ValueError(f"option {option} is not supported: {FORBIDDEN[option]}")
        refuse_security(option, value)
        _check_value(option, value)


def refuse_security(option: str, value: str) -> None:
    """raises   ValueError, for an option that promises TLS or SASL"""
    if option.startswith(_SECURITY_PREFIXES) and (option, value.strip().upper()) != (_SECURITY, "PLAINTEXT"):
        shown = f" {value!r}" if option == _SECURITY else ""  # the others may hold a password
        raise ValueError(f"option {option}{shown} is not supported: only PLAINTEXT is supported so far, no TLS or SASL")


def _check_value(option: str, value: str) -> None:
    name, text = option.removeprefix(PREFIX), value.strip()
    if name in _NUMBERS:
        least, most = _NUMBERS[name]
        try:
            is_good = least <= int(text) <= most
        except ValueError:
            is_good = False
        if not is_good:
            raise ValueError(f"option {option} {value!r} must be a whole number from {least} to {most}")
    elif name in _SWITCHES:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"option {option} {value!r} must be true or false")
    elif name in _CHOICES:
        if (text.lower() if name in _IN_ANY_CASE else text) not in _CHOICES[name]:
            raise ValueError(f"option {option} {value!r} must be {' or '.join(_CHOICES[name])}")
    elif name not in _TEXTS and not option.startswith(_SECURITY):
        warnings.warn(f"option {option} is not a Kafka consumer property: ignored", stacklevel=4)
