"""What a mirror by key has to leave: each record once, in the partition of its key, in order by key; no group skips a record.

It holds all records in memory: a copy by key has no order in which two streams could be read beside each other.

Used by: the mirror's campaign, where the target has another number of partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from headrace.client.records import RawRecord
from headrace.ids import TopicPartition
from headrace.mirror.partitioner import target_partition
from tests.support.mirror_process import contents

WRONG_SHOWN = 20

Records = dict[int, list[RawRecord]]
Offsets = Mapping[TopicPartition, int]


def judge_by_key(
    topic: str, there: Records, here: Records, moved: Offsets, carried: Offsets, done: Offsets
) -> list[str]:
    """What is wrong.

    there, here            partition -> records, of the source and of the target
    moved, carried, done   offsets of a group at the source; of the same, and of one that has read all, at the target
    """
    wrong = []
    count = len(here)
    place = {one.value: (index, one) for index, rows in there.items() for one in rows}
    found = Counter(one.value for rows in here.values() for one in rows)
    doubled = sum(1 for number in found.values() if number > 1)
    lost = len(place.keys() - found.keys())
    if doubled or lost or len(found) != len(place):
        return [f"{len(place)} records at the source, {len(found)} at the target, {lost} lost, {doubled} doubled"]
    for index, rows in here.items():
        order: dict[int, int] = {}
        for one in rows:
            partition, old = place[one.value]
            if contents([old]) != contents([one]):
                wrong.append(
                    f"offset {one.offset} of partition {index} differs from offset {old.offset} of {partition}"
                )
            if target_partition(old.key, partition, old.offset, count) != index:
                wrong.append(f"offset {old.offset} of partition {partition} went to {index}")
            if old.offset < order.get(partition, 0):
                wrong.append(f"offset {old.offset} of partition {partition} changed places in {index}")
            order[partition] = old.offset
            is_read = old.offset < moved.get(TopicPartition(topic, partition), 0)
            if not is_read and one.offset < carried.get(TopicPartition(topic, index), 0):
                wrong.append(f"the group would skip offset {old.offset} of partition {partition}")
        end = rows[-1].offset + 1 if rows else 0
        if done.get(TopicPartition(topic, index), 0) != end:
            wrong.append(f"the group that has read all is at {done} of the target, partition {index} ends at {end}")
    return wrong[:WRONG_SHOWN]
