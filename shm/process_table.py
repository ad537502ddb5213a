"""Who runs: one row a process, one word of epoch for all.

The supervisor writes generation, pid, starts and exit code of each row, the epoch, the clean-stop word and the
steady date (`steady_date.py`);
each process writes its own parked word, heartbeat, state and counters. The epoch moves whenever any
generation does, so that a process learns of a peer's death by one load a cycle.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from headrace.memory import load_word, store_word
from headrace.shm.counters import Counters
from headrace.shm.layout import (
    PROCESS_AWAY_SINCE,
    PROCESS_CLEAN_STOP,
    PROCESS_COUNTERS,
    PROCESS_EPOCH,
    PROCESS_EXIT_CODE,
    PROCESS_FOLLOWED,
    PROCESS_GENERATION,
    PROCESS_HEARTBEAT,
    PROCESS_LEAVE,
    PROCESS_LEAVING,
    PROCESS_OFFLINE_DIRS,
    PROCESS_PARKED,
    PROCESS_PID,
    PROCESS_RELEASED,
    PROCESS_ROW_WORDS,
    PROCESS_ROWS,
    PROCESS_STARTS,
    PROCESS_STATE,
    WORD,
)
from headrace.shm.region import Region

EXIT_CODE_NONE: Final = 0xFFFF  # has not exited
HOLDS_NOTHING: Final = (1 << 64) - 1  # of a process that does not run


class ProcessState(IntEnum):
    """What a process says of itself."""

    NONE = 0
    STARTING = 1
    READY = 2
    DRAINING = 3
    STOPPED = 4


class Leave(IntEnum):
    """What the controller process says of a stop of the node.

    NOTHING   no other broker is alive, or it is not wanted: the stop may begin at once
    WANTED    leaders are to move to other brokers first
    DONE      they did, or that was given up
    """

    NOTHING = 0
    WANTED = 1
    DONE = 2


class ProcessTable:
    """The table, for any process that mapped it."""

    __slots__ = ("_region", "words")

    def __init__(self, region: Region) -> None:
        self._region = region
        self.words = region.words

    def row(self, process_id: int) -> int:
        """Index of the first word of a process's row."""
        return PROCESS_ROWS // WORD + process_id * PROCESS_ROW_WORDS

    def epoch(self) -> int:
        return load_word(self.words, PROCESS_EPOCH // WORD)

    def generation(self, process_id: int) -> int:
        return load_word(self.words, self.row(process_id) + PROCESS_GENERATION)

    def pid(self, process_id: int) -> int:
        return load_word(self.words, self.row(process_id) + PROCESS_PID)

    def starts(self, process_id: int) -> int:
        return load_word(self.words, self.row(process_id) + PROCESS_STARTS)

    def exit_code(self, process_id: int) -> int | None:
        """Of the last exit; None while it has not exited. A death by signal n is 128 + n."""
        code = load_word(self.words, self.row(process_id) + PROCESS_EXIT_CODE)
        return None if code == EXIT_CODE_NONE else code

    def heartbeat_ns(self, process_id: int) -> int:
        """When the process last turned (CLOCK_MONOTONIC); 0 before the first time.

        Later than now while it waits for a disk: no other sign is due before that.
        """
        return load_word(self.words, self.row(process_id) + PROCESS_HEARTBEAT)

    def state(self, process_id: int) -> ProcessState:
        return ProcessState(load_word(self.words, self.row(process_id) + PROCESS_STATE))

    def offline_dirs(self, process_id: int) -> int:
        """Log directories that failed a process, or one before it in its place: bit n for the n-th."""
        return load_word(self.words, self.row(process_id) + PROCESS_OFFLINE_DIRS)

    def released(self, process_id: int) -> int:
        """The epoch up to which a process has released every ring that was void then."""
        return load_word(self.words, self.row(process_id) + PROCESS_RELEASED)

    def followed(self, process_id: int) -> int:
        """Version of the cluster view that a partition worker has acted on to the end; 0 after a restart, before the first."""
        return load_word(self.words, self.row(process_id) + PROCESS_FOLLOWED)

    def away_since_ms(self, process_id: int) -> int:
        """Since when (of the date) the controller process is without ZooKeeper; 0: it is not."""
        return load_word(self.words, self.row(process_id) + PROCESS_AWAY_SINCE)

    def parked_index(self, process_id: int) -> int:
        return self.row(process_id) + PROCESS_PARKED

    def counters(self, process_id: int) -> Counters:
        return Counters(self.words, self.row(process_id) + PROCESS_COUNTERS)

    def is_clean_stop(self) -> bool:
        """Whether every partition worker ended with 0 in the current stop."""
        return bool(load_word(self.words, PROCESS_CLEAN_STOP // WORD))

    def leave(self, process_id: int) -> Leave:
        """Of the controller process: whether a stop has to wait for it."""
        return Leave(load_word(self.words, self.row(process_id) + PROCESS_LEAVE))

    def is_leaving(self) -> bool:
        """Whether the node is about to stop: leaders are moved away now."""
        return bool(load_word(self.words, PROCESS_LEAVING // WORD))

    # The supervisor's stores

    def raise_generation(self, process_id: int) -> int:
        """Void a process's generation; its row starts afresh. The epoch moves last."""
        row = self.row(process_id)
        generation = load_word(self.words, row + PROCESS_GENERATION) + 1
        store_word(self.words, row + PROCESS_HEARTBEAT, 0)
        store_word(self.words, row + PROCESS_STATE, ProcessState.NONE)
        store_word(self.words, row + PROCESS_PARKED, 0)
        store_word(self.words, row + PROCESS_RELEASED, HOLDS_NOTHING)
        store_word(self.words, row + PROCESS_FOLLOWED, 0)
        store_word(self.words, row + PROCESS_LEAVE, Leave.NOTHING)
        store_word(self.words, row + PROCESS_GENERATION, generation)
        store_word(self.words, PROCESS_EPOCH // WORD, self.epoch() + 1)
        return generation

    def set_started(self, process_id: int, pid: int) -> None:
        row = self.row(process_id)
        store_word(self.words, row + PROCESS_PID, pid)
        store_word(self.words, row + PROCESS_STARTS, load_word(self.words, row + PROCESS_STARTS) + 1)
        store_word(self.words, row + PROCESS_EXIT_CODE, EXIT_CODE_NONE)

    def set_exited(self, process_id: int, exit_code: int) -> None:
        store_word(self.words, self.row(process_id) + PROCESS_EXIT_CODE, exit_code)

    def set_clean_stop(self, is_clean: bool) -> None:
        store_word(self.words, PROCESS_CLEAN_STOP // WORD, int(is_clean))

    def set_leaving(self) -> None:
        store_word(self.words, PROCESS_LEAVING // WORD, 1)

    # A process's own stores

    def set_heartbeat(self, process_id: int, now_ns: int) -> None:
        store_word(self.words, self.row(process_id) + PROCESS_HEARTBEAT, now_ns)

    def set_state(self, process_id: int, state: ProcessState) -> None:
        store_word(self.words, self.row(process_id) + PROCESS_STATE, state)

    def set_released(self, process_id: int, epoch: int) -> None:
        store_word(self.words, self.row(process_id) + PROCESS_RELEASED, epoch)

    def add_offline_dirs(self, process_id: int, mask: int) -> None:
        index = self.row(process_id) + PROCESS_OFFLINE_DIRS
        store_word(self.words, index, load_word(self.words, index) | mask)

    def set_followed(self, process_id: int, view_version: int) -> None:
        store_word(self.words, self.row(process_id) + PROCESS_FOLLOWED, view_version)

    def set_leave(self, process_id: int, leave: Leave) -> None:
        store_word(self.words, self.row(process_id) + PROCESS_LEAVE, leave)

    def set_away_since(self, process_id: int, date_ms: int) -> None:
        store_word(self.words, self.row(process_id) + PROCESS_AWAY_SINCE, date_ms)

    def close(self) -> None:
        self._region.close()
