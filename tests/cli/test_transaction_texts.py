"""What is said of open transactions, in each of their states."""

import pytest

from headrace.cli.arguments import parse_partition
from headrace.cli.transaction_texts import abort_command, description_lines, in_words, listed, why_fields, why_lines
from headrace.client.admin import ProducerState, TransactionDescription
from headrace.client.open_transactions import Found, OpenTransaction, Standstill
from headrace.ids import TopicPartition

NAME = TopicPartition("t", 3)
NOW_MS = 1_795_000_000_000
MINUTE_MS = 60_000
OPEN = OpenTransaction(NAME, ProducerState(7, 3, 0, NOW_MS - 2 * MINUTE_MS, 120))
MARKER = "headrace transactions abort --topic t --partition 3 --start-offset 120 --force"


def held_by(*ids, is_hanging=False, others=0):
    return Standstill(NAME, 120, 1_324, Found(OPEN, ids, is_hanging), others)


def description(*partitions, state="Ongoing", start_ms=NOW_MS - 4 * MINUTE_MS):
    return TransactionDescription("X", 1, 7, 3, state, 15 * MINUTE_MS, start_ms, partitions)


def test_an_open_transaction_has_its_age_its_end_and_its_abort():
    assert why_lines(held_by(description(NAME), others=2), NOW_MS) == [
        "t-3: last stable offset 120 is 1,204 behind the high watermark 1,324 since 4 min",
        "transactional id X (producer 7 epoch 3): state Ongoing at broker 1, started 2026-11-18T11:02:40Z, times out in 11 min",
        "to abort it: headrace transactions abort X",
        "transactions that are open behind it: 2",
    ]


def test_one_whose_time_is_over_is_said_to_be_late():
    late = description(NAME, start_ms=NOW_MS - 20 * MINUTE_MS)
    assert "timed out 5 min ago, and its coordinator has not aborted it" in why_lines(held_by(late), NOW_MS)[1]


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort", "PrepareEpochFence"])
def test_one_that_has_ended_waits_for_its_markers_and_is_not_to_be_aborted(state):
    others = TopicPartition("u", 0)
    first, second, third = why_lines(held_by(description(NAME, others, state=state, start_ms=-1)), NOW_MS)
    assert first.endswith("since 2 min or longer")
    assert f"state {state} at broker 1: it has ended, and markers are still to be written in t-3, u-0" in second
    assert "abort" not in third


def test_one_that_no_coordinator_knows_is_ended_by_a_marker():
    first, second, third = why_lines(held_by(is_hanging=True), NOW_MS)
    assert first.endswith("since 2 min or longer")
    assert second == "no coordinator knows producer 7 epoch 3: hanging transaction, last written to 2 min ago"
    assert third == f"to abort it: {MARKER}"


def test_one_that_its_id_has_left_behind_is_ended_by_a_marker_too():
    over = held_by(description(state="CompleteCommit", start_ms=-1), is_hanging=True)
    _first, second, third = why_lines(over, NOW_MS)
    assert second == (
        "transactional id X (producer 7 epoch 3) is CompleteCommit at broker 1, which has no transaction in t-3:"
        " hanging transaction, last written to 2 min ago"
    )
    assert third == f"to abort it: {MARKER}"
    assert abort_command(over.held_by) == MARKER


def test_an_id_that_goes_on_elsewhere_does_not_lend_its_start_to_a_transaction_that_hangs():
    elsewhere = held_by(description(TopicPartition("u", 0)), is_hanging=True)
    assert why_lines(elsewhere, NOW_MS)[0].endswith("since 2 min or longer")


def test_nothing_open_is_nothing_to_do():
    assert why_lines(Standstill(NAME, 9, 9, None, 0), NOW_MS) == [
        "t-3: last stable offset 9 is the high watermark: no transaction is open there"
    ]
    first, _second = why_lines(Standstill(NAME, 5, 9, None, 0), NOW_MS)
    assert "is 4 behind the high watermark 9; no transaction is open there any more" in first


def test_the_same_for_programs():
    assert why_fields(held_by(description(NAME))) == {
        "topic": "t",
        "partition": 3,
        "last_stable_offset": 120,
        "high_watermark": 1_324,
        "behind": 1_204,
        "held_by": {
            "topic": "t",
            "partition": 3,
            "producer": 7,
            "epoch": 3,
            "coordinator_epoch": 0,
            "start_offset": 120,
            "last_written_ms": OPEN.producer.last_timestamp_ms,
            "hanging": False,
            "transactional_id": "X",
            "coordinator": 1,
            "state": "Ongoing",
            "started_ms": NOW_MS - 4 * MINUTE_MS,
            "timeout_ms": 15 * MINUTE_MS,
        },
        "others": 0,
    }
    assert why_fields(held_by(is_hanging=True))["held_by"]["transactional_id"] is None
    assert why_fields(Standstill(NAME, 9, 9, None, 0))["held_by"] is None


def test_an_id_is_described_in_lines():
    assert description_lines(description(NAME), NOW_MS) == [
        "transactional id X  coordinator 1  producer 7  epoch 3",
        "state Ongoing  timeout 15 min  started 2026-11-18T11:02:40Z, 4 min ago: times out in 11 min",
        "partitions t-3",
    ]
    assert description_lines(description(state="Empty", start_ms=-1), NOW_MS)[1:] == ["state Empty  timeout 15 min"]


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [(-5, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (59_999, "59 s"), (240_000, "4 min"), (7_200_000, "2 h"), (90_000_000, "1 d")],
)  # fmt: skip
def test_times_have_the_largest_unit_that_fits(duration_ms, text):
    assert in_words(duration_ms) == text


def test_long_lists_are_cut():
    assert listed(["a", "b"]) == "a, b"
    assert listed(list("abcdefg")) == "a, b, c, d, e and 2 others"


@pytest.mark.parametrize(
    ("text", "name"),
    [("t-3", ("t", 3)), ("t:3", ("t", 3)), ("a-b-0", ("a-b", 0)), ("a-1:2", ("a-1", 2)), ("__a-4", ("__a", 4))],
)
def test_a_partition_is_read_from_its_last_sign_on(text, name):
    assert parse_partition("P", text) == TopicPartition(*name)
