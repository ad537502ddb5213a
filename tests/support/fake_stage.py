"""A stage of the cluster campaign without processes: nodes write down what is done to them, in one list, and waiting is over at once.

Used by: tests of faults that are rows of steps.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from tests.chaos.cluster_state import PartitionState

ALL = (1, 2, 3)


class FakeNode:
    """One of three."""

    kind, is_wanted = "headrace", True

    def __init__(self, number, steps, directory):
        self.number, self.steps, self.is_running, self.stopped = number, steps, True, set()
        self.settings = {"headrace.partition.workers": "2"}
        self.log_dirs = [directory / f"node-{number}" / name for name in ("logs-1", "logs-2")]
        for path in self.log_dirs:
            path.mkdir(parents=True)
        self.log = SimpleNamespace(path=directory / f"node-{number}" / "node.log")
        self.log.path.touch()

    def _note(self, what):
        self.steps.append((what, self.number))

    def ask_to_stop(self):
        self._note("stop")
        self.is_running = False

    def kill(self):
        self._note("kill")
        self.is_running = False

    def launch(self):
        self._note("launch")
        self.is_running = True

    def children(self):
        return {"partition": [10 * self.number, 10 * self.number + 1], "controller": [10 * self.number + 2]}

    def stop_all(self, pids):
        self._note(f"pause {len(pids)}")
        self.stopped.update(pids)

    def continue_all(self, _pids=None):
        if self.stopped:
            self._note("continue")
        self.stopped.clear()

    def wait_ready(self, _seconds):
        return "ready"


class FakeStage:
    """Node 3 controls, 1 leads, all are in sync, whatever is done.

    steps   what was done, in its order: (what, node)
    """

    def __init__(self, directory: Path, leader=1, isr=ALL):
        self.directory = directory
        self.steps, self.visited, self.notes, self.active = [], Counter(), Counter(), []
        self.nodes = [FakeNode(number, self.steps, directory) for number in ALL]
        self.has_lost_power, self.is_zookeeper_up = False, True
        self.state = SimpleNamespace(
            controller=lambda: 3, partition=lambda _topic, _index: PartitionState(leader, isr, 0)
        )

    def visit(self, what, whom):
        self.visited[what, whom] += 1

    def note_crash(self):
        pass

    def sleep(self, _seconds):
        pass

    def until(self, is_so, _seconds):
        return bool(is_so())

    @property
    def are_all_back(self):
        return all(node.is_running and node.is_wanted and not node.stopped for node in self.nodes)
