"""Whether losses were reported: each condition of a report that counts, and what clients see of losses."""

from datetime import datetime

import pytest

from tests.chaos.history import FRESH, Outcome, Poll, Record, Send
from tests.chaos.judge import Anomaly, Place
from tests.chaos.loss_reports import Report, judge_losses, lost_records, read_reports, without_reported

LINE = (
    "2026-11-22 19:18:53,633 ERROR [17897] headrace.controller.agent.holds: acknowledged records may be lost"
    " partition=a-b-3 first_offset=88 checkpointed_high_watermark=unknown reason=no other replica has more"
)
EPOCH_S = 1_000_000.0


def sent(values, base_offset, outcome=Outcome.OK, ended=10.0):
    return Send("c", "t", 0, 1, values, outcome, base_offset, ended - 1, ended)


def test_reports_are_read_of_a_log():
    [report] = read_reports(["2026-11-22 19:18:53,633 ERROR [1] else", LINE, LINE.replace("ERROR", "INFO")])
    date_s = datetime(2026, 11, 22, 19, 18, 53, 633_000).timestamp()  # noqa: DTZ001: as the log has it
    assert report == Report("a-b", 3, 88, date_s)


def test_what_was_acknowledged_and_is_not_there_is_lost():
    final = Poll(FRESH, "t", 0, (Record(1, 0, "a"), Record(1, 2, "other")), 20.0, 21.0)
    operations = [
        sent(("a", "b", "c"), 0),
        sent(("d",), 9, Outcome.UNKNOWN),
        sent(("e",), 9, Outcome.FAILED),
        final,
    ]
    assert lost_records(operations) == [(Place("t", 0, 1, 1), 10.0), (Place("t", 0, 1, 2), 10.0)]


@pytest.mark.parametrize(
    ("report", "is_covered"),
    [
        (Report("t", 1, 5, EPOCH_S + 11), True),
        (Report("t", 1, 0, EPOCH_S + 11), True),
        (Report("t", 1, 6, EPOCH_S + 11), False),
        (Report("t", 2, 5, EPOCH_S + 11), False),
        (Report("u", 1, 5, EPOCH_S + 11), False),
        (Report("t", 1, 5, EPOCH_S + 8), False),
    ],
    ids=["at", "below", "above", "another partition", "another topic", "before it was acknowledged"],
)
def test_a_loss_is_covered_by_a_later_report_of_its_partition_at_or_below_its_offset(report, is_covered):
    found = judge_losses([(Place("t", 0, 1, 5), 10.0)], [report], EPOCH_S)
    assert [one.kind for one in found] == ([] if is_covered else ["unreported-loss"])


def test_what_clients_see_of_a_reported_loss_is_none_more():
    told = Report("t", 1, 5, EPOCH_S)
    lost, other = Anomaly("lost-write", "x was at t#0-1@7"), Anomaly("lost-write", "x was at t#0-2@7")
    differ, back = Anomaly("replicas-differ", "t-1: one at t#0-1@7"), Anomaly("committed-back", "g: 7 after 9")
    assert without_reported([lost, other, differ, back], [told]) == [other, differ, back]
    assert without_reported([back], [told, Report("__consumer_offsets", 0, 0, EPOCH_S)]) == []
    assert without_reported([lost], []) == [lost]
