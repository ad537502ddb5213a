"""A controller of another node, as this node's tests have it tell things."""

from __future__ import annotations

from headrace.controller.admin import a04_leader_and_isr, a05_stop_replica, a06_update_metadata
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.protocol.messages import ZERO_UUID

LeaderAndIsr = messages.LeaderAndIsrRequest
UpdateMetadata = messages.UpdateMetadataRequest
StopReplica = messages.StopReplicaRequest

CONTROLLER = 7
_HANDLERS = {
    ApiKey.LEADER_AND_ISR: a04_leader_and_isr.handle,
    ApiKey.STOP_REPLICA: a05_stop_replica.handle,
    ApiKey.UPDATE_METADATA: a06_update_metadata.handle,
}


class Controller:
    """Elected in the fake ZooKeeper; it writes topics, and tells a node what the test wants told.

    epoch   of its election
    """

    def __init__(self, ensemble, epoch=5):
        self.ensemble = ensemble
        self.epoch = epoch
        ensemble.put(znodes.CONTROLLER, znodes.encode_controller(CONTROLLER, 0))
        ensemble.put(znodes.CONTROLLER_EPOCH, str(epoch).encode())
        self.broker(CONTROLLER)

    def broker(self, node_id):
        path = znodes.broker_path(node_id)
        if path not in self.ensemble.nodes:
            self.ensemble.put(path, znodes.encode_broker(f"host-{node_id}", 9092, None, 0))

    def put_topic(self, name, replicas, states=None, topic_id=None, removing=None):
        """Into ZooKeeper; returns the topic's id.

        removing   by partition: replicas that a reassignment takes away
        """
        topic_id = znodes.new_uuid() if topic_id is None else topic_id
        assignment = TopicAssignment(topic_id, replicas, {}, removing or {})
        self.ensemble.put(znodes.topic_path(name), znodes.encode_topic(assignment))
        for index, state in (states or {}).items():
            self.put_state(name, index, state)
        return topic_id

    def put_state(self, name, index, state):
        self.ensemble.put(znodes.state_path(name, index), znodes.encode_state(state))

    def state(self, leader, leader_epoch, isr, version=0):
        return PartitionState(leader, leader_epoch, tuple(isr), self.epoch, version)

    # Requests

    def lead(self, node, name, topic_id, states, replicas, version=7, finish=True, is_new=False, **fields):
        """LeaderAndIsr of partitions; returns the errors by partition, or what waits for an answer."""
        rows = [
            LeaderAndIsr.LeaderAndIsrPartitionState(
                topic_name=name,
                partition_index=index,
                controller_epoch=state.controller_epoch,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=list(state.isr),
                partition_epoch=state.version,
                replicas=list(replicas),
                is_new=is_new,
            )
            for index, state in states.items()
        ]
        head = {"controller_id": CONTROLLER, "controller_epoch": self.epoch, **fields}
        if version < 2:
            request = LeaderAndIsr(**head, ungrouped_partition_states=rows)
        else:
            row = LeaderAndIsr.LeaderAndIsrTopicState(name, _bytes_of(topic_id), rows)
            request = LeaderAndIsr(**head, topic_states=[row])
        return self._ask(node, ApiKey.LEADER_AND_ISR, version, request, finish)

    def update(self, node, name="", topic_id="", states=None, replicas=(), version=8, brokers=(), offline=(), **fields):
        """UpdateMetadata; returns the error."""
        rows = [
            UpdateMetadata.UpdateMetadataPartitionState(
                topic_name=name,
                partition_index=index,
                controller_epoch=state.controller_epoch,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=list(state.isr),
                zk_version=state.version,
                replicas=list(replicas),
                offline_replicas=list(offline),
            )
            for index, state in (states or {}).items()
        ]
        head = {"controller_id": CONTROLLER, "controller_epoch": self.epoch, **fields}
        live = [UpdateMetadata.UpdateMetadataBroker(id=one, endpoints=[]) for one in brokers]
        if version < 5:
            request = UpdateMetadata(**head, ungrouped_partition_states=rows, live_brokers=live)
        else:
            topics = [UpdateMetadata.UpdateMetadataTopicState(name, _bytes_of(topic_id), rows)] if rows else []
            request = UpdateMetadata(**head, topic_states=topics, live_brokers=live)
        return self._ask(node, ApiKey.UPDATE_METADATA, version, request, True)

    def stop(self, node, name, stops, version=4, finish=True, **fields):
        """StopReplica; stops: partition -> (leader epoch, whether it is deleted). Returns the errors by partition."""
        head = {"controller_id": CONTROLLER, "controller_epoch": self.epoch, **fields}
        is_deleted = any(deleted for _epoch, deleted in stops.values())
        if version == 0:
            rows = [StopReplica.StopReplicaPartitionV0(name, index) for index in stops]
            request = StopReplica(**head, delete_partitions=is_deleted, ungrouped_partitions=rows)
        elif version < 3:
            rows = [StopReplica.StopReplicaTopicV1(name, list(stops))]
            request = StopReplica(**head, delete_partitions=is_deleted, topics=rows)
        else:
            rows = [StopReplica.StopReplicaPartitionState(index, *one) for index, one in stops.items()]
            request = StopReplica(**head, topic_states=[StopReplica.StopReplicaTopicState(name, rows)])
        return self._ask(node, ApiKey.STOP_REPLICA, version, request, finish)

    def _ask(self, node, api, version, request, finish):
        body = memoryview(bytes(encode_request(api, version, request)))
        pending = node.handle(_HANDLERS[api], version, body)
        waiting = Waiting(node, api, version, pending)
        return waiting.finish() if finish else waiting


class Waiting:
    """An answer in the making."""

    def __init__(self, node, api, version, pending):
        self._node = node
        self._api = api
        self._version = version
        self._pending = pending

    def poll(self):
        """The answer: its error where it has one, else the errors by partition; None: there is none yet."""
        body = self._pending.poll(self._node.now_ms)
        if body is None:
            return None
        response = decode_response(self._api, self._version, memoryview(body))
        if response.error_code or self._api is ApiKey.UPDATE_METADATA:
            return ErrorCode(response.error_code)
        rows = list(response.partition_errors or ())
        if self._api is ApiKey.LEADER_AND_ISR:
            for topic in response.topics or ():
                rows += topic.partition_errors
        return {row.partition_index: ErrorCode(row.error_code) for row in rows}

    def finish(self):
        """Have the owners act."""
        self._node.turn()
        answer = self.poll()
        assert answer is not None
        return answer


def _bytes_of(topic_id):
    return bytes.fromhex(topic_id) or ZERO_UUID
