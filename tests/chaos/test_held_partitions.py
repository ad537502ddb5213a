"""Partitions that wait for an operator: which they are, and that nobody accepts a loss too early."""

from collections import Counter
from types import SimpleNamespace

from tests.chaos import held_partitions
from tests.chaos.held_partitions import NOTE, accept_held, held


class State:
    def __init__(self, rows):
        self.rows = rows  # by broker and topic

    def brokers(self):
        return {1, 2}

    def children(self, path):
        parts = path.strip("/").split("/")[2:]
        return sorted({one[len(parts)] for one in self.rows if one[: len(parts)] == tuple(parts)})

    def read(self, path):
        rows = self.rows.get(tuple(path.strip("/").split("/")[2:]))
        return None if rows is None else {"partitions": rows}


class Stage:
    """It never waits."""

    def __init__(self, rows):
        self.state, self.notes, self.patience = State(rows), Counter(), []
        self.zookeeper, self.bootstrap = SimpleNamespace(connect="here:2181"), "here:9092"

    def until(self, is_so, seconds):
        self.patience.append(seconds)
        return is_so()

    def sleep(self, _seconds):
        pass


def test_the_held_ones_are_those_that_wait():
    stage = Stage({("1", "t"): {"0": {"sole": False}, "1": {"sole": True}}, ("2", "t"): {"0": {}, "3": {}}})
    assert held(stage) == [("t", 0), ("t", 3)]


def test_an_operator_comes_only_after_a_while(monkeypatch):
    stage = Stage({("1", "t"): {"0": {}}})
    accepted = []

    def accept(_stage, place):
        accepted.append(place)
        stage.state.rows.clear()
        return True

    monkeypatch.setattr(held_partitions, "_accept", accept)
    accept_held(stage)
    assert stage.patience == [held_partitions.PATIENCE_S]
    assert accepted == ["t:0"]
    assert stage.notes[NOTE] == 1
    accept_held(stage)
    assert accepted == ["t:0"]
