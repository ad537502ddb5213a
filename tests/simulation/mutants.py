"""Mends taken out, by turns: each has to be noticed by a seed, and this says by which and how soon.

    python -m tests.simulation.mutants [--only NAME] [--seeds 40]

A mutant replaces one name of headrace while seeds run, until one of them fails.
"""

from tests.support import pure_form  # isort: skip  # noqa: F401 - before anything of headrace

import argparse
import sys
import time
from contextlib import contextmanager

from headrace.controller import process as controller_process
from headrace.controller.zookeeper import session_file
from headrace.log.state.producer_state import ProducerState
from headrace.log.writing.segment_list import SegmentList
from headrace.node.log_dirs import LogDirs
from headrace.shm.partition_table import RowState
from headrace.workers.partition.produce_purgatory import ProducePurgatory
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replication import followed
from headrace.workers.partition.replication.divergence import Cut
from headrace.workers.partition.replication.followers import Followers
from headrace.workers.watched_disk import WatchedDisk
from tests.simulation.campaign import run_seed


@contextmanager
def replaced(owner, name, value):
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def early_mark():
    """The high watermark does not wait for followers."""
    return replaced(Followers, "committed", lambda self, end_offset: end_offset)


def forgotten_change():
    """The mark does not wait for who joins an ISR by a change that was asked for."""

    def set_pending(self, wanted):
        self._pending = wanted
        self.is_unsure = self.is_unsure and bool(wanted)

    return replaced(Followers, "set_pending", set_pending)


def early_answer():
    """A produce is answered without its mark."""

    def park(self, replica, ticket, base_offset, append_time_ms, _required_offset, deadline_ms):
        park_before(self, replica, ticket, base_offset, append_time_ms, 0, deadline_ms)

    park_before = ProducePurgatory.park
    return replaced(ProducePurgatory, "park", park)


def deposed_answer():
    """Who leads no more says that what it had appended is stored."""

    def complete(self, replica):
        state, replica.state = replica.state, RowState.LEADER
        try:
            return complete_before(self, replica)
        finally:
            replica.state = state

    complete_before = ProducePurgatory.complete
    return replaced(ProducePurgatory, "complete", complete)


def no_sync():
    """What is synced before each answer is not."""
    return replaced(WatchedDisk, "fdatasync", lambda self, fd: None)


def no_directory_sync():
    """Names are not synced."""
    return replaced(WatchedDisk, "fsync", lambda self, fd: None)


def no_first_name():
    """The name of a log's oldest segment is not synced before there is another one."""
    return replaced(SegmentList, "_sync_names", lambda self: None)


def no_cut():
    """A follower keeps what its leader does not have."""
    return replaced(followed, "find_cut", lambda *words: Cut(words[3], True))


def cut_by_mark():
    """A follower is cut to its high watermark, as before KIP-101."""
    return replaced(followed, "find_cut", lambda *words: Cut(min(words[4], words[3]), True))


def no_new_life():
    """A node that was killed registers again before others know."""

    async def end_life_before(*_words):
        return []

    return replaced(controller_process, "end_life_before", end_life_before)


def no_suspicion():
    """After a loss of power the logs are taken for whole."""
    return replaced(session_file, "is_suspect", lambda *_words, **_options: False)


def always_clean():
    """Logs are never recovered."""

    def take_clean_markers(self):
        take_before(self)
        return frozenset(map(str, self.paths))

    take_before = LogDirs.take_clean_markers
    return replaced(LogDirs, "take_clean_markers", take_clean_markers)


def no_old_epochs():
    """A leader epoch of the past is taken for the present."""
    return replaced(Replica, "_is_past", lambda self, view: False)


def no_sequences():
    """What a producer repeats is stored again."""
    return replaced(ProducerState, "check", lambda self, *_words: (0, None))


MUTANTS = {
    one.__name__: one
    for one in (
        early_mark, forgotten_change, early_answer, deposed_answer, no_sync, no_directory_sync, no_first_name, no_cut,
         cut_by_mark, no_new_life,
        no_suspicion, always_clean, no_old_epochs, no_sequences,
    )
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=MUTANTS, nargs="+", default=list(MUTANTS), help="some of them")
    parser.add_argument("--seeds", type=int, default=40, help="at most, for each")
    parser.add_argument("--first", type=int, default=1, help="seed of the first")
    given = parser.parse_args()
    survived = []
    for name, mutant in MUTANTS.items():
        if name not in given.only:
            continue
        begun = time.perf_counter()
        for seed in range(given.first, given.first + given.seeds):
            with mutant():
                outcome = run_seed(seed)
            if outcome.anomalies and not run_seed(seed).anomalies:
                print(
                    f"{name}: seed {seed} after {time.perf_counter() - begun:.0f} s: {outcome.anomalies[0][:200]}",
                    flush=True,
                )
                break
        else:
            survived.append(name)
            print(f"{name}: no seed of {given.seeds} noticed, {time.perf_counter() - begun:.0f} s", flush=True)
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
