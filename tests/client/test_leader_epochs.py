"""Leader epochs of records, and logs that were truncated under a reader."""

import pytest

from headrace.client.cluster import LATEST, Cluster
from headrace.client.leader_epochs import Position, RecordEpochs, epoch_ends, truncations
from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.limits import EPOCH_STEPS_MAX
from headrace.protocol.apis import ApiKey
from tests.support import fake_broker
from tests.support.fake_broker import FakeBroker, FileLog

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
ASKED = ApiKey.OFFSET_FOR_LEADER_EPOCH


@pytest.fixture
def log(tmp_path):
    log = FileLog(tmp_path / "log")
    log.append(A, [(None, b"x")] * 150)
    log.append(B, [(None, b"x")] * 10)
    return log


@pytest.fixture
def broker(log):
    with FakeBroker(log) as broker:
        broker.epochs = {A: [(0, 0), (2, 100), (5, 120)], B: [(7, 0)]}
        yield broker


@pytest.fixture
def cluster(broker):
    with Cluster(broker.address) as cluster:
        cluster.offsets(dict.fromkeys((A, B), LATEST))
        yield cluster


def test_ends_of_epochs_are_asked_of_each_leader_at_once(broker, cluster):
    assert epoch_ends(cluster, {A: 2, B: 7}) == {A: (2, 120), B: (7, 10)}
    assert epoch_ends(cluster, {A: 4}) == {A: (2, 120)}
    assert epoch_ends(cluster, {A: 6}) == {A: (-1, -1)}
    assert broker.asked[ASKED] == 3


@pytest.mark.parametrize(
    ("offset", "epoch"), [(1, 0), (100, 0), (101, 2), (120, 2), (121, 5), (150, 5), (0, None), (151, None)]
)
def test_the_epoch_of_the_last_record_before_an_offset_is_found(cluster, offset, epoch):
    assert RecordEpochs().before(cluster, {A: offset}).get(A) == epoch


def test_a_reader_that_keeps_up_asks_no_more_until_the_leader_changes(log, broker, cluster):
    epochs = RecordEpochs()
    assert epochs.before(cluster, {A: 150, B: 10}) == {A: 5, B: 7}
    asked = broker.asked[ASKED]
    log.append(A, [(None, b"x")] * 50)
    cluster.offsets({A: LATEST})
    assert epochs.before(cluster, {A: 200, B: 10}) == {A: 5, B: 7}
    assert broker.asked[ASKED] == asked
    broker.epochs[A].append((6, 200))
    log.append(A, [(None, b"x")] * 50)
    cluster.offsets({A: LATEST})
    assert epochs.before(cluster, {A: 200}) == {A: 5}
    assert epochs.before(cluster, {A: 250}) == {A: 6}


def test_a_leader_that_has_written_nothing_yet_has_records_of_the_epoch_before(broker, cluster):
    broker.leader_epochs = {A: 9}
    cluster.offsets({A: LATEST})
    assert RecordEpochs().before(cluster, {A: 150}) == {A: 5}
    broker.leader_epochs = {A: 6 + EPOCH_STEPS_MAX}
    cluster.offsets({A: LATEST})
    assert RecordEpochs().before(cluster, {A: 150}) == {}


def test_records_before_the_first_known_epoch_have_none(log, broker, cluster):
    broker.epochs[A] = [(4, 130), (5, 140)]
    assert RecordEpochs().before(cluster, {A: 130}) == {}
    assert RecordEpochs().before(cluster, {A: 131}) == {A: 4}


def test_a_log_that_was_cut_and_grew_again_is_noticed_with_the_place(broker, cluster):
    assert truncations(cluster, {A: Position(120, 2), B: Position(10, 7)}) == {}
    broker.epochs[A] = [(0, 0), (6, 110)]
    cluster.offsets({A: LATEST})
    assert truncations(cluster, {A: Position(120, 2)}) == {A: 110}
    assert truncations(cluster, {A: Position(110, 0)}) == {}
    assert truncations(cluster, {A: Position(120, -1)}) == {}


def test_a_log_that_knows_no_such_epoch_any_more_was_cut_at_a_place_not_known(broker, cluster):
    broker.epochs[A], broker.leader_epochs[A] = [(0, 0)], 8
    cluster.offsets({A: LATEST})
    assert truncations(cluster, {A: Position(120, 2)}) == {A: -1}


def test_where_the_leader_is_still_that_of_the_last_record_nothing_is_asked(broker, cluster):
    assert truncations(cluster, {A: Position(150, 5)}) == {}
    assert broker.asked[ASKED] == 0


def test_metadata_that_is_behind_is_read_again(broker, cluster):
    broker.epochs[A].append((6, 150))
    assert epoch_ends(cluster, {A: 5}) == {A: (5, 150)}
    broker.fail[ASKED, ErrorCode.NOT_LEADER_OR_FOLLOWER] = 2
    assert epoch_ends(cluster, {A: 5}) == {A: (5, 150)}


def test_a_broker_that_does_not_support_the_question_is_passed_over(broker, monkeypatch):
    monkeypatch.setitem(fake_broker.SERVED, ASKED, (0, 2))
    with Cluster(broker.address) as cluster:
        cluster.offsets({A: LATEST})
        assert RecordEpochs().before(cluster, {A: 150}) == {}
        assert truncations(cluster, {A: Position(120, 2)}) == {}
