"""The codec's two hot messages: decode a Produce v9 with a 16 KiB batch, encode a Fetch v12 with one partition. Prints us a message."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_request, encode_response_parts

ROUNDS = 100_000
BATCH_BYTES = 16 * 1024


def microseconds(run: Callable[[], Any]) -> float:
    """Of one call, over ROUNDS."""
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        run()
    return (time.perf_counter() - begun) / ROUNDS * 1e6


def main() -> None:
    produce = messages.ProduceRequest
    data = produce.TopicProduceData("topic-a", [produce.PartitionProduceData(3, bytes(BATCH_BYTES))])
    body = memoryview(encode_request(ApiKey.PRODUCE, 9, produce(acks=1, timeout_ms=1000, topic_data=[data])))
    print(f"decode Produce v9, 16 KiB: {microseconds(lambda: decode_request(ApiKey.PRODUCE, 9, body)):.2f} us")
    fetch = messages.FetchResponse
    partition = fetch.PartitionData(partition_index=3, high_watermark=5, records=memoryview(bytes(BATCH_BYTES)))
    answer = fetch(responses=[fetch.FetchableTopicResponse(topic="topic-a", partitions=[partition])])
    print(
        f"encode Fetch v12, 1 partition: {microseconds(lambda: encode_response_parts(ApiKey.FETCH, 12, answer)):.2f} us"
    )


if __name__ == "__main__":
    main()
