"""Log directories that a node does not find again as it left them: emptied, an older copy of themselves, empty for a while.

Used by: the cluster campaign. Root needs no mounts for it: a directory that nobody has open is moved aside, and another takes its name.

    disk-swapped    one directory (or all) of a killed node is emptied or older, while others that are in sync live: nothing may be lost
    disk-away       the cluster is stopped in order; the node that stopped last finds empty directories, later its own ones
    disk-session    all machines lose power; on one the file that says so is gone, alone or with all of its directory
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from headrace.controller.zookeeper.session_file import SESSION_FILE
from tests.chaos.cluster_faults import lose_pages_of
from tests.chaos.cluster_nodes import LOG_DIRS
from tests.chaos.cluster_stage import ClusterFault, ClusterStage
from tests.chaos.node_lives import (
    ELECTED_S,
    LONG_SESSION,
    READY_S,
    all_back,
    ask_down,
    down,
    isr_of,
    leads,
    pick_three,
    up,
)

COPY, ASIDE = ".copy", ".aside"
LATE_MAX_S = 10.0  # of a node that starts after others


class SwappedDisk(ClusterFault):
    """A node is killed, and what one of its disks has is gone, or older, when it is back in its session; a leader goes meanwhile."""

    name, weight, loses_pages, is_apart, settings = "disk-swapped", 1.0, True, True, LONG_SESSION

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if stage.has_lost_power or (chosen := pick_three(stage, chance)) is None:
            return False
        partition, leader, *others = chosen
        node = chance.choice(others)
        stage.has_lost_power = True
        is_older = chance.random() < 0.4
        indexes = range(len(LOG_DIRS)) if chance.random() < 0.3 else [chance.randrange(len(LOG_DIRS))]
        with all_back(stage, [node, leader]):
            if is_older:
                for index in indexes:
                    copy_of(node.log_dirs[index])
                stage.sleep(chance.uniform(1, 4))
            down(stage, node)
            for index in indexes:
                to_copy(node.log_dirs[index]) if is_older else empty(node.log_dirs[index])
            leader_goes = chance.choice(["before", "before", "after", "not"])
            if leader_goes == "before":
                down(stage, leader)
            up(stage, node)
            if leader_goes == "after":
                stage.until(lambda: node.wait_ready(0.05) == "ready", chance.uniform(0.5, READY_S))
                down(stage, leader)
            if leader_goes != "not":
                stage.until(lambda: leads(stage, partition) not in (leader.number, None), ELECTED_S)
                stage.sleep(chance.uniform(0, 5))
        stage.visit(self.name, f"{'older' if is_older else 'emptied'}, leader killed: {leader_goes}")
        return True


class DiskAway(ClusterFault):
    """All stop in order, and who stopped last does not find its disk: it was not mounted. Later it is."""

    name, weight, loses_pages, is_apart, may_lose, settings = "disk-away", 1.0, True, True, True, LONG_SESSION

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if stage.has_lost_power or (chosen := pick_three(stage, chance)) is None:
            return False
        partition, last = chosen[:2]
        stage.has_lost_power = True
        others = chance.sample([node for node in stage.nodes if node is not last], len(stage.nodes) - 1)
        indexes = range(len(LOG_DIRS)) if chance.random() < 0.6 else [chance.randrange(len(LOG_DIRS))]
        with all_back(stage, stage.nodes):
            for node in others:
                ask_down(stage, node)
            stage.until(lambda: isr_of(stage, partition) == (last.number,), ELECTED_S)
            ask_down(stage, last)
            for index in indexes:
                put_aside(last.log_dirs[index])
            up(stage, last)
            for node in others:
                stage.sleep(chance.uniform(0, LATE_MAX_S))
                up(stage, node)
            stage.until(lambda: all(node.wait_ready(0.02) == "ready" for node in stage.nodes), READY_S)
            stage.sleep(chance.uniform(1, LATE_MAX_S))
            if chance.random() < 0.5:
                down(stage, last)
            else:
                ask_down(stage, last)
            for index in indexes:
                to_aside(last.log_dirs[index])
        stage.visit(self.name, "all directories" if len(indexes) > 1 else "one directory")
        return True


class DiskWithSession(ClusterFault):
    """All machines lose power, and one does not know: its file with the id of the boot is gone."""

    name, weight, loses_pages, is_apart, may_lose = "disk-session", 1.0, True, True, True

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if stage.has_lost_power or (chosen := pick_three(stage, chance)) is None:
            return False
        partition, node = chosen[:2]
        stage.has_lost_power = True
        others = chance.sample([one for one in stage.nodes if one is not node], len(stage.nodes) - 1)
        with all_back(stage, stage.nodes):
            stage.sleep(chance.uniform(1, 4))
            for one in stage.nodes:
                down(stage, one)
            for one in stage.nodes:
                lose_pages_of(stage, one, chance)
            is_file = chance.random() < 0.5
            for log_dir in node.log_dirs:
                if (log_dir / SESSION_FILE).exists():
                    (log_dir / SESSION_FILE).unlink() if is_file else empty(log_dir)
            up(stage, node)
            for one in others:
                stage.sleep(chance.uniform(0, LATE_MAX_S))
                up(stage, one)
            stage.until(lambda: leads(stage, partition) is not None, ELECTED_S)
        stage.visit(self.name, "the file" if is_file else "its directory")
        return True


def empty(log_dir: Path) -> None:
    """Of a node that does not run."""
    shutil.rmtree(log_dir)
    log_dir.mkdir()


def copy_of(log_dir: Path) -> None:
    """As it is at this moment; what is being written meanwhile is cut somewhere, as a snapshot of a volume has it."""
    shutil.rmtree(_beside(log_dir, COPY), ignore_errors=True)
    shutil.copytree(log_dir, _beside(log_dir, COPY), ignore_dangling_symlinks=True, copy_function=_copy_file)


def _copy_file(source: str, target: str) -> None:
    try:
        shutil.copy2(source, target)
    except FileNotFoundError:
        pass  # it was replaced by another one just now


def to_copy(log_dir: Path) -> None:
    """Of a node that does not run: back to the copy."""
    shutil.rmtree(log_dir)
    _beside(log_dir, COPY).rename(log_dir)


def put_aside(log_dir: Path) -> None:
    """Of a node that does not run: an empty one is in its place."""
    log_dir.rename(_beside(log_dir, ASIDE))
    log_dir.mkdir()


def to_aside(log_dir: Path) -> None:
    """Of a node that does not run: the right one is back, and what was written in its place is gone."""
    shutil.rmtree(log_dir)
    _beside(log_dir, ASIDE).rename(log_dir)


def _beside(log_dir: Path, suffix: str) -> Path:
    return log_dir.with_name(log_dir.name + suffix)


SWAP_FAULTS: list[ClusterFault] = [SwappedDisk(), DiskAway(), DiskWithSession()]
