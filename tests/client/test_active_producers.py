"""What leaders know of producers: partitions that a leader leaves out are asked for again."""

import pytest

from headrace.client.active_producers import ProducerState, active_producers
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages

_Topic = messages.DescribeProducersResponse.TopicResponse
_Row = messages.DescribeProducersResponse.PartitionResponse
NAMES = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]


class Leader:
    """Answers `at_once` partitions of a request, and refuses the others."""

    def __init__(self, at_once, error=ErrorCode.INVALID_REQUEST):
        self.at_once, self.error, self.asked = at_once, error, []

    def version(self, _api_key, low, _high):
        return low

    def request(self, _api_key, _version, request):
        names = [TopicPartition(one.name, index) for one in request.topics for index in one.partition_indexes]
        self.asked.append(names)
        topics = []
        for place, name in enumerate(names):
            known = [ProducerState(producer_id=7, producer_epoch=0, last_sequence=name.partition)]
            is_told = place < self.at_once
            row = _Row(name.partition, 0 if is_told else self.error, None, known if is_told else [])
            topics.append(_Topic(name.topic, [row]))
        return messages.DescribeProducersResponse(topics=topics)


def test_partitions_that_are_left_out_are_asked_for_again():
    leader = Leader(at_once=1)
    found = active_producers(leader, NAMES)
    assert {name: [one.last_sequence for one in known] for name, known in found.items()} == {
        NAMES[0]: [0],
        NAMES[1]: [1],
        NAMES[2]: [0],
    }
    assert leader.asked == [NAMES, NAMES[1:], NAMES[2:]]


@pytest.mark.parametrize("error", [ErrorCode.INVALID_REQUEST, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_an_error_is_raised_and_nothing_is_asked_for_ever(error):
    leader = Leader(at_once=0, error=error)
    with pytest.raises(KafkaError) as raised:
        active_producers(leader, NAMES)
    assert raised.value.code is error
    assert len(leader.asked) == 1
