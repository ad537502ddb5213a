import pytest

from headrace.controller.agent.agent import RETRY_MS
from headrace.controller.agent.cluster_reader import ClusterReader
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.errors import ErrorCode, KafkaError
from tests.controller.fake_zk import Killed


def make(node, name, replicas=((0,),)):
    node.create(name, replicas, {})
    node.publish()


def put_topic(ensemble, name, replicas):
    ensemble.put(znodes.topic_path(name), znodes.encode_topic(TopicAssignment(znodes.new_uuid(), replicas)))


def state_of(ensemble, name, index=0):
    node = ensemble.nodes[znodes.state_path(name, index)]
    return znodes.decode_state("", node.data, node.version)


def test_a_topic_that_somebody_wrote_into_zookeeper_gets_its_states_and_is_served(new_node, ensemble):
    node = new_node()
    put_topic(ensemble, "t", ((0,), (0,)))
    node.turn()
    assert state_of(ensemble, "t", 1) == PartitionState(0, 0, (0,), node.agent.election.epoch)
    assert sorted(node.owner.directories) == ["t-0", "t-1"]


def test_states_that_another_controller_began_to_write_are_completed(new_node, ensemble):
    node = new_node()
    put_topic(ensemble, "t", ((0,), (0,), (0,)))
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(PartitionState(0, 3, (0,), 1)))
    ensemble.put(znodes.partition_path("t", 1))
    node.turn()
    assert state_of(ensemble, "t", 0).leader_epoch == 3
    assert state_of(ensemble, "t", 1) == state_of(ensemble, "t", 2)


def test_a_change_of_overrides_reaches_the_view(new_node, ensemble):
    node = new_node()
    make(node, "t")
    ensemble.put(znodes.topic_config_path("t"), znodes.encode_config({"retention.ms": "7"}))
    ensemble.put(f"{znodes.CONFIG_CHANGES}/config_change_0000000000", b'{"version":2,"entity_path":"topics/t"}')
    node.turn()
    assert node.view.topics["t"].configs == {"retention.ms": "7"}


def test_a_leader_that_died_is_replaced_from_the_isr_and_the_epoch_goes_up(new_node, ensemble):
    node = new_node()
    other = ensemble.session()
    ensemble.run(other.create(znodes.broker_path(1), znodes.encode_broker("b", 1, None, 0), is_ephemeral=True))
    node.turn()
    make(node, "t", ((1, 0),))
    assert state_of(ensemble, "t").leader == 1
    other.expire()
    node.turn()
    assert state_of(ensemble, "t") == PartitionState(0, 1, (0,), node.agent.election.epoch, 1)
    assert node.view.topics["t"].partitions[0].leader == 0


def test_a_state_that_somebody_else_wrote_is_read_again_before_it_is_changed(new_node, ensemble):
    node = new_node()
    other = ensemble.session()
    ensemble.run(other.create(znodes.broker_path(1), znodes.encode_broker("b", 1, None, 0), is_ephemeral=True))
    node.turn()
    make(node, "t", ((1, 0),))
    theirs = PartitionState(1, 8, (1,), 1)
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(theirs))
    other.expire()
    node.turn()
    state = state_of(ensemble, "t")
    assert (state.leader, state.leader_epoch, state.isr) == (-1, 9, (1,))


def test_one_topic_that_can_not_be_read_holds_up_no_other(new_node, ensemble):
    node = new_node()
    other = ensemble.session()
    ensemble.run(other.create(znodes.broker_path(1), znodes.encode_broker("b", 1, None, 0), is_ephemeral=True))
    node.turn()
    put_topic(ensemble, "a-broken", ((0,),))
    ensemble.put(znodes.state_path("a-broken", 0), b"{")
    put_topic(ensemble, "good", ((0,),))
    node.turn()
    assert state_of(ensemble, "good").leader == 0
    assert node.view.topics["a-broken"].partitions[0].leader == -1


def test_a_follower_answers_not_controller_and_writes_nothing(new_node, ensemble):
    new_node(0)
    follower = new_node(1)
    with pytest.raises(KafkaError, match="node 0") as failure:
        follower.agent.check_active()
    assert failure.value.code is ErrorCode.NOT_CONTROLLER
    writes = ensemble.writes
    put_topic(ensemble, "t", ((1,),))
    ensemble.put(znodes.delete_topic_path("t"))
    follower.turn()
    assert ensemble.writes == writes


def test_a_follower_hosts_its_replicas_once_the_active_controller_wrote_their_states(new_node, ensemble):
    active, follower = new_node(0), new_node(1)
    active.turn()
    put_topic(ensemble, "t", ((1, 0),))
    follower.turn()
    assert follower.view.topics["t"].partitions[0].slot == -1
    active.turn()
    follower.turn()
    assert follower.view.topics["t"].partitions[0].leader == 1
    assert "t-0" in follower.owner.directories


def test_a_follower_deletes_its_replicas_when_the_active_controller_deleted_the_topic(new_node, ensemble):
    active, follower = new_node(0), new_node(1)
    active.turn()
    make(active, "t", ((0, 1),))
    active.turn()
    follower.turn()
    assert "t-0" in follower.owner.directories
    ensemble.put(znodes.delete_topic_path("t"))
    follower.turn()
    assert "t" in follower.view.topics, "the active controller may refuse"
    active.turn()
    active.channels.answer_stops({1})
    active.turn()
    follower.turn()
    assert not follower.owner.directories
    assert follower.view.doomed == follower.view.deleted == ()
    assert "t" not in follower.view.topics


def test_a_follower_that_saw_no_mark_keeps_the_files_of_a_topic_that_is_gone(new_node, ensemble):
    active, follower = new_node(0), new_node(1)
    active.turn()
    make(active, "t", ((0, 1),))
    make(active, "kept", ((0, 1),))
    active.turn()
    follower.turn()
    ensemble.put(znodes.delete_topic_path("kept"))
    follower.turn()
    ensemble.remove(znodes.delete_topic_path("kept"))
    follower.turn()
    ensemble.remove(znodes.topic_path("kept"))  # long after a mark that was taken back
    ensemble.put(znodes.delete_topic_path("t"))
    active.turn()
    active.channels.answer_stops({1})
    active.turn()
    follower.turn()
    assert sorted(follower.owner.directories) == ["kept-0", "t-0"]
    assert follower.view.doomed == follower.view.deleted == ()
    assert follower.view.topics == {}


@pytest.mark.parametrize("cut", range(12))
def test_a_reload_cut_off_half_way_lets_nothing_partial_out(new_node, ensemble, cut):
    """The session is new and ZooKeeper goes away after each read of the reload in turn; clients ask meanwhile."""
    node = new_node()
    for name in ("a", "b"):
        make(node, name)
    node.turn()
    view = node.view
    node.zk.expire()
    node.leave()
    node.zk.session_id += 1000
    ensemble.sessions[node.zk.session_id] = node.zk
    reads = []

    def cut_off():
        reads.append(0)
        if len(reads) > cut:
            raise ZkLost("cut")

    node.zk.on_read = cut_off
    try:
        node.join()
    except ZkLost:
        assert not node.agent.is_loaded
        node.zk.on_read = lambda: None
        with pytest.raises(KafkaError) as failure:
            node.agent.check_active()
        assert failure.value.code is ErrorCode.NOT_CONTROLLER
        node.publish()
        assert node.view == view
        node.join()
    node.zk.on_read = lambda: None
    node.turn()
    assert node.view.topics == view.topics
    assert node.view.deleted == ()
    assert node.agent.is_loaded


def test_a_follower_that_is_elected_reads_everything_again(new_node, ensemble):
    active, follower = new_node(0), new_node(1)
    active.turn()
    make(active, "t", ((0, 1),))
    active.turn()
    follower.turn()
    ensemble.put(znodes.state_path("t", 0), znodes.encode_state(PartitionState(0, 6, (0, 1), 1)))
    active.zk.expire()
    follower.turn()
    assert follower.agent.election.is_active
    assert state_of(ensemble, "t")[:3] == (1, 7, (1,))
    assert follower.view.controller_id == 1


def test_where_reading_everything_failed_after_the_election_it_is_read_later(new_node, ensemble, monkeypatch):
    active, follower = new_node(0), new_node(1)
    active.turn()
    make(active, "t", ((0, 1),))
    follower.turn()
    active.zk.expire()

    tries = []

    async def lost(_reader, ids):
        tries.append(1)
        if len(tries) < 3:
            raise ZkLost("no reply")
        return await read_brokers(_reader, ids)

    read_brokers = ClusterReader.read_brokers
    monkeypatch.setattr(ClusterReader, "read_brokers", lost)
    follower.agent.note([znodes.CONTROLLER])
    follower.agent.follow()
    follower.settle()
    follower.agent.follow()
    follower.settle()
    assert follower.agent.election.is_active
    assert not follower.agent.is_loaded
    assert len(tries) == 1
    follower.now_ms += RETRY_MS
    follower.turn()
    assert len(tries) > 2
    assert state_of(ensemble, "t").leader == 1


def test_a_lost_session_ends_the_term_and_the_next_one_begins_another(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.turn()
    view = node.view
    node.zk.expire()
    node.leave()
    with pytest.raises(KafkaError):
        node.agent.check_active()
    assert node.view == view
    node.rejoin()
    assert node.agent.election.epoch == 2
    assert node.view.topics == view.topics


def test_nothing_runs_while_there_is_no_connection_and_everything_after(new_node, ensemble):
    node = new_node()
    put_topic(ensemble, "t", ((0,),))
    node.zk.is_connected = False
    node.agent.note([znodes.TOPICS])
    node.agent.follow()
    node.settle()
    assert "t" not in node.known.topics
    node.zk.is_connected = True
    node.turn()
    assert node.view.topics["t"].partitions[0].leader == 0


@pytest.mark.parametrize("fault", ["before", "after"])
@pytest.mark.parametrize("failure", [Killed, ZkLost])
def test_a_join_interrupted_at_any_write_is_made_up_for(new_node, ensemble, fault, failure):
    """Every write of the first start in turn: the process dies, or the reply is lost."""
    ordinal = 0
    node = new_node(join=False)
    put_topic(ensemble, "t", ((0,), (0,)))
    initial = dict(ensemble.nodes)
    while True:
        ensemble.nodes, ensemble.writes = dict(initial), 0

        def strike(number, at=ordinal):
            if number == at:
                raise failure("here")

        setattr(ensemble, "on_write" if fault == "before" else "after_write", strike)
        try:
            node.join()
        except failure:
            pass
        if ensemble.writes <= ordinal:
            break  # there is no such write any more: all of them were tried
        ensemble.on_write = ensemble.after_write = lambda _ordinal: None
        node = node.restarted() if failure is Killed else node
        node.join()
        node.turn()
        assert node.agent.election.is_active
        assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"1"
        assert node.view.topics["t"].partitions[1].leader == 0
        ensemble.remove(znodes.CONTROLLER)
        node = type(node)(node.seat, ensemble.session(), node.owner)
        ordinal += 1
    assert ordinal > 15


def test_a_node_whose_registration_somebody_removed_is_not_taken_for_dead(new_node, ensemble):
    node = new_node()
    make(node, "t")
    node.turn()
    view, epoch = node.view, state_of(ensemble, "t").leader_epoch
    ensemble.remove(znodes.broker_path(0))
    node.turn()
    assert node.agent.is_unregistered
    assert node.view == view
    node.agent.is_unregistered = False
    node.join()
    assert node.view.topics == view.topics
    assert node.view.brokers[0].epoch > view.brokers[0].epoch > 0
    assert state_of(ensemble, "t").leader_epoch == epoch
