"""A broker as the controller sees it: it judges requests as Kafka's do, and remembers what it was told until it is restarted."""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

DURING_DELETE = -2
NO_EPOCHS = (-1, -2)


class ToldBroker:
    """One incarnation.

    held       (topic, topic id, partition) of what stands on its disks, which outlive it
    leaders    (topic, partition) -> leader and epochs, by LeaderAndIsr
    metadata   the same, by UpdateMetadata
    live       brokers that it knows
    """

    def __init__(self, broker_id, epoch, held):
        self.broker_id = broker_id
        self.epoch = epoch
        self.held = held
        self.is_alive = True
        self.leaders = {}
        self.metadata = {}
        self.live = frozenset()
        self.faults = []
        self._controller_epoch = 0

    def take(self, api_key, version, body):
        """Carry a request out; the answer's body."""
        request = decode_request(api_key, version, memoryview(body))
        code = self._judge(request)
        takes = {
            ApiKey.LEADER_AND_ISR: self._take_leaders,
            ApiKey.UPDATE_METADATA: self._take_metadata,
            ApiKey.STOP_REPLICA: self._take_stops,
        }
        return encode_response(api_key, version, takes[api_key](request, code))

    def _judge(self, request):
        if request.controller_epoch < self._controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if -1 < request.broker_epoch < self.epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        self._controller_epoch = request.controller_epoch
        return ErrorCode.NONE

    def _take_leaders(self, request, code):
        kind = messages.LeaderAndIsrResponse
        topics = []
        for topic in request.topic_states if not code else ():
            rows = []
            for row in topic.partition_states:
                error = self._follow(topic.topic_name, topic.topic_id.hex(), row)
                rows.append(kind.LeaderAndIsrPartitionError(topic.topic_name, row.partition_index, int(error)))
            topics.append(kind.LeaderAndIsrTopicError(topic.topic_id, rows))
        return kind(error_code=int(code), topics=topics)

    def _follow(self, name, topic_id, row):
        place = (name, row.partition_index)
        if any(held[::2] == place and held[1] != topic_id for held in self.held):
            self.faults.append(f"{place} has an older topic's files")
            return ErrorCode.INCONSISTENT_TOPIC_ID
        if row.leader >= 0 and row.leader not in self.live:
            self.faults.append(f"{place} is led by {row.leader}, who is unknown here")
        if self.broker_id not in row.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        known = self.leaders.get(place)
        if known is None or row.leader_epoch > known[1]:
            self.leaders[place] = (row.leader, row.leader_epoch, tuple(row.isr), row.partition_epoch)
        self.held.add((name, topic_id, row.partition_index))
        return ErrorCode.NONE

    def _take_metadata(self, request, code):
        if not code:
            self.live = frozenset(broker.id for broker in request.live_brokers)
            for topic in request.topic_states:
                for row in topic.partition_states:
                    place = (topic.topic_name, row.partition_index)
                    self.metadata.pop(place, None)
                    if row.leader != DURING_DELETE:
                        self.metadata[place] = (row.leader, row.leader_epoch, tuple(row.isr), row.zk_version)
        return messages.UpdateMetadataResponse(error_code=int(code))

    def _take_stops(self, request, code):
        rows = []
        for topic in request.topic_states if not code else ():
            for row in topic.partition_states:
                place = (topic.topic_name, row.partition_index)
                rows.append(messages.StopReplicaResponse.StopReplicaPartitionError(*place, int(self._stop(place, row))))
        return messages.StopReplicaResponse(error_code=int(code), partition_errors=rows)

    def _stop(self, place, row):
        known = self.leaders.get(place)
        if known is not None and row.leader_epoch not in NO_EPOCHS and row.leader_epoch < known[1]:
            return ErrorCode.FENCED_LEADER_EPOCH
        self.leaders.pop(place, None)
        if row.delete_partition:
            self.held -= {held for held in self.held if held[::2] == place}
        return ErrorCode.NONE
