"""A transactional producer over a model cluster: what is committed, aborted, retried, renewed; and storms from a seed."""

import os
import random

import pytest

from headrace.client.engine.transaction_states import State
from headrace.client.engine.transactions import GroupMetadata
from headrace.client.failures import DeliveryFailed, ProducerFenced, TransactionAbortable, TransactionAborted
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from tests.support.model_clients import ModelTransactionalProducer
from tests.support.model_cluster import ModelCluster
from tests.support.model_network import Network

NAME, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
GROUP = GroupMetadata("readers", 3, "member-1")
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "1 2 3 4 5 6 7 8").split()]


@pytest.fixture
def cluster():
    return ModelCluster(3, {"t": 3})


@pytest.fixture
def network(cluster):
    made = Network(cluster)
    yield made
    made.close()


def finish(producer):
    producer.do("send_offsets", {OTHER: (7, -1, "")}, GROUP)
    producer.do("commit")


@pytest.fixture
def producer(network):
    made = ModelTransactionalProducer(network, linger_ms=0)
    made.do("init")
    return made


def asked(cluster, api_key):
    return [request for broker in cluster.brokers.values() for key, _version, request in broker.asked if key is api_key]


def run(producer, *values, name=NAME, end="commit"):
    producer.transactions.begin()
    for value in values:
        producer.send(name, value)
    producer.do(end)


def test_committed_values_count_and_aborted_ones_do_not(cluster, producer):
    run(producer, b"1", b"2")
    producer.transactions.begin()
    batch = producer.send(NAME, b"x")
    producer.flush()
    producer.do("abort")
    assert batch.failure is None, "it was stored before the abort"
    run(producer, b"3", name=OTHER)
    assert cluster.transactions.committed == {NAME: [b"1", b"2"], OTHER: [b"3"]}
    assert cluster.transactions.aborted == {NAME: [b"x"]}
    assert producer.transactions.epoch == 0, "nothing was lost: the epoch stays"
    assert not producer.producing.outstanding


def test_each_partition_is_enlisted_once_in_each_transaction_and_before_its_first_batch(cluster, producer):
    for _ in range(2):
        producer.transactions.begin()
        for serial in range(3):
            producer.send(NAME, b"%d" % serial)
            producer.flush()
        producer.do("commit")
    rows = [
        topic.partitions for one in asked(cluster, ApiKey.ADD_PARTITIONS_TO_TXN) for topic in one.v3_and_below_topics
    ]
    assert rows == [[0], [0]]
    assert len(asked(cluster, ApiKey.PRODUCE)) == 6
    assert all(request.transactional_id == "copier" for request in asked(cluster, ApiKey.PRODUCE))


def test_an_empty_transaction_asks_nobody(cluster, producer):
    run(producer)
    run(producer, end="abort")
    assert not asked(cluster, ApiKey.END_TXN)


def test_records_that_were_not_sent_are_aborted(cluster, producer):
    producer.transactions.begin()
    batch = producer.send(NAME, b"x")
    producer.do("abort")
    assert isinstance(batch.failure, TransactionAborted)
    assert producer.producing.take_unseen() is None
    run(producer, b"1")
    assert cluster.transactions.committed == {NAME: [b"1"]}


def test_a_record_outside_of_a_transaction_is_refused(network, producer):
    with pytest.raises(KafkaError, match="producer of copier is ready"):
        producer.send(NAME, b"x")
    fresh = ModelTransactionalProducer(network, "other")
    with pytest.raises(KafkaError, match="call init_transactions first"):
        fresh.send(NAME, b"x")


def test_offsets_are_committed_with_the_transaction(cluster, producer):
    cluster.transactions.members["readers"] = (3, "member-1")
    for offset, end in ((7, "commit"), (9, "abort")):
        producer.transactions.begin()
        producer.send(NAME, b"%d" % offset)
        producer.do("send_offsets", {OTHER: (offset, -1, "")}, GROUP)
        producer.do(end)
    assert cluster.transactions.offsets == {("readers", OTHER): 7}
    assert [row[2] for row in cluster.transactions.ended] == [["readers"], ["readers"]]


@pytest.mark.parametrize("member", [(4, "member-1"), (3, "member-2")])
def test_offsets_of_a_member_of_another_generation_abort_the_transaction(cluster, producer, member):
    cluster.transactions.members["readers"] = member
    producer.transactions.begin()
    producer.send(NAME, b"x")
    with pytest.raises(TransactionAbortable):
        producer.do("send_offsets", {OTHER: (7, -1, "")}, GROUP)
    with pytest.raises(TransactionAbortable):
        producer.do("commit")
    producer.do("abort")
    run(producer, b"1")
    assert cluster.transactions.committed == {NAME: [b"1"]}
    assert not cluster.transactions.offsets


def test_a_member_s_offsets_need_a_broker_that_checks_members(cluster, network):
    for broker in cluster.brokers.values():
        broker.versions[ApiKey.TXN_OFFSET_COMMIT] = (0, 2)
    producer = ModelTransactionalProducer(network, linger_ms=0)
    producer.do("init")
    producer.transactions.begin()
    producer.do("send_offsets", {OTHER: (7, -1, "")}, GroupMetadata("readers"))
    producer.do("commit")
    assert cluster.transactions.offsets == {("readers", OTHER): 7}
    producer.transactions.begin()
    with pytest.raises(TransactionAbortable, match="v3 to v4 is required"):
        producer.do("send_offsets", {OTHER: (8, -1, "")}, GROUP)
    producer.do("abort")


def test_a_new_producer_fences_the_one_before_and_aborts_what_it_had(network, cluster, producer):
    producer.transactions.begin()
    producer.send(NAME, b"x")
    producer.flush()
    after = ModelTransactionalProducer(network, linger_ms=0)
    after.do("init")
    with pytest.raises(ProducerFenced):
        producer.do("commit")
    with pytest.raises(ProducerFenced):
        producer.do("abort")
    run(after, b"1")
    assert cluster.transactions.committed == {NAME: [b"1"]}


def test_a_fenced_producer_s_batches_abort_first(network, cluster, producer):
    """Kafka's INVALID_PRODUCER_EPOCH of a leader says that the epoch is old, and not why (KIP-588)."""
    producer.transactions.begin()
    producer.send(NAME, b"a")
    producer.flush()
    ModelTransactionalProducer(network, linger_ms=0).do("init")
    batch = producer.send(NAME, b"x")
    with pytest.raises(TransactionAbortable):
        producer.do("commit")
    assert batch.failure is not None
    with pytest.raises(ProducerFenced):
        producer.do("abort")


RETRIED = [
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
]
STEPS = [
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
]


@pytest.mark.parametrize("api_key", STEPS)
@pytest.mark.parametrize("code", RETRIED)
def test_what_passes_is_tried_again(network, cluster, api_key, code):
    cluster.failures[api_key] += [code] * 3
    producer = ModelTransactionalProducer(network, linger_ms=0)
    producer.do("init")
    producer.transactions.begin()
    producer.send(NAME, b"1")
    producer.do("send_offsets", {OTHER: (7, -1, "")}, GROUP)
    producer.do("commit")
    assert cluster.transactions.committed == {NAME: [b"1"]}
    assert cluster.transactions.offsets == {("readers", OTHER): 7}
    assert not cluster.failures[api_key]


@pytest.mark.parametrize("api_key", STEPS[1:])
@pytest.mark.parametrize("code", [ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE])
def test_an_abortable_error_aborts_and_the_next_transaction_commits(cluster, producer, api_key, code):
    producer.transactions.begin()
    producer.send(NAME, b"x")
    cluster.failures[api_key].append(code)
    with pytest.raises(TransactionAbortable):
        finish(producer)
    assert producer.transactions.state is State.ABORTABLE_ERROR
    producer.do("abort")
    assert producer.transactions.epoch == 1, "raised (KIP-360)"
    run(producer, b"1")
    assert cluster.transactions.committed == {NAME: [b"1"]}
    assert not cluster.transactions.offsets


@pytest.mark.parametrize("api_key", STEPS)
def test_a_fatal_error_ends_the_producer(network, cluster, api_key):
    cluster.failures[api_key].append(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    producer = ModelTransactionalProducer(network, linger_ms=0)

    def run_whole():
        producer.do("init")
        producer.transactions.begin()
        producer.send(NAME, b"x")
        finish(producer)

    with pytest.raises(KafkaError) as raised:
        run_whole()
    assert raised.value.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert producer.transactions.state is State.FATAL_ERROR
    with pytest.raises(KafkaError):
        producer.transactions.begin()
    assert not producer.producing.outstanding


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_TXN_STATE, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_PRODUCER_ID]
)
def test_a_refused_batch_fails_its_transaction_and_those_that_wait(network, cluster, producer, code):
    producer.transactions.begin()
    cluster.partition_failures[NAME].append(code)
    first, second = producer.send(NAME, b"x" * 300), producer.send(OTHER, b"y")
    network.run_until(lambda: first.is_done)
    with pytest.raises(TransactionAbortable) as raised:
        producer.send(NAME, b"z")
    assert raised.value.code is code
    network.run_until(lambda: second.is_done)
    producer.do("abort")
    run(producer, b"1", name=OTHER)
    assert cluster.transactions.committed == {OTHER: [b"1"]}


def test_a_gap_ends_the_producer_where_the_epoch_can_t_be_raised(network, cluster):
    for broker in cluster.brokers.values():
        broker.versions[ApiKey.INIT_PRODUCER_ID] = (0, 1)
    producer = ModelTransactionalProducer(network, linger_ms=0)
    producer.do("init")
    producer.transactions.begin()
    cluster.partition_failures[NAME].append(ErrorCode.INVALID_RECORD)
    producer.send(NAME, b"x")
    with pytest.raises(TransactionAbortable):
        producer.do("commit")
    with pytest.raises(KafkaError, match=r"before Kafka 2\.5"):
        producer.do("abort")
    assert producer.transactions.state is State.FATAL_ERROR


def test_an_old_broker_takes_the_next_transaction_where_no_sequence_is_missing(network, cluster):
    for broker in cluster.brokers.values():
        broker.versions |= {
            ApiKey.INIT_PRODUCER_ID: (0, 0), ApiKey.ADD_PARTITIONS_TO_TXN: (0, 0), ApiKey.ADD_OFFSETS_TO_TXN: (0, 0),
            ApiKey.END_TXN: (0, 0), ApiKey.TXN_OFFSET_COMMIT: (0, 0), ApiKey.FIND_COORDINATOR: (0, 1), ApiKey.PRODUCE: (0, 3),
        }  # fmt: skip
    producer = ModelTransactionalProducer(network, linger_ms=0)
    producer.do("init")
    producer.transactions.begin()
    cluster.failures[ApiKey.ADD_OFFSETS_TO_TXN].append(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(TransactionAbortable):
        producer.do("send_offsets", {OTHER: (7, -1, "")}, GroupMetadata("readers"))
    producer.do("abort")
    run(producer, b"1")
    assert cluster.transactions.committed == {NAME: [b"1"]}


def test_a_broker_without_transactions_is_named(network, cluster):
    for broker in cluster.brokers.values():
        broker.versions.pop(ApiKey.INIT_PRODUCER_ID)
    with pytest.raises(KafkaError, match="InitProducerId"):
        ModelTransactionalProducer(network).do("init")


def test_a_lost_answer_to_endtxn_is_asked_again_over_a_new_connection_and_the_epoch_is_raised(
    network, cluster, producer
):
    producer.transactions.begin()
    producer.send(NAME, b"1")
    producer.flush()
    links = []
    handle = cluster.transactions._end_txn

    def lose(broker, request, code):
        connection = next(one for link, one in network.connections.items() if link.key == (0, link.key[1]))
        links.append(connection)
        answer = handle(broker, request, code)
        if len(links) == 1:
            connection.is_open = False  # the answer does not come
            network.after(0.01, lambda: (setattr(connection, "is_open", True), connection.close()))
        return answer

    cluster.transactions._end_txn = lose
    producer.do("commit")
    assert len(links) == 2
    assert links[0] is not links[1]
    assert producer.transactions.epoch == 0
    run(producer, b"2")
    assert producer.transactions.epoch == 1, "a copy of EndTxn that comes late is fenced"
    assert cluster.transactions.committed == {NAME: [b"1", b"2"]}
    run(producer, b"3")
    assert producer.transactions.epoch == 1


def test_a_commit_that_found_no_coordinator_is_called_again(network, cluster, producer):
    producer.transactions.begin()
    producer.send(NAME, b"1")
    producer.flush()
    cluster.failures[ApiKey.END_TXN] += [ErrorCode.CONCURRENT_TRANSACTIONS] * 120
    with pytest.raises(KafkaError):
        producer.do("commit")
    assert producer.transactions.state is State.COMMITTING
    with pytest.raises(KafkaError, match="is committing"):
        producer.do("abort")
    producer.do("commit")
    assert cluster.transactions.committed == {NAME: [b"1"]}


def test_init_that_found_no_coordinator_is_called_again(network, cluster):
    cluster.failures[ApiKey.INIT_PRODUCER_ID] += [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 120
    producer = ModelTransactionalProducer(network, linger_ms=0)
    with pytest.raises(KafkaError):
        producer.do("init")
    producer.do("init")
    run(producer, b"1")
    assert cluster.transactions.committed == {NAME: [b"1"]}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_storm_commits_each_transaction_whole_or_not_at_all(seed):
    """Coordinators and leaders move, connections break, codes come by lot; the program does as the guide says."""
    cluster = ModelCluster(3, {"t": 3})
    network = Network(cluster, seed)
    lot = random.Random(seed)
    names = [TopicPartition("t", index) for index in range(3)]
    producer = ModelTransactionalProducer(network, linger_ms=1, request_timeout_ms=3_000, delivery_timeout_ms=20_000)
    producer.do("init")
    network.lost_requests = network.lost_answers = 0.02
    committed = {name: [] for name in names}
    offset = 0
    for serial in range(60):
        if lot.random() < 0.2:
            cluster.transactions.coordinator = lot.randrange(3)
        if lot.random() < 0.2:
            cluster.move(lot.choice(names))
            cluster.tell()
        if lot.random() < 0.3:
            code = lot.choice([*RETRIED, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE])
            cluster.failures[lot.choice(STEPS[1:])].append(code)
        producer.transactions.begin()
        values = {name: [b"%d-%d" % (serial, one) for one in range(lot.randrange(4))] for name in names}
        is_over = False
        try:
            for name, rows in values.items():
                for value in rows:
                    producer.send(name, value)
            if lot.random() < 0.5:
                producer.do("send_offsets", {NAME: (serial + 1, -1, "")}, GroupMetadata("readers"))
                offset_now = serial + 1
            else:
                offset_now = offset
            if lot.random() < 0.2:
                raise TransactionAbortable(ErrorCode.NONE, "by lot")
            producer.do("commit")
            is_over = True
            offset = offset_now
            for name in names:
                committed[name] += values[name]
        except (TransactionAbortable, DeliveryFailed):
            pass
        except HeadraceError:
            if producer.transactions.state is not State.COMMITTING:
                raise
        while producer.transactions.state is State.COMMITTING:
            producer.do("commit")
            is_over = True
        if not is_over:
            producer.do("abort")
    found = {name: cluster.transactions.committed[name] for name in names}
    assert found == committed, f"seed {seed}"
    assert cluster.transactions.offsets.get(("readers", NAME), 0) == offset, f"seed {seed}"
    assert not producer.producing.outstanding
    assert producer.producing.buffered_bytes == 0
    network.close()
