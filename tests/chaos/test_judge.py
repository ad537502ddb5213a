"""The judge catches each class of anomaly in a small history, and lets clean ones pass."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chaos.history import (
    FRESH,
    CleanStop,
    Commit,
    Committed,
    Crash,
    Create,
    Delete,
    Outcome,
    Poll,
    Record,
    Send,
    Trim,
)
from tests.chaos.judge import CLASSES, judge

OK, FAILED, UNKNOWN = Outcome.OK, Outcome.FAILED, Outcome.UNKNOWN


def send(values, offset, at, client="p", outcome=OK, generation=0, topic="t", partition=0):
    return Send(client, topic, generation, partition, tuple(values.split()), outcome, offset, at, at + 0.5)


def poll(records, at, client="c", generation=0, position=-1, buffered=True, topic="t", partition=0):
    """`records`: "0:a 1:b"."""
    found = tuple(Record(partition, int(o), v) for o, _, v in (one.partition(":") for one in records.split()))
    return Poll(client, topic, generation, found, at, at + 0.5, position, buffered)


def final(records, at=100, generation=0):
    return poll(records, at, FRESH, generation, buffered=False)


def commit(offset, at, generation=0, outcome=OK):
    return Commit("g", "t", generation, 0, offset, outcome, at, at + 0.5)


def committed(offset, at, generation=0, is_settled=True):
    return Committed("g", "t", generation, 0, offset, at, at + 0.5, is_settled)


def trim(low, at, generation=0, outcome=OK):
    return Trim("t", generation, 0, low, low, outcome, at, at + 0.5)


A, B, C = send("a", 0, 1), send("b", 1, 2), send("c", 2, 3)
ABC = [A, B, C]
AGAIN = [Create("t", 1, 0, 1), send("a", 0, 2, generation=1), Delete("t", 1, OK, 3, 4), Create("t", 2, 5, 6)]

ANOMALOUS = {
    "lost-write": [
        [A, B, final("0:a")],
        [A, send("b", 1, 2, outcome=UNKNOWN), poll("0:a 1:b", 3), final("0:a")],  # it was read
        [A, B],  # nobody could read at the end
        [A, B, trim(1, 3), final("")],
        [A, send("b", -1, 2), final("0:a")],  # acknowledged, and its offset not told
    ],
    "duplicate": [
        [A, B, final("0:a 1:b 2:a")],
        [A, send("u", -1, 2, outcome=UNKNOWN), final("0:a 1:u 2:u")],
        [A, B, poll("0:a 1:b 2:a", 3), final("0:a 1:b")],
    ],
    "inconsistent-offsets": [
        [A, send("b", 0, 2, client="q"), final("0:a")],
        [A, send("u", -1, 2, outcome=UNKNOWN), poll("0:u", 3), final("0:a")],
    ],
    "changed": [[A, final("0:a 1:garbage")], [A, final("0:A")]],
    "G1a": [[A, send("f", -1, 2, outcome=FAILED), final("0:a 1:f")]],
    "unseen": [[*ABC, poll("0:a", 4), poll("2:c", 5), final("0:a 1:b 2:c")]],
    "poll-skip": [
        [*ABC, poll("0:a", 4), poll("2:c", 5), final("0:a 1:b 2:c")],
        [*ABC, poll("2:c", 4, position=1, buffered=False), final("0:a 1:b 2:c")],  # from where it asked
        [*ABC, trim(1, 4), poll("2:c", 5, position=0), final("1:b 2:c")],
    ],
    "nonmonotonic-poll": [[*ABC, poll("0:a 1:b", 4), poll("1:b 2:c", 5), final("0:a 1:b 2:c")]],
    "int-poll-skip": [[*ABC, poll("0:a 2:c", 4), final("0:a 1:b 2:c")]],
    "int-nonmonotonic-poll": [[*ABC, poll("0:a 2:c 1:b", 4), final("0:a 1:b 2:c")]],
    "nonmonotonic-send": [[send("a", 1, 1), send("b", 0, 2), final("0:b 1:a")]],
    "int-send-skip": [
        [send("a b", 0, 1), send("c", 1, 2, client="q"), final("0:a 1:c 2:b")],
        [send("a b c", -1, 1, outcome=UNKNOWN), final("0:a 1:b")],  # half a batch
    ],
    "int-nonmonotonic-send": [[send("a b", -1, 1, outcome=UNKNOWN), final("0:b 1:a")]],
    "brought-back": [
        [*ABC, trim(2, 5), poll("1:b 2:c", 6, buffered=False), final("2:c")],
        [*ABC, trim(2, 5), CleanStop(7), Crash(8, {}), final("0:a 1:b 2:c")],
        [*ABC, trim(2, 5), Crash(8, {("t", 0): 2}), final("0:a 1:b 2:c")],
        [*ABC, trim(2, 5), Crash(8, {("t", 0): 2}), Crash(9, {}), final("0:a 1:b 2:c")],  # firm is firm
        [*AGAIN, final("0:a", generation=2)],
    ],
    "committed-back": [[commit(5, 1), commit(9, 2), committed(5, 3)]],
    "committed-lost": [[commit(5, 1), committed(-1, 3)]],
    "committed-stale": [
        [Create("t", 1, 0, 0), commit(5, 1, 1), Delete("t", 1, OK, 2, 2), Create("t", 2, 3, 3), committed(5, 9, 2)],
        [commit(5, 1), committed(6, 3)],  # made up
    ],
}

CLEAN = [
    [],
    [*ABC, poll("0:a 1:b", 4), poll("2:c", 5), final("0:a 1:b 2:c")],
    [A, send("b", -1, 2), C, final("0:a 1:b 2:c")],
    [A, send("u", -1, 2, outcome=UNKNOWN), C, final("0:a 1:u 2:c")],
    [A, send("u", -1, 2, outcome=UNKNOWN), send("c", 1, 3), final("0:a 1:c")],
    [A, send("f", -1, 2, outcome=FAILED), send("c", 1, 3), final("0:a 1:c")],
    [A, send("c", 2, 3), poll("0:a 2:c", 5), final("0:a 2:c")],  # offset 1 is known to nobody
    [*ABC, trim(2, 5), poll("2:c", 6, position=0), final("2:c")],
    [*ABC, poll("0:a", 4), trim(2, 5, outcome=UNKNOWN), poll("2:c", 6), final("2:c")],
    [*ABC, trim(2, 5), poll("0:a 1:b 2:c", 6), final("2:c")],  # fetched before the deletion
    [*ABC, trim(2, 5), Crash(8, {}), final("0:a 1:b 2:c")],  # as with Kafka
    [*ABC, trim(1, 5), Crash(8, {("t", 0): 1}), final("1:b 2:c")],
    [*AGAIN, send("x", 0, 7, generation=2), final("0:x", generation=2)],
    [*AGAIN[:2], send("u", -1, 2, outcome=UNKNOWN, generation=1), *AGAIN[2:], final("0:u", generation=2)],
    [*AGAIN[:3]],  # deleted: nothing has to be there
    [*ABC, Create("s", 1, 4, 4), send("z", 0, 5, topic="s", generation=1), Delete("s", 1, UNKNOWN, 6, 6),
     final("0:a 1:b 2:c")],
    [send("a b", 0, 1), send("c d", 2, 2), final("0:a 1:b 2:c 3:d")],
    [send("a b c", 0, 1), trim(1, 2), final("1:b 2:c")],
    [send("a", 0, 1), send("b", 0, 2, partition=1), final("0:a"), poll("0:b", 101, FRESH, buffered=False, partition=1)],
    [commit(5, 1), commit(9, 2, outcome=UNKNOWN), committed(9, 3)],
    [commit(5, 1), commit(9, 2, outcome=UNKNOWN), committed(5, 3)],
    [commit(5, 1), commit(9, 2.8), committed(5, 3)],  # read while it is stored
    [commit(5, 1, 1), Delete("t", 1, OK, 2, 2), committed(-1, 9, 2)],
    [commit(5, 1, 1), Delete("t", 1, OK, 2, 2), committed(5, 3, 2, is_settled=False), committed(-1, 9, 2)],
    [commit(5, 1, 1, UNKNOWN), Delete("t", 1, OK, 2, 2), committed(5, 9, 2)],  # it may have waited
]  # fmt: skip


@pytest.mark.parametrize("kind", CLASSES)
def test_each_class_is_caught(kind):
    for history in ANOMALOUS[kind]:
        assert kind in {anomaly.kind for anomaly in judge(history)}, history


@pytest.mark.parametrize("number", range(len(CLEAN)))
def test_a_clean_history_passes(number):
    assert judge(CLEAN[number]) == []


@pytest.mark.parametrize(
    ("kind", "history"),
    [
        ("poll-skip", ANOMALOUS["poll-skip"][1]),
        ("int-nonmonotonic-send", ANOMALOUS["int-nonmonotonic-send"][0]),
        ("G1a", ANOMALOUS["G1a"][0]),
        ("brought-back", ANOMALOUS["brought-back"][0]),
        ("committed-lost", ANOMALOUS["committed-lost"][0]),
        ("committed-stale", ANOMALOUS["committed-stale"][0]),
    ],
)
def test_one_anomaly_is_told_once_and_as_nothing_else(kind, history):
    assert [anomaly.kind for anomaly in judge(history)] == [kind]


class Log:
    """A log that does what it should, and the history of clients that use it, by lot."""

    def __init__(self, chance):
        self.chance = chance
        self.records = []
        self.history = []
        self.start = 0
        self.position = 0
        self.at = 0.0
        self.number = 0

    def run(self, steps):
        for _ in range(steps):
            self.at += 1
            self.chance.choice([self.send, self.send, self.poll, self.trim, self.crash, self.commit])()
        self.at += 1
        self.poll()
        self.history.append(self.read(FRESH, self.start, False))
        return self.history

    def send(self):
        values = [f"v{self.number + index}" for index in range(self.chance.randint(1, 3))]
        self.number += len(values)
        outcome = self.chance.choice([OK, OK, UNKNOWN, FAILED])
        base = len(self.records)
        if outcome is OK or (outcome is UNKNOWN and self.chance.random() < 0.5):
            self.records += values
        self.history.append(send(" ".join(values), base if outcome is OK else -1, self.at, outcome=outcome))

    def poll(self):
        self.position = max(self.position, self.start)
        self.history.append(self.read("tail", self.position, True))
        self.position = len(self.records)

    def read(self, client, position, buffered):
        records = " ".join(f"{o}:{self.records[o]}" for o in range(position, len(self.records)))
        return poll(records, self.at, client, buffered=buffered)

    def trim(self):
        self.start = self.chance.randint(self.start, len(self.records))
        self.history.append(trim(self.start, self.at, outcome=self.chance.choice([OK, UNKNOWN])))

    def crash(self):
        self.at += 1
        self.history.append(Crash(self.at, {("t", 0): self.start}))

    def commit(self):
        self.history.append(commit(self.number, self.at))
        self.at += 1
        self.history.append(committed(self.number, self.at))


def without_final_record(history, chance):
    *rest, last = history
    index = chance.randrange(len(last.records))
    return [*rest, last._replace(records=last.records[:index] + last.records[index + 1 :])]


def final_values_swapped(history, chance):
    *rest, last = history
    index = chance.randrange(len(last.records) - 1)
    one, other = last.records[index : index + 2]
    swapped = (one._replace(value=other.value), other._replace(value=one.value))
    return [*rest, last._replace(records=(*last.records[:index], *swapped, *last.records[index + 2 :]))]


def final_value_repeated(history, chance):
    *rest, last = history
    end = last.records[-1]
    return [*rest, last._replace(records=(*last.records, end._replace(offset=end.offset + 1)))]


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=100)
def test_whatever_clients_do_to_a_log_that_is_right_is_clean(seed, steps):
    assert judge(Log(random.Random(seed)).run(steps)) == []


@given(st.integers(0, 2**32), st.sampled_from([without_final_record, final_values_swapped, final_value_repeated]))
@settings(max_examples=100)
def test_one_change_to_what_is_there_at_the_end_is_caught(seed, change):
    chance = random.Random(seed)
    history = Log(chance).run(40)
    if len(history[-1].records) > 1:
        assert judge(change(history, chance))
