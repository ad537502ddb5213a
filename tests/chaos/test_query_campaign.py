"""The judge of queries over a table, and a short campaign of them."""

import pytest

from tests.chaos.other_writer import read_journal
from tests.chaos.query_campaign import QueryCampaign
from tests.chaos.query_judge import Deletion, Window, fault_of_counts, fault_of_rows

FEW, MANY = 25, 2000
GONE = Deletion(0, 2, 4)


def window(least=8, most=10, done=0, begun=(GONE,)):
    return Window({0: least}, {0: most}, done, begun)


@pytest.mark.parametrize(
    ("seen", "fault"),
    [
        ([*range(8)], ""),
        ([*range(10)], ""),
        ([0, 1, *range(4, 9)], ""),
        ([0, 1, 3, *range(4, 9)], "1 deleted or never sent [3]"),
        ([*range(7)], "1 missing [7]"),
        ([*range(11)], "deleted or never sent"),
        ([0, 0, *range(1, 8)], "1 double [0]"),
        ([*range(6), 7], "1 missing [6]"),
        ([], "missing"),
    ],
)
def test_rows_are_those_of_one_moment(seen, fault):
    found = fault_of_rows(window(), {0: seen[::-1]})
    assert fault in found
    assert bool(found) == bool(fault)


def test_a_delete_that_was_done_is_seen_and_a_later_one_not_without_it():
    whole = [*range(8)]
    assert "2 deleted" in fault_of_rows(window(done=1), {0: whole})
    later = Deletion(0, 5, 6)
    assert fault_of_rows(window(begun=(GONE, later)), {0: [0, 1, 4, 6, 7]}) == ""
    assert fault_of_rows(window(begun=(GONE, later)), {0: [0, 1, 2, 3, 4, 6, 7]})
    assert fault_of_rows(window(done=1), {0: [4, 5]}, 3, 6) == ""
    assert "1 missing [3]" in fault_of_rows(window(begun=()), {0: [4, 5]}, 3, 6)


def test_counts_are_those_of_one_moment():
    assert [fault_of_counts(window(), {0: count}) != "" for count in (5, 6, 8, 10, 11)] == [
        True,
        False,
        False,
        False,
        True,
    ]
    assert fault_of_counts(window(done=1), {0: 10}) == "partition 0: 10 rows, and not 6 to 8"
    assert fault_of_counts(window(), {})


def test_a_journal_says_what_is_done_and_leaves_out_what_failed(tmp_path):
    path = tmp_path / "journal"
    assert read_journal(path) == ([], True)
    path.write_text("begin 0 2 4\ndone\nbegin 1 5 6\nfailed\nbegin 2 7 8\nbeg")
    assert read_journal(path) == ([GONE, Deletion(2, 7, 8)], False)


@pytest.mark.process
@pytest.mark.timeout(120)
def test_queries_under_kills_and_deletes_are_each_of_one_moment(tmp_path):
    verdict = QueryCampaign(tmp_path, "delta", seed=7, queries=FEW, kill_s=3.0).run()
    assert verdict.faults(FEW) == []


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", ["delta", "iceberg"])
def test_two_thousand_queries_are_each_of_one_moment(tmp_path, target):
    verdict = QueryCampaign(tmp_path, target, seed=7, queries=MANY).run()
    assert verdict.faults(MANY) == []
