"""A filled template is the frame that the codec would have made."""

import pytest

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import encode_response
from headrace.workers.network.handlers.a00_produce import _partition_response, _template

TOPIC = messages.ProduceResponse.TopicProduceResponse
NUMBERS = [
    (0, 0, 0, -1, 0),
    (7, 0, 2**40, 1_700_000_000_000, 12),
    (2**31 - 1, 87, -1, -1, -1),
    (3, 6, 2**63 - 1, 0, 2**62),
]


@pytest.mark.parametrize("version", range(10))
@pytest.mark.parametrize("name", ["t", "a.topic-of_words", "x" * 249])
def test_the_frame_is_that_of_the_codec(version, name):
    template = _template(version, name)
    for correlation_id, numbers in enumerate(NUMBERS):
        response = messages.ProduceResponse(
            responses=[TOPIC(name=name, partition_responses=[_partition_response(numbers[0], numbers[1:], None)])]
        )
        body = encode_response(ApiKey.PRODUCE, version, response)
        head = correlation_id.to_bytes(4, "big") + (b"\0" if response_header_version(ApiKey.PRODUCE, version) else b"")
        frame = template.fill(correlation_id, *numbers)
        assert frame == len(head + body).to_bytes(4, "big") + head + body


def test_one_answer_is_not_another_one_s_memory():
    template = _template(8, "t")
    first, second = template.fill(1, *NUMBERS[0]), template.fill(2, *NUMBERS[1])
    assert first != second
    assert first == template.fill(1, *NUMBERS[0])
