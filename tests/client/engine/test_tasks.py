"""Procedures: what they wait for, how they end, and that none outlives its engine."""

import pytest

from headrace.client.engine.tasks import ANY_NODE, Ask, Cancelled, Pause, first_to_answer, retry_pause_s
from headrace.client.failures import ConnectionFailed
from headrace.errors import HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.support.model_cluster import ModelCluster
from tests.support.model_network import Network

METADATA = (ApiKey.METADATA, (1, 12), messages.MetadataRequest(topics=None))


@pytest.fixture
def cluster():
    return ModelCluster(3)


@pytest.fixture
def network(cluster):
    made = Network(cluster)
    yield made
    made.close()


def test_a_procedure_waits_for_responses_pauses_and_other_tasks(network):
    engine = network.client()

    def inner():
        yield Pause(1.0)
        return 5

    def outer():
        answer = yield Ask(ANY_NODE, *METADATA)
        return answer.cluster_id, (yield engine.start(inner(), "inner"))

    began_s = network.now_s
    assert network.result(engine.start(outer(), "outer")) == ("model", 5)
    assert network.now_s - began_s >= 1.0
    assert list(engine.tasks.alive) == []


def test_a_failure_reaches_what_waits(network):
    engine = network.client()

    def failing():
        yield Pause(0.1)
        raise HeadraceError("no")

    def outer():
        yield engine.start(failing(), "inner")

    with pytest.raises(HeadraceError, match="no"):
        network.result(engine.start(outer(), "outer"))


def test_a_fault_of_ours_is_raised_and_leaves_nothing_that_waits(network):
    engine = network.client()

    def broken():
        yield Pause(0.1)
        raise ZeroDivisionError

    task = engine.start(broken(), "a thing")
    with pytest.raises(ZeroDivisionError):
        network.run(1)
    with pytest.raises(HeadraceError, match="a thing: ZeroDivisionError"):
        task.value()


def test_a_task_that_is_cancelled_frees_what_it_had_and_hears_no_more(network):
    engine = network.client()
    freed = []

    def waiting():
        try:
            yield Ask(ANY_NODE, *METADATA)
        finally:
            freed.append(True)

    task = engine.start(waiting(), "a thing")
    task.cancel()
    network.run(5)
    assert freed == [True]
    with pytest.raises(Cancelled):
        task.value()


def test_a_task_may_end_itself(network):
    engine = network.client()
    tasks = []

    def ending():
        yield Pause(0.1)
        tasks[0].cancel(HeadraceError("enough"))
        yield Pause(0.1)
        raise AssertionError

    tasks.append(engine.start(ending(), "a thing"))
    network.run(1)
    assert str(tasks[0].failure) == "enough"


def test_closing_an_engine_ends_all_procedures_and_those_that_come_later(network):
    engine = network.client()

    def stubborn():
        while True:
            try:
                yield Ask(ANY_NODE, *METADATA)
            except HeadraceError:
                yield Pause(0.1)

    first = engine.tasks.start(stubborn(), "one that health does not name")
    engine.close(ConnectionFailed("closed"))
    later = engine.start(stubborn(), "another")
    for task in (first, later):
        assert str(task.failure) == "closed"
    assert not engine.tasks.alive


def test_every_broker_is_asked_until_one_responds(network, cluster):
    engine = network.client()
    for node_id in (0, 1):
        cluster.stop(node_id)
    answer = network.result(engine.start(first_to_answer(engine.requests, *METADATA), "metadata"))
    assert answer.cluster_id == "model"
    cluster.stop(2)
    with pytest.raises(ConnectionFailed, match="no broker responded"):
        network.result(engine.start(first_to_answer(engine.requests, *METADATA), "metadata"))


def test_what_is_started_long_after_the_last_turn_has_its_whole_time(network):
    engine = network.client()
    network.result(engine.start(first_to_answer(engine.requests, *METADATA), "metadata"))
    network.now_s += 500  # the caller computed
    dropped = []
    engine.requests.drop = lambda *args: dropped.append(args)
    network.result(engine.start(first_to_answer(engine.requests, *METADATA), "metadata"))
    assert dropped == []


def test_health_names_what_is_waited_for(network):
    engine = network.client()

    def waiting():
        yield Pause(1)

    engine.start(waiting(), "a thing")
    assert list(engine.waits_for()) == ["a thing"]


def test_pauses_grow_to_a_bound():
    pauses = [retry_pause_s(tries) for tries in range(1, 100)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.05, 1.0)
