"""Settings of a mirror: a properties file with the names of Kafka 0.7 and of MirrorMaker 1, and with ours. Unknown keys are refused.

    mirror.topics.whitelist, mirror.topics.blacklist,
    mirror.consumer.numthreads                            Kafka 0.7
    whitelist, blacklist, num.streams                     MirrorMaker 1
    consumer.config                                       the same: files with bootstrap.servers of a source, joined by commas
    producer.config                                       the same: a file with bootstrap.servers of the target

Source: Kafka 0.7 `KafkaServerStartable`, Kafka 0.8.1 `MirrorMaker`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import ConfigError
from headrace.limits import MIRROR_INTERVAL_MS_MAX, MIRROR_SOURCES_MAX, MIRROR_WORKERS_MAX
from headrace.mirror.partitioner import AUTO, KEEP, KEY
from headrace.properties import read_properties_file

SYNCED_CONFIGS = (
    "cleanup.policy",
    "compression.type",
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
)
DEFAULTS = {
    "mirror.name": "mirror",
    "mirror.source.bootstrap.servers": "",
    "mirror.target.bootstrap.servers": "",
    "mirror.topics.whitelist": ".*",
    "mirror.topics.blacklist": "",
    "mirror.topics.prefix": "",
    "mirror.consumer.numthreads": "1",
    "mirror.groups": ".*",
    "mirror.on.gap": "stop",
    "mirror.partitioner": AUTO,
    "mirror.start": "earliest",
    "mirror.isolation.level": "read_committed",
    "mirror.replication.factor": "-1",
    "mirror.configs": ",".join(SYNCED_CONFIGS),
    "mirror.state.dir": ".",
    "mirror.refresh.interval.ms": "30000",
    "mirror.checkpoint.interval.ms": "5000",
    "mirror.groups.interval.ms": "10000",
    "mirror.lease.ms": "30000",
}
ALIASES = {
    "whitelist": "mirror.topics.whitelist",
    "blacklist": "mirror.topics.blacklist",
    "num.streams": "mirror.consumer.numthreads",
}
FILES = {
    "consumer.config": "mirror.source.bootstrap.servers",
    "producer.config": "mirror.target.bootstrap.servers",
}
# of the files of MirrorMaker 1, without a meaning here: positions are in the target, and all is acknowledged by all replicas
IGNORED_IN_FILES = ("group.id", "zookeeper.connect", "zk.connect", "client.id", "acks", "request.required.acks")
CHOICES = {
    "mirror.on.gap": ("stop", "skip"),
    "mirror.partitioner": (AUTO, KEEP, KEY),
    "mirror.start": ("earliest", "latest"),
    "mirror.isolation.level": ("read_committed", "read_uncommitted"),
}
SEPARATOR = "|"  # between sources
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """Validated settings.

    sources       bootstrap servers of each source
    partitioner   AUTO, KEEP or KEY, for topics that were not copied yet
    lease_ms      how long a process may write after it last asserted its claim
    """

    name: str
    sources: tuple[str, ...]
    target: str
    whitelist: re.Pattern[str]
    blacklist: re.Pattern[str] | None
    prefix: str
    workers: int
    groups: re.Pattern[str]
    skips_gaps: bool
    partitioner: str
    starts_at_end: bool
    is_read_committed: bool
    replication_factor: int
    configs: tuple[str, ...]
    state_dir: Path
    refresh_ms: int
    checkpoint_ms: int
    groups_ms: int
    lease_ms: int

    def is_wanted(self, topic: str) -> bool:
        """Whether a topic is copied; internal ones never are, nor journals."""
        if topic.startswith("__") or self.whitelist.fullmatch(topic) is None:
            return False
        return self.blacklist is None or self.blacklist.fullmatch(topic) is None

    def target_topic(self, topic: str) -> str:
        return self.prefix + topic


def read_settings(path: Path | None, given: Mapping[str, str]) -> MirrorSettings:
    """Settings of a file, under those that were given otherwise. raises   ConfigError"""
    values: dict[str, str] = {}
    if path is not None:
        try:
            values = read_properties_file(path)
        except (OSError, ValueError) as failure:
            raise ConfigError("--config", str(path), str(failure)) from None
    return make_settings({**values, **given})


def make_settings(given: Mapping[str, str]) -> MirrorSettings:
    """raises   ConfigError, which names key, value and reason"""
    values = dict(DEFAULTS)
    for key, value in given.items():
        name = ALIASES.get(key, key)
        if key in FILES:
            values[FILES[key]] = SEPARATOR.join(_servers_of(key, one.strip()) for one in value.split(","))
        elif name in DEFAULTS:
            values[name] = value.strip()
        else:
            raise ConfigError(key, value, f"unknown key; {_nearest(key)}")
    return _validated(values)


def _servers_of(key: str, path: str) -> str:
    """bootstrap.servers of a client's file; its other keys have no meaning here."""
    try:
        found = read_properties_file(Path(path))
    except (OSError, ValueError) as failure:
        raise ConfigError(key, path, str(failure)) from None
    servers = found.pop("bootstrap.servers", "")
    if not servers:
        raise ConfigError(key, path, "the file has no bootstrap.servers (sources can't be found through ZooKeeper)")
    protocol = found.pop("security.protocol", "PLAINTEXT")
    if protocol.upper() != "PLAINTEXT":
        raise ConfigError("security.protocol", protocol, f"only PLAINTEXT is supported so far ({path})")
    for name, value in found.items():
        if name not in IGNORED_IN_FILES:
            raise ConfigError(
                name, value, f"unknown key in {path}; {_nearest(name, [*IGNORED_IN_FILES, 'bootstrap.servers'])}"
            )
    return servers


def _nearest(key: str, known: list[str] | None = None) -> str:
    names = known or [*DEFAULTS, *ALIASES, *FILES]
    found = difflib.get_close_matches(key, names, 1, 0.0)
    return f"the nearest one is {found[0]}"


def _validated(values: dict[str, str]) -> MirrorSettings:
    for key, words in CHOICES.items():
        if values[key] not in words:
            raise ConfigError(key, values[key], f"must be one of {', '.join(words)}")
    if _NAME.fullmatch(values["mirror.name"]) is None:
        raise ConfigError("mirror.name", values["mirror.name"], "must be 1 to 100 letters, digits, '.', '_' and '-'")
    sources = tuple(one.strip() for one in values["mirror.source.bootstrap.servers"].split(SEPARATOR) if one.strip())
    if not 1 <= len(sources) <= MIRROR_SOURCES_MAX:
        raise ConfigError("mirror.source.bootstrap.servers", values["mirror.source.bootstrap.servers"],
                          f"must name 1 to {MIRROR_SOURCES_MAX} sources, separated by {SEPARATOR}")  # fmt: skip
    if not values["mirror.target.bootstrap.servers"]:
        raise ConfigError("mirror.target.bootstrap.servers", None, "is required")
    blacklist = values["mirror.topics.blacklist"]
    return MirrorSettings(
        name=values["mirror.name"],
        sources=sources,
        target=values["mirror.target.bootstrap.servers"],
        whitelist=_pattern("mirror.topics.whitelist", values),
        blacklist=_pattern("mirror.topics.blacklist", values) if blacklist else None,
        prefix=values["mirror.topics.prefix"],
        workers=_number("mirror.consumer.numthreads", values, 1, MIRROR_WORKERS_MAX),
        groups=_pattern("mirror.groups", values),
        skips_gaps=values["mirror.on.gap"] == "skip",
        partitioner=values["mirror.partitioner"],
        starts_at_end=values["mirror.start"] == "latest",
        is_read_committed=values["mirror.isolation.level"] == "read_committed",
        replication_factor=_number("mirror.replication.factor", values, -1, (1 << 15) - 1),
        configs=tuple(one.strip() for one in values["mirror.configs"].split(",") if one.strip()),
        state_dir=Path(values["mirror.state.dir"]),
        refresh_ms=_number("mirror.refresh.interval.ms", values, 100, MIRROR_INTERVAL_MS_MAX),
        checkpoint_ms=_number("mirror.checkpoint.interval.ms", values, 50, MIRROR_INTERVAL_MS_MAX),
        groups_ms=_number("mirror.groups.interval.ms", values, 100, MIRROR_INTERVAL_MS_MAX),
        lease_ms=_number("mirror.lease.ms", values, 100, MIRROR_INTERVAL_MS_MAX),
    )


def _pattern(key: str, values: dict[str, str]) -> re.Pattern[str]:
    """A regular expression; a comma between alternatives, as in Kafka's TopicFilter."""
    text = "|".join(part.strip() for part in values[key].split(",") if part.strip())
    try:
        return re.compile(text)
    except re.error as failure:
        raise ConfigError(key, values[key], f"is not a regular expression: {failure}") from None


def _number(key: str, values: dict[str, str], low: int, high: int) -> int:
    try:
        number = int(values[key])
    except ValueError:
        raise ConfigError(key, values[key], "must be a whole number") from None
    if not low <= number <= high:
        raise ConfigError(key, values[key], f"must be from {low} to {high}")
    return number
