"""Replicas that are not one log are told apart, and those that are pass; files are read as they lie."""

import pytest

from headrace.protocol.record_batch import build_batch
from tests.chaos.replica_logs import (
    Stored,
    ends,
    from_common_start,
    judge_keys_of,
    judge_replicas,
    read_keys,
    read_replica,
    read_replicas,
)

A, B, C = Stored(0, 4, 1, 0xA), Stored(5, 5, 1, 0xB), Stored(6, 9, 2, 0xC)


@pytest.mark.parametrize(
    ("kind", "replicas"),
    [
        ("replicas-differ", {1: [A, B, C], 2: [A, B._replace(crc=0xD), C]}),
        ("replicas-differ", {1: [A, B], 2: [A, B, C]}),
        ("replicas-differ", {1: [A, B, C], 2: [A, B, C], 3: []}),
        (
            "replicas-differ",
            {1: [A, B, C], 2: [A, B, C._replace(leader_epoch=3)]},
        ),  # the same records of another leader
        ("replica-order", {1: [A, C]}),  # a gap
        ("replica-order", {1: [A, B, B, C]}),
        ("replica-order", {1: [A._replace(leader_epoch=3), B]}),
        ("replica-unreadable", {1: [A], 2: "CorruptRecord: no batch at byte 7"}),
    ],
)
def test_what_is_not_one_log_is_told(kind, replicas):
    assert kind in {one.kind for one in judge_replicas("t-0", replicas)}


@pytest.mark.parametrize("replicas", [{}, {1: [], 2: []}, {1: [A, B, C], 2: [A, B, C]}])
def test_one_log_passes(replicas):
    assert not judge_replicas("t-0", replicas)


def test_files_of_several_segments_are_one_log(tmp_path):
    directory = tmp_path / "a" / "t-0"
    directory.mkdir(parents=True)
    batches = [
        build_batch([(None, b"x")] * count, timestamp_ms=0, base_offset=base) for base, count in ((0, 3), (3, 1))
    ]
    (directory / "00000000000000000003.log").write_bytes(batches[1])
    (directory / "00000000000000000000.log").write_bytes(batches[0])
    log = read_replica([tmp_path / "b", tmp_path / "a"], "t", 0)
    assert [(one.base_offset, one.last_offset) for one in log] == [(0, 2), (3, 3)]
    found = read_replicas({1: [tmp_path / "a"], 2: [tmp_path / "b"]}, "t", 0)
    assert found[1] == log
    assert ends(found) == {4, -1}
    assert [one.kind for one in judge_replicas("t-0", found)] == ["replica-unreadable"]


def test_logs_whose_segments_were_deleted_are_compared_from_where_all_have_them():
    cut = from_common_start({1: [A, B, C], 2: [B, C], 3: "OSError: gone"})
    assert cut == {1: [B, C], 2: [B, C], 3: "OSError: gone"}
    differs = from_common_start({1: [A, B, C], 2: [B._replace(crc=0xD), C]})
    assert {one.kind for one in judge_replicas("t-0", differs)} == {"replicas-differ"}


@pytest.mark.parametrize(
    ("kind", "replicas"),
    [
        ("replicas-differ", {1: {b"k": (7, b"new")}, 2: {b"k": (3, b"old")}}),
        ("replicas-differ", {1: {b"k": (7, b"new")}, 2: {b"k": (7, b"other")}}),
        ("replicas-differ", {1: {b"k": (7, b"new")}, 2: {}}),
        ("replicas-differ", {1: {b"k": (7, None)}, 2: {b"k": (3, b"brought back")}}),
        ("replica-unreadable", {1: {}, 2: "CorruptRecord: no batch at byte 7"}),
    ],
)
def test_compacted_replicas_with_another_last_value_are_told(kind, replicas):
    assert kind in {one.kind for one in judge_keys_of("t-0", replicas)}


def test_a_deleted_key_may_be_gone_from_one_replica_and_not_from_another():
    assert not judge_keys_of("t-0", {1: {b"k": (7, None), b"l": (1, b"x")}, 2: {b"l": (1, b"x")}})


def test_the_last_value_of_a_key_is_read_over_all_segments(tmp_path):
    directory = tmp_path / "t-0"
    directory.mkdir()
    values = [(0, [(b"k", b"1"), (b"l", b"1")]), (5, [(b"k", b"2")])]
    for base, records in values:
        (directory / f"{base:020}.log").write_bytes(build_batch(records, timestamp_ms=0, base_offset=base))
    assert read_keys([tmp_path], "t", 0) == {b"k": (5, b"2"), b"l": (1, b"1")}
