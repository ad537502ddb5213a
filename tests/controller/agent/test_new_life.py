import itertools
import time

from headrace.controller.agent import new_life
from headrace.controller.agent.new_life import begin_epochs, end_life_before
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.ids import NO_LEADER
from headrace.runtime.tasks import Tasks

NODE, OTHER, THIRD = 1, 2, 3
BROKER = znodes.encode_broker("here", 9092, None, 5)


def put_topic(ensemble, name, isr, leader=NODE, replicas=(NODE, OTHER, THIRD)):
    ensemble.put(znodes.topic_path(name), znodes.encode_topic(TopicAssignment("", (replicas,))))
    put_state(ensemble, name, isr, leader)


def put_state(ensemble, name, isr, leader=OTHER):
    ensemble.put(znodes.state_path(name, 0), znodes.encode_state(PartitionState(leader, 1, isr, 1)))


def begin(ensemble, *live, is_resumed=False):
    """The session of a new life; that of the life before, which is in /brokers/ids still; others live."""
    for path in znodes.PERSISTENT_PATHS:
        ensemble.put(path, b"")
    old, new = ensemble.session(), ensemble.session()
    ensemble.run(old.create(znodes.broker_path(NODE), BROKER, is_ephemeral=True))
    for broker in live:
        other = ensemble.session()
        ensemble.run(other.create(znodes.broker_path(broker), BROKER, is_ephemeral=True))
    if is_resumed:
        new = old.successor()
    new.previous = (old.session_id, b"")
    return new


def wait(zk, wait_ms_max=60_000, steps=()):
    """Whom it gave up on, and how often it waited; before each time the next of the steps is taken."""
    tasks = Tasks(lambda: time.monotonic_ns() // 1_000_000, ZkLost)
    left, count = iter(steps), itertools.count()

    async def sleep(_wait_ms):
        next(count)
        next(left, lambda: None)()

    async def pause():
        pass

    async def share(_count, work):
        await work()

    tasks.sleep, tasks.pause, tasks.share = sleep, pause, share
    return zk.ensemble.run(end_life_before(zk, tasks, NODE, wait_ms_max)), next(count)


def test_it_waits_until_each_isr_that_has_a_living_member_is_without_us(ensemble):
    put_topic(ensemble, "led", (NODE, OTHER))
    put_topic(ensemble, "followed", (OTHER, NODE, THIRD), leader=OTHER)
    zk = begin(ensemble, OTHER)
    steps = [
        lambda: put_state(ensemble, "led", (OTHER,)),
        lambda: None,
        lambda: put_state(ensemble, "followed", (OTHER, THIRD)),
    ]
    assert wait(zk, steps=steps) == ([], 3)


def test_the_controller_sees_us_go_before_and_is_another_one(ensemble):
    zk = begin(ensemble)
    old = ensemble.nodes[znodes.broker_path(NODE)].ephemeral_owner
    ensemble.put(znodes.CONTROLLER, b"")
    ensemble.nodes[znodes.CONTROLLER] = ensemble.nodes[znodes.CONTROLLER]._replace(ephemeral_owner=old)
    wait(zk)
    assert znodes.broker_path(NODE) not in ensemble.nodes
    assert znodes.CONTROLLER not in ensemble.nodes


def test_another_holder_of_our_id_stays(ensemble):
    zk = begin(ensemble)
    zk.previous = (zk.session_id + 1000, b"")
    wait(zk)
    assert znodes.broker_path(NODE) in ensemble.nodes


def test_nobody_is_waited_for_where_nobody_has_more(ensemble):
    put_topic(ensemble, "alone", (NODE,))
    put_topic(ensemble, "all-lost", (NODE, THIRD))
    put_topic(ensemble, "out", (OTHER, THIRD), leader=OTHER)
    put_topic(ensemble, "others", (NODE, OTHER), replicas=(OTHER, THIRD))
    put_topic(ensemble, "going", (NODE, OTHER))
    ensemble.put(znodes.delete_topic_path("going"), b"")
    put_topic(ensemble, "damaged", (NODE, OTHER))
    ensemble.put(znodes.topic_path("damaged"), b"{")
    assert wait(begin(ensemble, OTHER)) == ([], 0)


def test_a_topic_that_is_marked_for_deletion_meanwhile_is_not_waited_for(ensemble):
    """Its deletion waits for this node, and no controller takes the node out of its ISR."""
    put_topic(ensemble, "going", (NODE, OTHER))
    zk = begin(ensemble, OTHER)
    mark = [lambda: ensemble.put(znodes.delete_topic_path("going"), b"")]
    assert wait(zk, steps=mark) == ([], 1)


def test_others_that_went_down_as_well_are_waited_for_no_more(ensemble):
    put_topic(ensemble, "t", (NODE, OTHER))
    zk = begin(ensemble, OTHER)
    assert wait(zk, steps=[lambda: ensemble.nodes.pop(znodes.broker_path(OTHER))]) == ([], 1)


def test_where_no_controller_acts_it_goes_on_and_says_which_partitions(ensemble, caplog):
    put_topic(ensemble, "t", (NODE, OTHER))
    assert wait(begin(ensemble, OTHER), wait_ms_max=0)[0] == [("t", 0)]
    [line] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "partitions=1 some=t-0" in line


def test_a_member_that_lives_and_is_elected_by_no_controller_is_not_waited_for_long(ensemble, monkeypatch, caplog):
    """Its log directory has failed. The whole node would wait for it."""
    monkeypatch.setattr(new_life, "LEADERLESS_MS", 20)
    put_topic(ensemble, "t", (NODE, OTHER), leader=NO_LEADER)
    put_topic(ensemble, "led", (NODE, OTHER), leader=OTHER)
    steps = [lambda: None, lambda: put_state(ensemble, "led", (OTHER,))]
    left, count = wait(begin(ensemble, OTHER), steps=steps)
    assert left == []
    assert count > 2
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def test_a_member_that_holds_its_own_replica_is_not_waited_for(ensemble):
    """Each would wait for the other: it can't lead before it knows what we have."""
    put_topic(ensemble, "led", (NODE, OTHER), leader=-1)
    put_topic(ensemble, "followed", (OTHER, NODE, THIRD), leader=THIRD)
    zk = begin(ensemble, OTHER, THIRD)
    for topic in ("led", "followed"):
        ensemble.put(held_znodes.held_path(OTHER, topic), held_znodes.encode_held({0: HeldReplica("")}))
    assert wait(zk, steps=[lambda: put_state(ensemble, "followed", (THIRD,), leader=THIRD)]) == ([], 1)


def test_a_resumed_session_registers_anew(ensemble):
    zk = begin(ensemble, OTHER, is_resumed=True)
    assert ensemble.nodes[znodes.broker_path(NODE)].ephemeral_owner == zk.session_id
    wait(zk)
    assert znodes.broker_path(NODE) not in ensemble.nodes


def version(ensemble, name):
    return ensemble.nodes[znodes.state_path(name, 0)].version


def test_what_the_life_before_asked_for_is_refused_by_the_version_of_what_it_led(ensemble):
    put_topic(ensemble, "led", (NODE,), leader=NODE)
    put_topic(ensemble, "followed", (OTHER,), leader=OTHER)
    put_topic(ensemble, "sole", (NODE,), leader=NODE, replicas=(NODE,))
    before = {name: version(ensemble, name) for name in ("led", "followed", "sole")}
    data = ensemble.data(znodes.state_path("led", 0))
    wait(begin(ensemble, OTHER, is_resumed=True))
    assert {name: version(ensemble, name) - was for name, was in before.items()} == {"led": 1, "followed": 0, "sole": 0}
    assert ensemble.data(znodes.state_path("led", 0)) == data
    [note] = [path for path in ensemble.nodes if path.startswith(znodes.ISR_CHANGE_PREFIX)]
    assert znodes.decode_isr_change(note, ensemble.data(note)) == [("led", 0)]


def test_what_is_written_again_is_noted_by_the_same_write(ensemble):
    """A process that is killed in between would leave versions that the controller has not heard of."""
    for name in ("one", "two"):
        put_topic(ensemble, name, (NODE,), leader=NODE)
    zk = begin(ensemble, OTHER)
    written = []

    def look(_ordinal):
        notes = [path for path in ensemble.nodes if path.startswith(znodes.ISR_CHANGE_PREFIX)]
        written.append((version(ensemble, "one"), version(ensemble, "two"), len(notes)))

    ensemble.after_write = look
    wait(zk)
    assert written[-1] == (1, 1, 1)
    assert {row[:2] for row in written[:-1]} <= {(0, 0)}


def test_a_topic_that_is_marked_for_deletion_is_fenced_as_any_other(ensemble):
    """Its mark may be removed. Where its state is removed meanwhile nothing is written."""
    for name in ("stays", "goes"):
        put_topic(ensemble, name, (NODE,), leader=NODE)
        ensemble.put(znodes.delete_topic_path(name))
    before = version(ensemble, "stays")
    zk = begin(ensemble, OTHER)
    real = zk.commit

    async def overtaken(transaction):
        ensemble.remove(znodes.topic_path("goes"))
        return await real(transaction)

    zk.commit = overtaken
    wait(zk)
    assert version(ensemble, "stays") == before + 1
    assert znodes.state_path("goes", 0) not in ensemble.nodes


def test_a_state_that_somebody_else_writes_meanwhile_is_left_as_it_is(ensemble):
    put_topic(ensemble, "led", (NODE,), leader=NODE)
    zk = begin(ensemble, OTHER)
    real = zk.commit

    async def overtaken(transaction):
        put_state(ensemble, "led", (NODE, OTHER), leader=NODE)
        return await real(transaction)

    zk.commit = overtaken
    wait(zk)
    assert znodes.decode_state("led", ensemble.data(znodes.state_path("led", 0)), 0).isr == (NODE, OTHER)


def test_alone_in_the_cluster_nothing_is_written(ensemble):
    put_topic(ensemble, "led", (NODE, OTHER), leader=NODE)
    before = version(ensemble, "led")
    wait(begin(ensemble))
    assert version(ensemble, "led") == before


def test_what_is_led_alone_begins_another_leader_epoch_where_its_end_may_be_lost(ensemble):
    put_topic(ensemble, "led", (NODE,), leader=NODE, replicas=(NODE,))
    put_topic(ensemble, "without-a-leader", (NODE,), leader=-1, replicas=(NODE,))
    put_topic(ensemble, "others", (OTHER,), leader=OTHER)
    zk = begin(ensemble)
    names = ("led", "without-a-leader", "others")

    async def share(_count, work):
        await work()

    tasks = Tasks(lambda: 0, ZkLost)
    tasks.share = share
    ensemble.run(begin_epochs(zk, tasks, NODE, [(name, 0) for name in names]))
    states = [znodes.decode_state("", ensemble.data(znodes.state_path(name, 0)), 0) for name in names]
    assert [state.leader_epoch for state in states] == [2, 1, 1]
    assert states[0]._replace(leader_epoch=1) == PartitionState(NODE, 1, (NODE,), 1)
