"""The logs of all replicas of a partition, batch by batch from their files, and whether they are one log. Judged pure.

Each replica compacts by itself, and deletes segments below its log start by itself: of compacted ones the last value of each key has to be
the same, of others what all have.

Used by: the cluster campaign, when nothing is written any more. A follower stores the batches that its leader has, byte by byte:
so replicas agree where their batches do, by offsets, leader epoch and checksum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from headrace.errors import HeadraceError
from headrace.protocol.record_batch import iterate_batches, iterate_records
from tests.chaos.judge import Anomaly


class Stored(NamedTuple):
    """A batch as it lies in a replica's file."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int


def read_replica(log_dirs: Iterable[Path], topic: str, partition: int) -> list[Stored]:
    """Everything of one replica. raises CorruptRecord; FileNotFoundError, where there is none"""
    folders = [path for log_dir in log_dirs if (path := log_dir / f"{topic}-{partition}").is_dir()]
    if not folders:
        raise FileNotFoundError(f"{topic}-{partition}")
    return [
        Stored(header.base_offset, header.last_offset, header.partition_leader_epoch, header.crc)
        for path in sorted(folders[0].glob("*.log"))
        for _position, header, _batch in iterate_batches(path.read_bytes())
    ]


def read_replicas(replicas: Mapping[int, Sequence[Path]], topic: str, partition: int) -> dict[int, list[Stored] | str]:
    """By broker: its log, or why it can't be read."""
    found: dict[int, list[Stored] | str] = {}
    for broker, log_dirs in replicas.items():
        try:
            found[broker] = read_replica(log_dirs, topic, partition)
        except (HeadraceError, OSError) as failure:
            found[broker] = f"{type(failure).__name__}: {failure}"
    return found


def from_common_start(replicas: Mapping[int, list[Stored] | str]) -> dict[int, list[Stored] | str]:
    """Each log from the first offset on that all of them have."""
    start = max((one[0].base_offset for one in replicas.values() if one and not isinstance(one, str)), default=0)
    return {
        broker: log if isinstance(log, str) else [one for one in log if one.base_offset >= start]
        for broker, log in replicas.items()
    }


Keys = dict[bytes, tuple[int, bytes | None]]


def read_keys(log_dirs: Iterable[Path], topic: str, partition: int) -> Keys:
    """By key the offset and the value of its last record; None: deleted. raises CorruptRecord; FileNotFoundError"""
    folders = [path for log_dir in log_dirs if (path := log_dir / f"{topic}-{partition}").is_dir()]
    if not folders:
        raise FileNotFoundError(f"{topic}-{partition}")
    return {
        one.key: (one.offset, one.value)
        for path in sorted(folders[0].glob("*.log"))
        for _position, _header, batch in iterate_batches(path.read_bytes())
        for one in iterate_records(batch)
        if one.key is not None
    }


def judge_keys_of(name: str, replicas: Mapping[int, Keys | str]) -> list[Anomaly]:
    """Where replicas of a compacted partition have another last value of a key; a deleted key may be there or not."""
    found = [
        Anomaly("replica-unreadable", f"{name} at {broker}: {keys}")
        for broker, keys in replicas.items()
        if isinstance(keys, str)
    ]
    held = {broker: keys for broker, keys in replicas.items() if not isinstance(keys, str)}
    for key in sorted({key for keys in held.values() for key in keys}):
        last = {broker: keys.get(key) for broker, keys in held.items()}
        told = {one for one in last.values() if one is not None}
        is_deleted = len(told) == 1 and next(iter(told))[1] is None
        if len(told) > 1 or (None in last.values() and not is_deleted):
            found.append(Anomaly("replicas-differ", f"{name}: {key!r} is {last}"[:600]))
    return found


def ends(replicas: Mapping[int, list[Stored] | str]) -> set[int]:
    """Their log ends; -1 for one that can't be read."""
    return {-1 if isinstance(one, str) else one[-1].last_offset + 1 if one else 0 for one in replicas.values()}


def judge_replicas(name: str, replicas: Mapping[int, list[Stored] | str]) -> list[Anomaly]:
    """Where replicas of a partition are not one log.

    replica-unreadable   files that hold no log
    replica-order        offsets with a gap or going back, leader epochs going back
    replicas-differ      another batch at the same offset, or one log shorter than another
    """
    found: list[Anomaly] = []
    whole: dict[int, list[Stored]] = {}
    for broker, log in replicas.items():
        if isinstance(log, str):
            found.append(Anomaly("replica-unreadable", f"{name} at {broker}: {log}"))
        else:
            whole[broker] = log
            found += _judge_order(f"{name} at {broker}", log)
    if not whole:
        return found
    first = max(whole, key=lambda broker: len(whole[broker]))
    for broker, log in whole.items():
        if broker == first or log == whole[first]:
            continue
        known = whole[first]
        at = next((index for index, pair in enumerate(zip(known, log, strict=False)) if pair[0] != pair[1]), len(log))
        here = log[at] if at < len(log) else "nothing"
        found.append(Anomaly("replicas-differ", f"{name}: {known[at]} at {first}, {here} at {broker}"))
    return found


def _judge_order(name: str, log: Sequence[Stored]) -> Iterator[Anomaly]:
    for one, other in pairwise(log):
        if other.base_offset != one.last_offset + 1:
            yield Anomaly("replica-order", f"{name}: {other} after {one}")
        elif other.leader_epoch < one.leader_epoch:
            yield Anomaly(
                "replica-order", f"{name}: leader epoch {other.leader_epoch} after {one.leader_epoch}, {other}"
            )
