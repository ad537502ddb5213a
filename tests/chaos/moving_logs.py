"""Replicas that move between the log directories of one node, and what may happen meanwhile, one turn after the other.

Used by: `move_campaign.py`. The disk of the node is slow where a turn needs time (`shim.py`); what a loss of power takes, the turn takes
itself, and writes into the ledger what may be missing: nothing else may.

    move-power-after     a move is through, more is written and synced, the machine loses power: names that nobody synced are as before
    move-power-amid      the machine loses power in mid-move, the log loses its end, the copy does not; other logs open slowly, and
                         records are written before all are open
    move-source-dies     the directory that a replica moves away from fails: what was copied has to stay
    move-deleted-amid    records are deleted at the beginning of a log in mid-move: no other partition may stall
"""

from __future__ import annotations

import os
import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headrace.ids import TopicPartition
from headrace.log.names import DELETED_DIRECTORY_SUFFIX, FUTURE_SUFFIX
from headrace.log.state.checkpoints import RECOVERY_POINT_FILE, read_offset_checkpoint
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import CorruptRecord, iterate_batches
from tests.chaos.history import Outcome
from tests.chaos.judge import Anomaly
from tests.chaos.ledger import Ledger
from tests.chaos.lossy_disk import forget_boot
from tests.chaos.machine_crash import PAGE_BYTES, position_of
from tests.chaos.raw_client import RawClient
from tests.chaos.running_node import Node
from tests.chaos.shim import Shim
from tests.chaos.stall_judge import StallProber, judge_stalls

MOVED, FLUSHED, TRIMMED, SMALL, PROBED = "moved", "flushed", "trimmed", "small", "probed"
PARTITIONS = 2
SMALLS = 24  # other logs, which open slowly
BATCH = 50  # records
LARGE, LARGE_BYTES = "~", 20_000  # what a large value ends with
WRITE_US, OPEN_US = 100_000, 60_000
MOVE_S = 60.0
FAILS_S = 30.0
KEPT_S = 8.0  # for so long the copy of a source that died is watched
AFTER_START_S = 20.0
HASTY_S = 2.0  # for an answer of a node that starts


@dataclass
class MoveStage:
    """One round's node, and what it owes."""

    node: Node
    shim: Shim
    raw: RawClient
    ledger: Ledger = field(default_factory=Ledger)
    anomalies: list[Anomaly] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    numbers: Counter[str] = field(default_factory=Counter)

    def write(self, place: TopicPartition, batches: int, is_large: bool = False) -> int:
        """So many batches, one after the other; how many were acknowledged."""
        done = 0
        for _batch in range(batches):
            done += self.write_one(place, BATCH, is_large)
        return done

    def write_one(self, place: TopicPartition, count: int = 1, is_large: bool = False) -> bool:
        first = self.numbers[place.topic]
        self.numbers[place.topic] += count
        pad = LARGE * (LARGE_BYTES if is_large else 0)
        values = [f"{place}-{first + index}{pad}" for index in range(count)]
        outcome, offset = self.raw.produce(place.topic, {place.partition: values})[place.partition]
        if outcome is Outcome.OK:
            self.ledger.acknowledge(place, offset, values)
        return outcome is Outcome.OK

    def directory_of(self, place: TopicPartition) -> Path:
        """Where its log is."""
        return next(path for log_dir in self.node.log_dirs if (path := log_dir / str(place)).is_dir())

    def other_dir(self, place: TopicPartition) -> Path:
        return next(one for one in self.node.log_dirs if one != self.directory_of(place).parent)

    def begin_move(self, place: TopicPartition, target: Path) -> bool:
        request = messages.AlterReplicaLogDirsRequest
        wanted = request.AlterReplicaLogDir(
            path=str(target), topics=[request.AlterReplicaLogDirTopic(place.topic, [place.partition])]
        )
        answer = self.raw.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, request(dirs=[wanted]))
        return not answer.results[0].partitions[0].error_code

    def wait(self, is_so: Callable[[], object], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True


def copy_in(target: Path, place: TopicPartition) -> Path | None:
    """The copy of a replica, where there is one on its way."""
    found = (p for p in target.iterdir() if p.name.startswith(f"{place}.") and p.name.endswith(FUTURE_SUFFIX))
    return next(found, None)


def bytes_in(directory: Path | None) -> int:
    if directory is None:
        return 0
    total = 0
    for path in directory.glob("*.log"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total


def end_of(directory: Path) -> int:
    """Behind the last whole batch of a log's files."""
    end = 0
    for path in sorted(directory.glob("*.log")):
        try:
            for _position, header, _batch in iterate_batches(path.read_bytes()):
                end = header.last_offset + 1
        except CorruptRecord:
            break
    return end


class Turn(ABC):
    """Something that happens to a move."""

    name: str
    topic = MOVED

    @abstractmethod
    def play(self, stage: MoveStage, place: TopicPartition, chance: random.Random) -> bool:
        """False where it could not happen."""


class PowerAfterMove(Turn):
    """What is synced before it is acknowledged, a loss of power takes nothing of."""

    name, topic = "move-power-after", FLUSHED

    def play(self, stage: MoveStage, place: TopicPartition, chance: random.Random) -> bool:
        stage.write(place, chance.randint(1, 4))
        target = stage.other_dir(place)
        if not stage.begin_move(place, target) or not stage.wait(lambda: _is_there(stage, place, target), MOVE_S):
            return False
        stage.write(place, chance.randint(1, 4))
        stage.node.kill_tree()
        back = stage.shim.undo_names(chance)
        stage.notes["directories that had their old names again"] += len(back)
        forget_boot(stage.node.log_dirs)
        stage.node.start()
        return True


class PowerAmidMove(Turn):
    """What was acknowledged after the start has to stay, whatever the copy has at its offset."""

    name = "move-power-amid"

    def play(self, stage: MoveStage, place: TopicPartition, chance: random.Random) -> bool:
        target, source = stage.other_dir(place), stage.directory_of(place)
        size = bytes_in(source)
        stage.shim.slow_down(write_us=WRITE_US, write_word=FUTURE_SUFFIX + "/")
        share = chance.uniform(0.3, 0.9)
        if not stage.begin_move(place, target):
            return False
        if not stage.wait(lambda: bytes_in(copy_in(target, place)) > share * size, MOVE_S):
            return False
        stage.node.kill_tree()
        copied = copy_in(target, place)
        if copied is None:
            stage.node.start()
            return False
        end = _lose_end(source, end_of(copied), chance)
        stage.notes["records that the disk lost"] += stage.ledger.cut(place, end)
        forget_boot(stage.node.log_dirs)
        stage.shim.slow_down(open_us=OPEN_US, open_word=f"/{SMALL}-")
        stage.node.launch()
        deadline = time.monotonic() + AFTER_START_S
        size = chance.choice([BATCH, BATCH, BATCH, 7])  # as the batches before, so that they end where those do, or not
        wanted = chance.randint(10, 50)  # batches, of which a few are taken between two logs
        usual, stage.raw = stage.raw, RawClient(lambda: stage.node.port, timeout_s=HASTY_S)
        while wanted and time.monotonic() < deadline:
            done = stage.write_one(place, size)
            wanted -= done
            if not done:
                time.sleep(0.01)
        stage.raw.close()
        stage.raw = usual
        stage.shim.slow_down()
        stage.node.wait_ready(MOVE_S)
        return stage.wait(lambda: _is_there(stage, place, target), MOVE_S)


class SourceDies(Turn):
    """The disk that a replica leaves since it is dying, dies."""

    name = "move-source-dies"

    def play(self, stage: MoveStage, place: TopicPartition, chance: random.Random) -> bool:
        target, source = stage.other_dir(place), stage.directory_of(place)
        size = bytes_in(source)
        before = _on_its_way_out(target, place)  # sources of earlier moves
        stage.shim.slow_down(write_us=WRITE_US, write_word=FUTURE_SUFFIX + "/")
        share = chance.uniform(0.2, 0.8)
        if not stage.begin_move(place, target):
            return False
        if not stage.wait(lambda: bytes_in(copy_in(target, place)) > share * size, MOVE_S):
            return False
        log_dir = source.parent
        away = log_dir.rename(log_dir.with_name(log_dir.name + ".away"))
        log_dir.touch()
        stage.write_one(place)  # it is noticed when something has to be written there
        deadline = time.monotonic() + FAILS_S
        while time.monotonic() < deadline and copy_in(target, place) is not None:
            time.sleep(0.05)
        stage.wait(lambda: set(_on_its_way_out(target, place)) - set(before), KEPT_S)
        if out := [one for one in _on_its_way_out(target, place) if one not in before]:
            text = f"{place}: the copy of what its failed directory had is on its way out: {out[0].name}"
            stage.anomalies.append(Anomaly("copy-deleted", text))
        stage.shim.slow_down()
        stage.node.kill_tree()
        log_dir.unlink()
        away.rename(log_dir)
        stage.node.start()
        return True


class DeletedAmidMove(Turn):
    """DeleteRecords of a part that was copied, while the rest is not."""

    name, topic = "move-deleted-amid", TRIMMED

    def play(self, stage: MoveStage, place: TopicPartition, chance: random.Random) -> bool:
        target, source = stage.other_dir(place), stage.directory_of(place)
        size, end = bytes_in(source), stage.ledger.end(place)
        prober = StallProber(lambda: stage.node.port, PROBED, PARTITIONS)
        try:
            stage.shim.slow_down(write_us=WRITE_US, write_word=FUTURE_SUFFIX + "/")
            if not stage.begin_move(place, target):
                return False
            share = chance.uniform(0.3, 0.5)
            if not stage.wait(lambda: bytes_in(copy_in(target, place)) > share * size, MOVE_S):
                return False
            since = time.monotonic()
            outcome, low = stage.raw.trim(place.topic, place.partition, int(end * share * chance.uniform(0.6, 1.0)))
            if outcome is Outcome.OK:
                stage.ledger.trim(place, low)
            is_through = stage.wait(lambda: _is_there(stage, place, target), MOVE_S)
        finally:
            prober.stop()
            stage.shim.slow_down()
        stage.anomalies += judge_stalls(f"{place} moved while records of it were deleted", prober.took, since)
        return is_through


def _is_there(stage: MoveStage, place: TopicPartition, target: Path) -> bool:
    """Whether a replica's log is in a directory, and nowhere else."""
    return [one for one in stage.node.log_dirs if (one / str(place)).is_dir()] == [target]


def _on_its_way_out(target: Path, place: TopicPartition) -> list[Path]:
    return [
        path
        for path in target.iterdir()
        if path.name.startswith(f"{place}.") and path.name.endswith(DELETED_DIRECTORY_SUFFIX)
    ]


def _lose_end(directory: Path, below: int, chance: random.Random) -> int:
    """Cut the last segment of a log at a page, above what was synced, and mostly before an offset; returns its end then."""
    points = read_offset_checkpoint(directory.parent / RECOVERY_POINT_FILE)
    point = next((offset for name, offset in points.items() if str(TopicPartition(*name)) == directory.name), 0)
    path = max(directory.glob("*.log"))
    first = -(-position_of(path, max(point, int(path.stem))) // PAGE_BYTES)
    last = position_of(path, below) // PAGE_BYTES if chance.random() < 0.8 else path.stat().st_size // PAGE_BYTES
    if first < last:
        os.truncate(path, chance.randrange(first, last) * PAGE_BYTES)
    return end_of(directory)


TURNS: list[Turn] = [PowerAfterMove(), PowerAmidMove(), SourceDies(), DeletedAmidMove()]
