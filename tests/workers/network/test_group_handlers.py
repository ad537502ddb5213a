"""Requests that name several groups, on their way to the owners and back."""

import tracemalloc
from types import SimpleNamespace

import pytest

from headrace.errors import BadFrame
from headrace.ids import OFFSETS_TOPIC, coordinator_partition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, encode_request, encode_response
from headrace.protocol.varint import encode_uvarint
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.forwarding.group_owners import first_group_id, owner_of_group
from headrace.workers.network.router import HANDLERS

PARTITION_WORKERS = 2
FLEXIBLE_HEADER_BYTES = 9  # size, correlation id, no tags


class Owners:
    """Partition workers that tell of each group that they were asked about it.

    asked   by process id: the groups of its request
    """

    def __init__(self):
        self.asked = {}
        self.context = SimpleNamespace(
            forwarder=self,
            view=SimpleNamespace(topics={OFFSETS_TOPIC: SimpleNamespace(partitions=[None] * 8)}),
            seat=SimpleNamespace(wiring=SimpleNamespace(network_count=1, partition_count=PARTITION_WORKERS)),
        )

    def names(self):
        """Two groups of different owners."""
        by_owner = {owner_of_group(self.context, name): name for name in map(str, range(100))}
        assert len(by_owner) == PARTITION_WORKERS
        return list(by_owner.values())

    def send(self, key, version, request):
        exchange = Exchange(SimpleNamespace(hold=lambda memory_bytes: None), key, version, 1, True)
        HANDLERS[key](self.context, exchange, memoryview(encode_request(key, version, request)))
        return decode_response(key, version, exchange.parts[0][FLEXIBLE_HEADER_BYTES:])

    def ask(self, _exchange, key, version, body, then, owner):
        request = decode_request(key, version, memoryview(body))
        self.asked[owner] = request.groups
        if key == ApiKey.DESCRIBE_GROUPS:
            row = messages.DescribeGroupsResponse.DescribedGroup
            response = messages.DescribeGroupsResponse(groups=[row(group_id=each) for each in request.groups])
        else:
            row = messages.OffsetFetchResponse.OffsetFetchResponseGroup
            names = dict.fromkeys(each.group_id for each in request.groups)
            response = messages.OffsetFetchResponse(groups=[row(group_id=each) for each in names])
        then(memoryview(encode_response(key, version, response)))


@pytest.mark.parametrize("key", [ApiKey.DESCRIBE_GROUPS, ApiKey.OFFSET_FETCH])
def test_a_group_named_many_times_is_answered_once(key):
    """Each time costs the request 4 bytes, and the answer all that the group has."""
    owners = Owners()
    first, second = owners.names()
    names = [first, second, first, first, second]
    if key == ApiKey.DESCRIBE_GROUPS:
        answer = owners.send(key, 5, messages.DescribeGroupsRequest(groups=names))
    else:
        group = messages.OffsetFetchRequest.OffsetFetchRequestGroup
        request = messages.OffsetFetchRequest(groups=[group(group_id=name, topics=None) for name in names])
        answer = owners.send(key, 8, request)
    assert [row.group_id for row in answer.groups] == [first, second]


def test_answers_too_large_to_be_put_together_close_the_connection_and_not_the_worker():
    """Of the bytes from the other workers, one client had a million made: 4 MiB of partitions in a request."""
    owners = Owners()
    first, second = owners.names()
    row = messages.OffsetFetchResponse
    partition = row.OffsetFetchResponsePartitions(committed_offset=-1, metadata="")
    topic = row.OffsetFetchResponseTopics(name="t", partitions=[partition] * 800_000)
    group = row.OffsetFetchResponseGroup(group_id=first, topics=[topic])
    body = encode_response(ApiKey.OFFSET_FETCH, 8, messages.OffsetFetchResponse(groups=[group]))
    condemned = []
    owners.ask = lambda _exchange, _key, _version, _body, then, _owner: then(memoryview(body))
    exchange = Exchange(SimpleNamespace(condemn=condemned.append), ApiKey.OFFSET_FETCH, 8, 1, True)
    wanted = messages.OffsetFetchRequest.OffsetFetchRequestGroup
    request = messages.OffsetFetchRequest(groups=[wanted(group_id=name, topics=None) for name in (first, second)])
    HANDLERS[ApiKey.OFFSET_FETCH](owners.context, exchange, memoryview(encode_request(ApiKey.OFFSET_FETCH, 8, request)))
    assert exchange.parts is None
    assert "too large" in condemned[0]


def test_a_group_id_longer_than_a_string_may_be_is_refused_before_it_is_hashed():
    """16 MiB of it would hold the network worker for 3 s."""
    exchange = Exchange(SimpleNamespace(), ApiKey.HEARTBEAT, 4, 1, True)
    longest = 2**15 - 1
    assert first_group_id(exchange, memoryview(encode_uvarint(longest + 1) + b"g" * longest)) == "g" * longest
    with pytest.raises(BadFrame, match="group id of HEARTBEAT"):
        first_group_id(exchange, memoryview(encode_uvarint(longest + 2) + b"g" * (longest + 1)))


def test_long_group_ids_are_not_kept():
    tracemalloc.start()
    found = {coordinator_partition(f"{number:03}" * 300, 50) for number in range(300)}
    kept_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(found) > 1
    assert kept_bytes < 1 << 17
