"""What one core takes for a message, a header, a batch and a codec, without a socket.

    python bench/codec.py [SECONDS]

Each line is the best of several rounds of SECONDS altogether: the machine's noise only ever adds. Bodies are those of
one topic with one partition, unless the line says otherwise.
"""

from __future__ import annotations

import random
import sys
import timeit
from collections.abc import Callable, Iterator
from functools import partial

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_request, encode_response, encode_response_parts
from headrace.protocol.compression import Codec, compress, decompress
from headrace.protocol.frames import build_request, parse_request_header
from headrace.protocol.record_batch import build_batch, compute_crc, iterate_records, parse_header

SECONDS = 0.3
ROUNDS = 7
BATCH_BYTES = 16 * 1024
RECORD_BYTES = 100
TOPIC = "a-topic-of-some-length"
MANY = 100

Case = tuple[str, Callable[[], object], int]  # name, what is measured, what to divide by


def text(size: int) -> bytes:
    """Words, so that codecs have something to find."""
    chance = random.Random(1)
    words = [chance.randbytes(4).hex().encode() for _ in range(500)]
    return b" ".join(chance.choices(words, k=size // 9 + 1))[:size]


def produce(records: bytes, partitions: int = 1) -> messages.ProduceRequest:
    request = messages.ProduceRequest
    data = [request.PartitionProduceData(index, records) for index in range(partitions)]
    return request(acks=1, timeout_ms=30_000, topic_data=[request.TopicProduceData(TOPIC, data)])


def fetch(partitions: int) -> messages.FetchRequest:
    request = messages.FetchRequest
    wanted = [
        request.FetchPartition(index, fetch_offset=10**9, partition_max_bytes=1 << 20) for index in range(partitions)
    ]
    return request(max_wait_ms=500, min_bytes=1, topics=[request.FetchTopic(TOPIC, partitions=wanted)])


def fetched(records: memoryview, partitions: int) -> messages.FetchResponse:
    response = messages.FetchResponse
    data = [response.PartitionData(index, high_watermark=10**9, records=records) for index in range(partitions)]
    return response(responses=[response.FetchableTopicResponse(TOPIC, partitions=data)])


def produced(partitions: int) -> messages.ProduceResponse:
    response = messages.ProduceResponse
    data = [response.PartitionProduceResponse(index, base_offset=10**9) for index in range(partitions)]
    return response(responses=[response.TopicProduceResponse(TOPIC, data)])


def message_cases(batch: bytes) -> Iterator[Case]:
    frame = memoryview(build_request(ApiKey.PRODUCE, 9, 7, "rdkafka", produce(batch)))[4:]
    yield "request header, v2", partial(parse_request_header, frame), 1
    for version, partitions in ((3, 1), (9, 1), (9, MANY)):
        body = memoryview(encode_request(ApiKey.PRODUCE, version, produce(batch, partitions)))
        name = f"decode Produce v{version}, 16 KiB in each of {partitions}"
        yield name, partial(decode_request, ApiKey.PRODUCE, version, body), 1
    yield "encode Produce v9", partial(encode_response, ApiKey.PRODUCE, 9, produced(1)), 1
    for version, partitions in ((11, 1), (12, 1), (12, MANY)):
        body = memoryview(encode_request(ApiKey.FETCH, version, fetch(partitions)))
        name = f"decode Fetch v{version}, partitions {partitions}"
        yield name, partial(decode_request, ApiKey.FETCH, version, body), 1
        message = fetched(memoryview(batch), partitions)
        name = f"encode Fetch v{version}, partitions {partitions}"
        yield name, partial(encode_response_parts, ApiKey.FETCH, version, message), 1


def batch_cases(batch: bytes, records: int) -> Iterator[Case]:
    pairs = [(b"key", bytes(RECORD_BYTES))] * records
    yield "batch header", partial(parse_header, batch), 1
    yield "CRC-32C of 16 KiB", partial(compute_crc, batch), 1
    yield "build a batch, a record", partial(build_batch, pairs), records
    yield "read a batch, a record", lambda: list(iterate_records(batch)), records


def codec_cases(plain: bytes) -> Iterator[Case]:
    for codec in Codec:
        if codec:
            data = compress(codec, plain)
            yield f"compress 16 KiB, {codec.name.lower()}", partial(compress, codec, plain), 1
            yield f"decompress 16 KiB, {codec.name.lower()}", partial(decompress, codec, data), 1


def best_us(work: Callable[[], object], seconds: float) -> float:
    """Microseconds of a call, the least of all rounds."""
    timer = timeit.Timer(work)
    once = max(timer.timeit(10) / 10, 1e-8)
    number = max(1, int(seconds / ROUNDS / once))
    return min(timer.repeat(ROUNDS, number)) / number * 1e6


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    records = BATCH_BYTES // (RECORD_BYTES + 10)
    batch = build_batch([(b"key", bytes(RECORD_BYTES))] * records)
    for name, work, share in (*message_cases(batch), *batch_cases(batch, records), *codec_cases(text(BATCH_BYTES))):
        print(f"{name:44}{best_us(work, seconds) / share:10.2f} us")


if __name__ == "__main__":
    main()
