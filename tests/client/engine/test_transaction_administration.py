"""Listings of transactions: complete, or known to be not; and fencing, which waits for markers."""

from types import SimpleNamespace

import pytest

from headrace.client.engine.metadata import PartitionState, TopicState
from headrace.client.engine.tasks import Ask, Pause
from headrace.client.engine.transaction_administration import TransactionAdministration, TransactionListing
from headrace.errors import ErrorCode as E
from headrace.errors import KafkaError
from headrace.ids import NO_LEADER, TRANSACTIONS_TOPIC, coordinator_partition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

Listed = messages.ListTransactionsResponse
Described = messages.DescribeTransactionsResponse


class Brokers:
    """Two, and partitions of __transaction_state by their leaders; each refresh of the metadata takes the next of `moves`.

    errors   of a partition's coordinator, as it answers to an id that does not exist
    """

    def __init__(self, leaders=(1, 2, 1), errors=None, moves=()):
        self.leaders, self.errors, self.moves = list(leaders), errors or {}, list(moves)
        self.asked = []
        self.listing_errors = []
        self.inits = []
        self.brokers = dict.fromkeys((1, 2))
        self.topics = {}
        self.failure = None
        self.requests = SimpleNamespace(brokers=self.brokers, bootstrap={}, others={})

    def want(self, _topics):
        return []

    def unwant(self, _topics):
        pass

    def refresh(self):
        if self.moves:
            self.leaders = self.moves.pop(0)
        states = [PartitionState(leader, leader_epoch=1) for leader in self.leaders]
        self.topics = {TRANSACTIONS_TOPIC: TopicState(TRANSACTIONS_TOPIC, partitions=states, failure=self.failure)}

    def answer(self, wish):
        self.asked.append((ApiKey(wish.api_key), wish.node, wish.versions))
        if wish.api_key == ApiKey.LIST_TRANSACTIONS:
            error = self.listing_errors.pop(0) if self.listing_errors else 0
            return Listed(0, error, [], [Listed.TransactionState(f"id-{wish.node}", 7, "Ongoing")])
        if wish.api_key == ApiKey.DESCRIBE_TRANSACTIONS:
            rows = []
            for name in wish.message.transactional_ids:
                index = coordinator_partition(name, len(self.leaders))
                assert self.leaders[index] == wish.node
                error = self.errors.get(index, E.TRANSACTIONAL_ID_NOT_FOUND)
                rows.append(Described.TransactionState(error_code=int(error), transactional_id=name, topics=[]))
            return Described(transaction_states=rows)
        if wish.api_key == ApiKey.FIND_COORDINATOR:
            assert wish.message(4).key_type == 1
            row = messages.FindCoordinatorResponse.Coordinator("x", 2, "h", 9, 0, None)
            return messages.FindCoordinatorResponse(coordinators=[row])
        assert wish.api_key == ApiKey.INIT_PRODUCER_ID
        return messages.InitProducerIdResponse(error_code=int(self.inits.pop(0)), producer_id=7, producer_epoch=5)

    def run(self, procedure):
        """What it returns; the number of its pauses is kept."""
        self.pauses = 0
        value = None
        try:
            while True:
                wish = procedure.send(value)
                value = None
                if isinstance(wish, Ask):
                    value = self.answer(wish)
                elif isinstance(wish, Pause):
                    self.pauses += 1
        except StopIteration as end:
            return end.value


@pytest.fixture
def brokers():
    return Brokers()


def administration(brokers):
    return TransactionAdministration(SimpleNamespace(metadata=brokers, requests=brokers.requests))


def listing(brokers, **filters):
    return brokers.run(administration(brokers).list_transactions(**filters))


def test_every_broker_is_asked_and_every_coordinator_probed(brokers):
    found = listing(brokers)
    assert found.transactions == (
        TransactionListing("id-1", 1, 7, "Ongoing"),
        TransactionListing("id-2", 2, 7, "Ongoing"),
    )
    assert found.silent == ()
    assert [(key, node) for key, node, _versions in brokers.asked] == [
        (ApiKey.LIST_TRANSACTIONS, 1),
        (ApiKey.LIST_TRANSACTIONS, 2),
        (ApiKey.DESCRIBE_TRANSACTIONS, 1),
        (ApiKey.DESCRIBE_TRANSACTIONS, 2),
    ]


@pytest.mark.parametrize(
    ("leaders", "errors", "silent"),
    [
        ((1, NO_LEADER, 2), {}, (1,)),
        ((1, 9, 2), {}, (1,)),
        ((1, 2, 1), {2: E.COORDINATOR_NOT_AVAILABLE}, (2,)),
        ((NO_LEADER, 2, 1), {2: E.COORDINATOR_NOT_AVAILABLE}, (0, 2)),
        ((1, 2, 1), {0: E.NONE}, ()),
    ],
    ids=["no leader", "leader not registered", "log not readable", "both", "the probe exists"],
)
def test_coordinators_that_do_not_answer_are_named(leaders, errors, silent):
    assert listing(Brokers(leaders, errors)).silent == silent


@pytest.mark.parametrize("error", [E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR])
def test_while_a_coordinator_loads_or_moves_all_are_asked_again(brokers, error):
    brokers.listing_errors = [error, error]
    assert listing(brokers).silent == ()
    assert brokers.pauses == 2
    with pytest.raises(KafkaError) as raised:
        listing(Brokers(errors={1: error}))
    assert raised.value.code is error


def test_a_coordinator_that_moved_between_two_brokers_that_were_asked_is_not_missed():
    brokers = Brokers(moves=[[1, 2, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
    assert listing(brokers).silent == ()
    assert brokers.pauses == 1
    assert sum(key is ApiKey.LIST_TRANSACTIONS for key, *_ in brokers.asked) == 4


def test_without_the_topic_there_is_nothing(brokers):
    brokers.leaders, brokers.failure = [], KafkaError(E.UNKNOWN_TOPIC_OR_PARTITION, "x")
    assert listing(brokers).silent == ()
    brokers.failure = KafkaError(E.TOPIC_AUTHORIZATION_FAILED, "x")
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        listing(brokers)


@pytest.mark.parametrize(("duration_ms", "versions"), [(-1, (0, 1)), (0, (1, 1)), (600_000, (1, 1))])
def test_a_duration_needs_a_broker_that_knows_of_it(brokers, duration_ms, versions):
    listing(brokers, duration_ms=duration_ms)
    assert brokers.asked[0][2] == versions


def test_fencing_waits_for_the_markers_of_the_transaction_that_it_aborts(brokers):
    brokers.inits = [E.CONCURRENT_TRANSACTIONS, E.CONCURRENT_TRANSACTIONS, E.NONE]
    assert brokers.run(administration(brokers).fence("x", 60_000)) == (7, 5)
    assert brokers.pauses == 2
    brokers.inits = [E.INVALID_TRANSACTION_TIMEOUT]
    with pytest.raises(KafkaError, match="INVALID_TRANSACTION_TIMEOUT"):
        brokers.run(administration(brokers).fence("x", 60_000))
