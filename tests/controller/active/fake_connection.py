"""A way to a broker that the test answers."""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_request, encode_response


def good_answer(api_key, request, error_code=0, code=ErrorCode.NONE):
    """An answer that says `code` of each partition."""
    if api_key == ApiKey.UPDATE_METADATA:
        return messages.UpdateMetadataResponse(error_code=error_code)
    if api_key == ApiKey.STOP_REPLICA:
        kind = messages.StopReplicaResponse
        rows = [
            kind.StopReplicaPartitionError(topic.topic_name, row.partition_index, int(code))
            for topic in request.topic_states
            for row in topic.partition_states
        ]
        return kind(error_code=error_code, partition_errors=rows)
    kind = messages.LeaderAndIsrResponse
    row_of = kind.LeaderAndIsrPartitionError
    by_topic = [
        (topic, [row_of(topic.topic_name, row.partition_index, int(code)) for row in topic.partition_states])
        for topic in request.topic_states
    ]
    return kind(
        error_code=error_code,
        partition_errors=[row for _topic, rows in by_topic for row in rows],
        topics=[kind.LeaderAndIsrTopicError(topic.topic_id, rows) for topic, rows in by_topic],
    )


class FakeConnection:
    """`active/broker_channel.Connection` to one broker.

    requests   (api key, version, request) that came, as they are on the wire
    is_held    whether answers wait for `answer`
    """

    def __init__(self, registration):
        self.registration = registration
        self.requests = []
        self.is_held = False
        self.is_closed = False
        self.refusals = 0  # how many asks are not taken
        self.knocks = 0
        self.is_deaf = False  # nobody answers a knock
        self.codes = {}  # api key -> what is answered of each partition
        self._open = []

    def ask(self, api_key, version, message, on_reply):
        assert not self.is_closed
        assert not self._open, "one request in flight"
        if self.refusals:
            self.refusals -= 1
            return False
        request = decode_request(api_key, version, memoryview(encode_request(api_key, version, message)))
        self.requests.append((ApiKey(api_key), version, request))
        self._open.append((api_key, version, request, on_reply))
        if not self.is_held:
            self.answer()
        return True

    def knock(self, on_heard):
        assert not self.is_closed
        self.knocks += 1
        on_heard(not self.is_deaf)
        return True

    def answer(self, **options):
        """The request in flight, as all is well."""
        api_key, version, request, on_reply = self._open.pop()
        answer = good_answer(api_key, request, **{"code": self.codes.get(api_key, ErrorCode.NONE), **options})
        on_reply(encode_response(api_key, version, answer))

    def reply(self, body):
        """Other bytes; None: the connection broke."""
        self._open.pop()[3](body)

    def close(self):
        self.is_closed = True
        while self._open:
            self.reply(None)

    @property
    def keys(self):
        return [api_key for api_key, _version, _request in self.requests]

    def partitions(self, api_key):
        """(topic, partition) of all requests of one kind, in their order."""
        return [
            (topic.topic_name, row.partition_index)
            for key, _version, request in self.requests
            if key == api_key
            for topic in request.topic_states
            for row in topic.partition_states
        ]
