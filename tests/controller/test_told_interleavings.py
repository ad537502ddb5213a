"""A node that is told of the cluster by another node's controller, and reads ZooKeeper beside that: any legal order, by lot.

The controller writes first, then tells, one request on its way at a time; what gets no answer it sends again. Requests come late, twice,
and from a controller that was replaced; the node's reads of ZooKeeper come late as well, its session expires, its process is killed.
In the end the node has what the controller has, and only the files of its own replicas.
"""

import os
from collections import deque

import pytest

from headrace.controller import process
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from tests.controller.test_interleavings import World

pytestmark = pytest.mark.slow

SEEDS = int(os.environ.get("INTERLEAVINGS", "30"))
FIRST_SEED = int(os.environ.get("INTERLEAVINGS_FROM", "1"))
HEALING_CYCLES = 800
NAMES = ("a", "b", "c")
OTHERS = (7, 3)
LeaderAndIsr = messages.LeaderAndIsrRequest
UpdateMetadata = messages.UpdateMetadataRequest
StopReplica = messages.StopReplicaRequest
VERSIONS = {ApiKey.LEADER_AND_ISR: 7, ApiKey.STOP_REPLICA: 4, ApiKey.UPDATE_METADATA: 8}
DELETING = PartitionState(-2, -2, (), 0)


class Topic:
    """As the controller has it."""

    def __init__(self, topic_id):
        self.topic_id = topic_id
        self.replicas = []
        self.states = []
        self.is_leaving = False


class Reply:
    def __init__(self):
        self.is_wanted = True
        self.body = None
        self.is_refused = False

    def __call__(self, body):
        self.is_wanted, self.body = False, body

    def refuse(self):
        self.is_wanted, self.is_refused = False, True


class FollowerWorld(World):
    """The node under test, and a controller that is broker 7."""

    def __init__(self, seed, tmp_path, monkeypatch):
        self.topics = {}
        self.losing = set()  # replicas of the node under test that are to be deleted, and may not be yet
        self.epoch = 5
        self.queue = deque()  # (api, request without its head, what to do when it was answered)
        self.asked = None  # the reply of the one on its way, and the process that it went to
        self.sent = []  # requests that were sent, for those that come twice
        super().__init__(seed, tmp_path, monkeypatch)
        for broker in OTHERS:
            self.ensemble.put(znodes.broker_path(broker), znodes.encode_broker("b", 1, None, 0))
        self.ensemble.put(znodes.CONTROLLER, znodes.encode_controller(7, 0))
        self.ensemble.put(znodes.CONTROLLER_EPOCH, str(self.epoch).encode())
        self.told_epoch = None  # the broker epoch that the controller knows

    # The controller: first it writes

    def write_state(self, name, index, state):
        topic = self.topics[name]
        path = znodes.state_path(name, index)
        self.ensemble.put(path, znodes.encode_state(state))
        topic.states[index] = state._replace(version=self.ensemble.nodes[path].version)

    def write_topic(self, name):
        topic = self.topics[name]
        assignment = TopicAssignment(topic.topic_id, tuple(topic.replicas))
        self.ensemble.put(znodes.topic_path(name), znodes.encode_topic(assignment))

    def add_partitions(self, name, count):
        topic = self.topics[name]
        first = len(topic.replicas)
        for _ in range(count):
            replicas = self.chance.choice(((0, 7), (7, 0), (7, 3), (3, 0)))
            topic.replicas.append(replicas)
            topic.states.append(None)
        self.write_topic(name)
        for index in range(first, first + count):
            replicas = topic.replicas[index]
            self.write_state(name, index, PartitionState(replicas[0], 0, replicas, self.epoch))
        self.tell(name, range(first, first + count))

    def change(self):
        """One thing, by lot."""
        chance, name = self.chance, self.chance.choice(NAMES)
        topic = self.topics.get(name)
        if topic is None:
            if znodes.delete_topic_path(name) not in self.ensemble.nodes:
                self.topics[name] = Topic(znodes.new_uuid())
                self.add_partitions(name, chance.randrange(1, 5))
            return
        if topic.is_leaving:
            return
        what, index = chance.random(), chance.randrange(len(topic.states))
        state, replicas = topic.states[index], topic.replicas[index]
        if what < 0.4:
            leader = chance.choice(replicas)
            state = state._replace(leader=leader, leader_epoch=state.leader_epoch + 1, isr=(leader,))
            self.write_state(name, index, state)
            self.tell(name, (index,))
        elif what < 0.6:
            isr = replicas if len(state.isr) == 1 else (state.leader,)
            self.write_state(name, index, state._replace(isr=isr))
            self.tell(name, (index,), has_roles=False)
        elif what < 0.65 and len(topic.states) < 8:
            self.add_partitions(name, 1)
        elif what < 0.85:
            self.move(name, index)
        elif what < 0.92 and name not in {losing for losing, _index in self.losing}:
            self.delete(name)

    def move(self, name, index):
        """To other brokers; a replica that this node loses is stopped."""
        topic = self.topics[name]
        before = topic.replicas[index]
        replicas = self.chance.choice([one for one in ((0, 7), (7, 3), (3, 0)) if set(one) != set(before)])
        state = topic.states[index]
        epoch = state.leader_epoch + 1
        self.write_state(name, index, state._replace(leader=replicas[0], leader_epoch=epoch, isr=replicas))
        topic.replicas[index] = replicas
        self.losing.discard((name, index))
        if 0 in before and 0 not in replicas:
            self.losing.add((name, index))
            self.tell_stop(name, index)
        self.write_topic(name)
        self.tell(name, (index,))

    def tell_stop(self, name, index):
        rows = [StopReplica.StopReplicaPartitionState(index, self.topics[name].states[index].leader_epoch, True)]
        self.put(
            ApiKey.STOP_REPLICA,
            lambda: self.losing.discard((name, index)),
            topic_states=[StopReplica.StopReplicaTopicState(name, rows)],
        )

    def delete(self, name):
        topic = self.topics[name]
        topic.is_leaving = True
        self.ensemble.put(znodes.delete_topic_path(name))
        self.tell_deletion(name)

    def tell_deletion(self, name):
        topic = self.topics[name]
        rows = [self.metadata_row(index, DELETING, topic.replicas[index]) for index in range(len(topic.states))]
        states = [UpdateMetadata.UpdateMetadataTopicState(name, bytes.fromhex(topic.topic_id), rows)]
        self.put(ApiKey.UPDATE_METADATA, topic_states=states)
        rows = [
            StopReplica.StopReplicaPartitionState(index, -2, True)
            for index, replicas in enumerate(topic.replicas)
            if 0 in replicas
        ]
        self.put(
            ApiKey.STOP_REPLICA,
            lambda: self.remove(name),
            topic_states=[StopReplica.StopReplicaTopicState(name, rows)] if rows else [],
        )

    def remove(self, name):
        if name in self.topics and self.topics[name].is_leaving:
            self.ensemble.remove(znodes.topic_path(name))
            self.ensemble.remove(znodes.delete_topic_path(name))
            del self.topics[name]
            self.losing = {one for one in self.losing if one[0] != name}

    def another_term(self):
        """The controller is replaced: all is told again, and what was on its way may still come."""
        self.epoch += 1
        self.ensemble.put(znodes.CONTROLLER_EPOCH, str(self.epoch).encode())
        self.tell_all()

    def tell_all(self):
        self.queue.clear()
        self.asked = None
        for name, topic in self.topics.items():
            if topic.is_leaving:
                self.tell_deletion(name)
            else:
                self.tell(name, range(len(topic.states)))
        for name, index in sorted(self.losing):
            self.tell_stop(name, index)

    # Then it tells

    def tell(self, name, indexes, has_roles=True):
        topic = self.topics[name]
        topic_id = bytes.fromhex(topic.topic_id)
        if has_roles and (own := [index for index in indexes if 0 in topic.replicas[index]]):
            rows = [self.role_row(name, index) for index in own]
            states = [LeaderAndIsr.LeaderAndIsrTopicState(name, topic_id, rows)]
            self.put(ApiKey.LEADER_AND_ISR, topic_states=states)
        rows = [self.metadata_row(index, topic.states[index], topic.replicas[index]) for index in indexes]
        states = [UpdateMetadata.UpdateMetadataTopicState(name, topic_id, rows)]
        self.put(ApiKey.UPDATE_METADATA, topic_states=states)

    def role_row(self, name, index):
        topic = self.topics[name]
        state = topic.states[index]
        return LeaderAndIsr.LeaderAndIsrPartitionState(
            partition_index=index, controller_epoch=state.controller_epoch, leader=state.leader,
            leader_epoch=state.leader_epoch, isr=list(state.isr), partition_epoch=state.version,
            replicas=list(topic.replicas[index]),
        )  # fmt: skip

    def metadata_row(self, index, state, replicas):
        return UpdateMetadata.UpdateMetadataPartitionState(
            partition_index=index, controller_epoch=state.controller_epoch, leader=state.leader,
            leader_epoch=state.leader_epoch, isr=list(state.isr), zk_version=state.version, replicas=list(replicas),
        )  # fmt: skip

    def put(self, api, then=lambda: None, **fields):
        kind = {
            ApiKey.LEADER_AND_ISR: LeaderAndIsr,
            ApiKey.STOP_REPLICA: StopReplica,
            ApiKey.UPDATE_METADATA: UpdateMetadata,
        }[api]
        request = kind(controller_id=7, controller_epoch=self.epoch, broker_epoch=self.own_epoch(), **fields)
        self.queue.append((api, request, then))

    def own_epoch(self):
        node = self.ensemble.nodes.get(znodes.broker_path(0))
        return node.created_zxid if node is not None else -1

    def send(self, api, request):
        reply = Reply()
        body = memoryview(bytes(encode_request(api, VERSIONS[api], request)))
        self.process._take_request(process.HANDLERS[api], VERSIONS[api], body, reply)
        return reply

    def deliver(self):
        """Send the next one, or see what became of it."""
        if self.own_epoch() != self.told_epoch:  # the broker went and came
            self.told_epoch = self.own_epoch()
            self.tell_all()
        if self.asked is None:
            if self.queue and self.own_epoch() != -1:
                api, request, _then = self.queue[0]
                self.sent.append((api, request))
                self.asked = (self.send(api, request), self.process)
            return
        reply, asked = self.asked
        if reply.is_refused or asked is not self.process:
            self.asked = None  # it is sent again
        elif reply.body is not None:
            api, request, then = self.queue.popleft()
            self.asked = None
            response = decode_response(api, VERSIONS[api], memoryview(reply.body))
            errors = {row.error_code for row in getattr(response, "partition_errors", None) or ()}
            if not response.error_code and errors <= {0}:
                then()
            elif api is ApiKey.STOP_REPLICA and ErrorCode.FENCED_LEADER_EPOCH not in errors:
                self.queue.append((api, request, then))  # as a deletion is tried again

    def disturb(self):
        what = self.chance.random()
        if what < 0.12:
            self.change()
        elif what < 0.13:
            self.another_term()
        elif what < 0.15 and self.sent:
            self.send(*self.chance.choice(self.sent[-20:]))  # late, or twice
        elif what < 0.16:
            self.zk.drop(self.chance)
        elif what < 0.165:
            self.zk.expire()
            self.ensemble.ours.add(self.zk.session_id)
        elif what < 0.175:
            self.start_process()
        if self.chance.random() < 0.5:
            self.deliver()

    def heal(self):
        for _ in range(HEALING_CYCLES):
            self.deliver()
            self.cycle()
            self.clock.ms += 20
            self.zk.serve(10)
            self.zk.deliver(10)
            self.owner.follow()

    def check(self):
        view = self.seat.view.read()
        assert not self.ensemble.faults
        assert not self.queue
        assert view.topics.keys() == self.topics.keys()
        assert view.deleted == view.doomed == view.released == ()
        wanted = set()
        for name, topic in self.topics.items():
            assert view.topics[name].topic_id == topic.topic_id
            for index, (row, state) in enumerate(zip(view.topics[name].partitions, topic.states, strict=True)):
                place = (name, index)
                assert (row.leader, row.leader_epoch, row.isr) == (state.leader, state.leader_epoch, state.isr), place
                assert row.replicas == topic.replicas[index], place
                assert (row.slot >= 0) == (0 in row.replicas), place
                if row.slot >= 0:
                    wanted.add(f"{name}-{index}")
        assert self.owner.directories.keys() == wanted
        assert self.owner.strays == []


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")  # of processes that were killed
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_what_is_told_and_what_is_read_end_in_the_same(seed, tmp_path, monkeypatch):
    world = FollowerWorld(seed, tmp_path, monkeypatch)
    world.play()
