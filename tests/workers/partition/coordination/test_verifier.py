"""What a coordinator's answer means to a data leader, and that an answer which is too old means nothing."""

from types import SimpleNamespace

import pytest

from headrace.errors import ErrorCode as E
from headrace.errors import KafkaError
from headrace.ids import TRANSACTIONS_TOPIC, coordinator_partition, owner_of
from headrace.limits import VERIFICATIONS_WAITING_MAX
from headrace.log.disk import Disk
from headrace.log.state.producer_state import ProducerState
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.runtime.peer_request import Outcome
from headrace.shm.cluster_view import EMPTY_VIEW, BrokerView, PartitionView, TopicView
from headrace.shm.messages import ReplyStatus
from headrace.workers.coordinators.transaction.events import Outcome as Answered
from headrace.workers.coordinators.transaction.events import Verified
from headrace.workers.partition.coordination.verifier import RETRY_MS, VERSION, Verifier

OWN, OTHER = 0, 1  # nodes
HERE, THERE = 1, 2  # partition workers of this node, process ids
COUNT = 8
PLACE = ("t", 0)
_Answer = messages.AddPartitionsToTxnResponse


def id_in(process_id):
    """A transactional id whose coordinator is that worker's."""
    return next(
        name
        for name in map(str, range(1_000))
        if owner_of(TRANSACTIONS_TOPIC, coordinator_partition(name, COUNT), 2) == process_id - 1
    )


class Rig:
    """A verifier whose coordinators the test answers for.

    here    (transactional id, producer, partitions, take) of this worker's own
    asked   (request, on_reply) of another worker
    sent    the same, of the other node
    """

    def __init__(self, tmp_path, leader=OWN, peer_version=VERSION):
        self.here, self.asked, self.sent, self.done = [], [], [], []
        self.raises = None
        wiring = SimpleNamespace(network_count=1, partition_count=2, settings={"broker.id": OWN})
        peers = SimpleNamespace(open=self._open, close=lambda peer: None)
        self.peer_version = peer_version
        seat = SimpleNamespace(wiring=wiring, process_id=HERE)
        self.verifier = Verifier(seat, SimpleNamespace(ask=self._ask), peers, self._ask_here)
        self.producers = ProducerState(tmp_path, Disk())
        partition = SimpleNamespace(topic=PLACE[0], partition=PLACE[1])
        self.replica = SimpleNamespace(partition=partition, log=SimpleNamespace(producers=self.producers))
        self.now_ms = 1_000
        self.follow(leader)

    def follow(self, leader):
        partitions = [PartitionView(n, leader, 1, (), (), (), n, 100 + n) for n in range(COUNT)]
        topics = {TRANSACTIONS_TOPIC: TopicView(TRANSACTIONS_TOPIC, "", True, {}, partitions)}
        brokers = {OTHER: BrokerView(OTHER, "other", 9092)}
        self.verifier.follow(EMPTY_VIEW._replace(topics=topics, brokers=brokers))

    def _ask_here(self, transactional_id, producer, partitions, take):
        if self.raises is not None:
            raise self.raises
        self.here.append((transactional_id, producer, partitions, take))

    def _ask(self, process_id, kind, body, on_reply, *, version):
        assert (process_id, kind, version) == (THERE, ApiKey.ADD_PARTITIONS_TO_TXN, VERSION)
        self.asked.append((decode_request(kind, version, body), on_reply))
        return True

    def _open(self, host, port, options):
        assert options.asks_versions

        def ask(key, version, request, on_reply, timeout_ms, *, version_min):
            assert (key, version, version_min) == (ApiKey.ADD_PARTITIONS_TO_TXN, 5, 4)
            self.sent.append((request, on_reply))
            return True

        return SimpleNamespace(ask=ask, version_of=lambda *_versions: self.peer_version)

    def ask(self, transactional_id, producer_id=7, epoch=3, wait_ms=1_000):
        self.verifier.ask(self.replica, transactional_id, producer_id, epoch, wait_ms, self.done.append)
        self.work()

    def work(self, later_ms=0):
        self.now_ms += later_ms
        self.verifier.do_work(self.now_ms)


def answer(*codes, version=VERSION, error=0):
    """Of one request with a row for each (transactional id, code)."""
    row, topic = _Answer.AddPartitionsToTxnPartitionResult, _Answer.AddPartitionsToTxnTopicResult
    rows = [
        _Answer.AddPartitionsToTxnResult(
            transactional_id=name,
            topic_results=[
                topic(name="t", results_by_partition=[row(partition_index=0, partition_error_code=int(code))])
            ],
        )
        for name, code in codes
    ]
    message = _Answer(results_by_transaction=rows, error_code=int(error))
    return memoryview(encode_response(ApiKey.ADD_PARTITIONS_TO_TXN, version, message))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Verified(frozenset((PLACE,))), E.NONE),
        (Verified(frozenset((("t", 1),))), E.TRANSACTION_ABORTABLE),
        (Answered(E.PRODUCER_FENCED), E.INVALID_PRODUCER_EPOCH),
        (Answered(E.INVALID_PRODUCER_ID_MAPPING), E.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_a_coordinator_of_this_worker_answers(tmp_path, given, told):
    rig = Rig(tmp_path)
    rig.ask(id_in(HERE))
    ((_name, producer, places, take),) = rig.here
    assert (producer, places) == ((7, 3), frozenset((PLACE,)))
    assert rig.producers.must_verify(7, 3)
    take(given)
    assert rig.done == [told]
    assert rig.producers.must_verify(7, 3) is (told is not E.NONE)
    assert rig.producers.must_verify(7, 4), "of another epoch nothing was asked"


@pytest.mark.parametrize(
    "error",
    [E.NOT_COORDINATOR, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.CONCURRENT_TRANSACTIONS],
)
def test_what_passes_is_asked_again_and_is_no_end_of_old_clients(tmp_path, error):
    rig = Rig(tmp_path)
    rig.ask(id_in(HERE), wait_ms=3 * RETRY_MS)
    for _ in range(3):
        rig.here.pop()[3](Answered(error))
        assert not rig.done
        assert rig.verifier.is_waiting
        rig.work(RETRY_MS)
    rig.here.pop()[3](Answered(error))
    assert rig.done == [E.NOT_ENOUGH_REPLICAS]
    assert not rig.verifier.is_waiting
    assert not rig.producers.verifications


def test_a_coordinator_that_fails_is_asked_again(tmp_path):
    rig = Rig(tmp_path)
    rig.raises = KafkaError(E.UNKNOWN_SERVER_ERROR, "it is loaded again")
    rig.ask(id_in(HERE))
    rig.raises = None
    rig.work(RETRY_MS)
    rig.here.pop()[3](Verified(frozenset((PLACE,))))
    assert rig.done == [E.NONE]


@pytest.mark.parametrize("is_abort", [True, False])
def test_a_marker_between_question_and_answer_makes_the_answer_void(tmp_path, is_abort):
    """KAFKA-14884: the coordinator had said yes before it ended the transaction."""
    rig = Rig(tmp_path)
    rig.ask(id_in(HERE))
    rig.producers.end_transaction(7, 3, 1, 5, is_abort, 0)
    rig.here.pop()[3](Verified(frozenset((PLACE,))))
    assert not rig.done
    rig.work(RETRY_MS)
    rig.here.pop()[3](Verified(frozenset()))
    assert rig.done == [E.TRANSACTION_ABORTABLE]


def test_a_log_that_is_loaded_again_makes_the_answer_void(tmp_path):
    rig = Rig(tmp_path)
    rig.ask(id_in(HERE))
    rig.producers.clear()
    rig.here.pop()[3](Verified(frozenset((PLACE,))))
    assert not rig.done


def test_two_questions_about_one_producer_do_not_void_each_other(tmp_path):
    rig = Rig(tmp_path)
    name = id_in(HERE)
    rig.ask(name)
    rig.ask(name)
    for _ in range(2):
        rig.here.pop(0)[3](Verified(frozenset((PLACE,))))
    assert rig.done == [E.NONE, E.NONE]


def test_another_worker_has_one_request_at_a_time_and_all_that_waits_in_the_next(tmp_path):
    rig = Rig(tmp_path)
    name = id_in(THERE)
    rig.ask(name)
    for producer_id in (8, 9):
        rig.ask(name, producer_id)
    ((request, on_reply),) = rig.asked
    (row,) = request.transactions
    assert (row.transactional_id, row.producer_id, row.producer_epoch, row.verify_only) == (name, 7, 3, True)
    on_reply(ReplyStatus.ANSWERED, answer((name, E.NONE)))
    assert rig.done == [E.NONE]
    rig.work()
    assert len(rig.asked) == 2, "an answer names the id alone, so two producers of one id are asked about in turn"
    rig.asked[1][1](ReplyStatus.ANSWERED, answer((name, E.PRODUCER_FENCED)))
    rig.work()
    rig.asked[2][1](ReplyStatus.PEER_DIED, memoryview(b""))
    assert rig.done == [E.NONE, E.INVALID_PRODUCER_EPOCH]
    rig.work(RETRY_MS)
    rig.asked[3][1](ReplyStatus.ANSWERED, answer((name, E.TRANSACTION_ABORTABLE)))
    assert rig.done[2:] == [E.TRANSACTION_ABORTABLE]


@pytest.mark.parametrize("version", [4, 5])
def test_another_node_is_asked_in_a_version_that_it_serves(tmp_path, version):
    rig = Rig(tmp_path, OTHER, version)
    rig.ask("x")
    rig.sent.pop()[1](Outcome.ANSWERED, answer(("x", E.NONE), version=version))
    assert rig.done == [E.NONE]


def test_a_broker_that_serves_no_verification_is_not_asked(tmp_path):
    rig = Rig(tmp_path, OTHER)
    rig.ask("x")
    rig.sent.pop()[1](Outcome.UNSUPPORTED, memoryview(b""))
    assert rig.done == [E.NONE]


@pytest.mark.parametrize(
    ("outcome", "body"),
    [
        (Outcome.LOST, memoryview(b"")),
        (Outcome.TIMED_OUT, memoryview(b"")),
        (Outcome.ANSWERED, memoryview(b"\0")),
        (Outcome.ANSWERED, answer()),
        (Outcome.ANSWERED, answer(error=E.NOT_COORDINATOR)),
    ],
)
def test_an_answer_that_says_nothing_is_asked_for_again(tmp_path, outcome, body):
    rig = Rig(tmp_path, OTHER)
    rig.ask("x")
    rig.sent.pop()[1](outcome, body)
    assert not rig.done
    rig.follow(OWN)
    rig.work(RETRY_MS)
    assert not rig.sent, "the coordinator has moved here"
    assert len(rig.here) + len(rig.asked) == 1


def test_so_many_wait_and_no_more(tmp_path):
    rig = Rig(tmp_path, OTHER)
    for producer_id in range(VERIFICATIONS_WAITING_MAX):
        rig.verifier.ask(rig.replica, "x", producer_id, 0, 1_000, rig.done.append)
    assert not rig.done
    rig.verifier.ask(rig.replica, "x", 0, 0, 1_000, rig.done.append)
    assert rig.done == [E.NOT_ENOUGH_REPLICAS]
