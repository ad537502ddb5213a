"""A machine crash: all is killed, and a page of what was not synced is zeroes. Acknowledged records may go; nothing else may.

Used by: the campaign, at the end of some rounds, after the judgement. The next start has to cut the log at the damage: what is
left of each partition is what was there, without a gap, up to some offset above the recovery point; and nothing crashes.
"""

from __future__ import annotations

import random
from pathlib import Path

from headrace.log.state.checkpoints import RECOVERY_POINT_FILE, read_offset_checkpoint
from headrace.protocol.record_batch import iterate_batches
from tests.chaos.final_look import read_all, verify_logs
from tests.chaos.judge import Anomaly
from tests.chaos.raw_client import raw_client, until
from tests.chaos.running_node import Node

PAGE_BYTES = 4096
READ_S = 120.0


def crash_machine(
    node: Node, topic: str, partitions: int, chance: random.Random, tries: int
) -> tuple[list[Anomaly], int]:
    """Crash, start, compare, stop; anomalies and the number of pages that were lost.

    tries   starts that are killed in their first moments before the one that has to work
    """
    before = _contents(node, topic, partitions)
    node.kill_tree()
    cuts = {partition: _lose_page(node, topic, partition, chance) for partition in range(partitions)}
    for _try in range(tries):
        node.launch()
        node.wait_ready(chance.uniform(0.1, 0.8))
        node.kill_tree()
    node.start()
    after = _contents(node, topic, partitions)
    anomalies = []
    for partition, (point, cut) in cuts.items():
        was, now = before[partition], after[partition]
        where = f"{topic}-{partition}"
        if now != was[: len(now)]:
            anomalies.append(Anomaly("machine-crash", f"{where}: what is left is no prefix of what was there"))
        elif len(now) < len([one for one in was if one[0] < point]):
            anomalies.append(Anomaly("machine-crash", f"{where}: ends at {now[-1:]}, it was synced up to {point}"))
        elif not cut and now != was:
            anomalies.append(Anomaly("machine-crash", f"{where}: {len(was) - len(now)} records lost without damage"))
    code = node.stop()
    if code:
        anomalies.append(Anomaly("machine-crash", f"the stop afterwards ended with {code}"))
    return anomalies + verify_logs(node), sum(cut for _point, cut in cuts.values())


def _contents(node: Node, topic: str, partitions: int) -> list[list[tuple[int, bytes | None]]]:
    with raw_client(lambda: node.port) as raw:
        return [
            [(one.offset, one.value) for one in until(lambda p=partition: read_all(raw, topic, p), READ_S)]  # type: ignore[misc]
            for partition in range(partitions)
        ]


def _lose_page(node: Node, topic: str, partition: int, chance: random.Random) -> tuple[int, bool]:
    """(recovery point, whether a page behind it was zeroed)."""
    for log_dir in node.log_dirs:
        directory = log_dir / f"{topic}-{partition}"
        if not directory.is_dir():
            continue
        points = read_offset_checkpoint(log_dir / RECOVERY_POINT_FILE)
        point = next((o for name, o in points.items() if (name.topic, name.partition) == (topic, partition)), 0)
        path = max(directory.glob("*.log"))
        first = position_of(path, point)
        end = path.stat().st_size
        pages = range(-(-first // PAGE_BYTES), end // PAGE_BYTES)
        if not pages:
            return point, False
        with open(path, "r+b") as file:
            file.seek(chance.choice(pages) * PAGE_BYTES)
            file.write(bytes(PAGE_BYTES))
        return point, True
    return 0, False


def position_of(path: Path, offset: int) -> int:
    """Where the first batch that ends at or above an offset begins."""
    for position, header, _batch in iterate_batches(path.read_bytes()):
        if header.last_offset >= offset:
            return position
    return path.stat().st_size
