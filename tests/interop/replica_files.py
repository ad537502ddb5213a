"""Whether replicas are equal: the batches in the segment files of each, by offsets, leader epoch and checksum, each checksum counted again.

Read beside the brokers that write them; a batch that is not whole yet ends the reading.
"""

import struct
from typing import NamedTuple

import crc32c

HEADER = struct.Struct(
    ">qiibIhi"
)  # base offset, length, leader epoch, magic, checksum, attributes, last offset's delta
LENGTH_BYTES = 12  # base offset and length
CHECKED_FROM = 21


class Batch(NamedTuple):
    base_offset: int
    last_offset: int
    leader_epoch: int
    checksum: int


def batches(directory):
    """Batches of one replica in their order. raises AssertionError, where a checksum is wrong"""
    found = []
    for path in sorted(directory.glob("*.log")):
        data = memoryview(path.read_bytes())
        position = 0
        while position + HEADER.size <= len(data):
            base, length, epoch, magic, checksum, _attributes, delta = HEADER.unpack_from(data, position)
            end = position + LENGTH_BYTES + length
            if not length or end > len(data):  # preallocated, or being written
                break
            assert magic == 2, f"{path} at {position}: magic {magic}"
            assert crc32c.crc32c(data[position + CHECKED_FROM : end]) == checksum, f"{path} at {position}: checksum"
            found.append(Batch(base, base + delta, epoch, checksum))
            position = end
    return found


def differences(log_dirs, topic, index, replicas):
    """What differs between the replicas of a partition, from the latest log start to the ends; empty where nothing does.

    log_dirs   by broker id
    """
    by_broker = {}
    for broker_id in replicas:
        directory = log_dirs[broker_id] / f"{topic}-{index}"
        if not directory.is_dir():
            return [f"{topic}-{index}: broker {broker_id} has no directory"]
        by_broker[broker_id] = batches(directory)
    start = max((found[0].base_offset for found in by_broker.values() if found), default=0)
    kept = {broker_id: [one for one in found if one.base_offset >= start] for broker_id, found in by_broker.items()}
    first_id, first = next(iter(kept.items()))
    said = []
    for broker_id, found in kept.items():
        if found == first:
            continue
        ours, theirs = next(((a, b) for a, b in zip(first, found, strict=False) if a != b), (len(first), len(found)))
        said.append(f"{topic}-{index}: broker {first_id} has {ours}, broker {broker_id} {theirs}")
    return said
