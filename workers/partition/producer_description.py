"""The producers that a log remembers, for DescribeProducers.

Runs in: the partition worker that owns the log, through `requests.py`. The body is not the client's: it names slots and
keys (`DESCRIBED_LOG` in `shm/messages.py`), and the answer has one nameless topic, whose partitions are in that order.
All producers of one partition are reported; those of further ones only up to PRODUCERS_DESCRIBED_MAX in all.

Source: Kafka `UnifiedLog.activeProducers`; KIP-664.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.limits import PRODUCERS_DESCRIBED_MAX
from headrace.log.state.producer import Producer
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_response
from headrace.protocol.record_batch import NO_SEQUENCE
from headrace.runtime.mailbox import Handler, Reply
from headrace.shm.messages import DESCRIBED_LOG
from headrace.workers.partition.replicas.replica import Replica

_Topic = messages.DescribeProducersResponse.TopicResponse
_Partition = messages.DescribeProducersResponse.PartitionResponse
_State = messages.DescribeProducersResponse.ProducerState


class ProducerDescription:
    """The handler, over the replicas of this worker by slot."""

    def __init__(self, replicas: dict[int, Replica]) -> None:
        self._replicas = replicas

    def handlers(self) -> dict[int, Handler]:
        """By api key."""
        return {ApiKey.DESCRIBE_PRODUCERS: self._describe}

    def _describe(self, _version: int, body: memoryview, reply: Reply) -> None:
        rows = []
        told = 0
        for slot, key in DESCRIBED_LOG.iter_unpack(body):
            replica = self._replicas.get(slot)
            if replica is None or replica.key != key or not replica.is_leader:
                rows.append(_refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, None))
                continue
            producers = replica.log.producers.producers
            if told and told + len(producers) > PRODUCERS_DESCRIBED_MAX:
                text = f"{len(producers)} producers exceed the limit of a response: request fewer partitions at a time"
                rows.append(_refusal(ErrorCode.INVALID_REQUEST, text))
                continue
            told += len(producers)
            states = [_state(producer_id, producer) for producer_id, producer in producers.items()]
            rows.append(_Partition(error_code=0, error_message=None, active_producers=states))
        response = messages.DescribeProducersResponse(topics=[_Topic(name="", partitions=rows)])
        reply(encode_response(ApiKey.DESCRIBE_PRODUCERS, 0, response))


def _refusal(error: ErrorCode, text: str | None) -> _Partition:
    return _Partition(error_code=int(error), error_message=text, active_producers=[])


def _state(producer_id: int, producer: Producer) -> _State:
    return _State(
        producer_id=producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.batches[-1].last_sequence if producer.batches else NO_SEQUENCE,
        last_timestamp=producer.last_timestamp_ms,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=producer.txn_first_offset,
    )
