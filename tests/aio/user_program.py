"""A program as a user writes it, for mypy alone: `test_typing.py` has it checked, and the lines that it has to refuse.

A line that ends with `# wrong: TEXT` is an error that says so; the others are none.
"""

import asyncio

from google.protobuf.timestamp_pb2 import Timestamp

import headrace.client
from headrace.aio import Avro, Delivery, Json, Kafka, Protobuf, Record, RecordMetadata, Registry, Str, dead_letter


class Order:
    """A value."""

    id: str = ""


async def produce(kafka: Kafka) -> RecordMetadata:
    async with kafka.producer(key=Str(), value=Json(Order), compression="zstd") as producer:
        done: Delivery = await producer.send("orders", Order(), "k")
        await producer.send("orders", "text")  # wrong: expected "Order | None"
        await producer.send("orders", Order(), b"k")  # wrong: expected "str | None"
        count: int = await producer.send_many("orders", [Order(), None], ["a", None])
        print(count)
        return await done


async def consume(kafka: Kafka) -> None:
    async def assigned(names: tuple[tuple[str, int], ...]) -> None:
        print(names)

    async with kafka.consumer("orders", group="b", key=Str(), value=Json(Order), on_assigned=assigned) as consumer:
        async for record in consumer:
            same: Record[str, Order] = record
            print(same.key.upper(), record.value.id, record.timestamp_ms)
            print(record.offest)  # wrong: has no attribute "offest"
        async for batch in consumer.batches(5_000, max_wait=0.2):
            print(batch.to_arrow().num_rows)
            await batch.commit()
    async with kafka.consumer("orders") as raw:
        for one in await raw.poll(1.0):
            data: bytes | None = one.value
            print(data)


async def schemas(kafka: Kafka) -> None:
    registry = Registry("http://h:8081", auth=("me", "secret"), subject_name_strategy="RecordNameStrategy")
    Registry("http://h:8081", subject_name_strategy="RecordName")  # wrong: "subject_name_strategy"
    async with kafka.producer(key=registry.avro('"string"', str), value=registry.avro("{}", Order)) as producer:
        await producer.send("orders", Order(), "k")
        await producer.send("orders", {"id": "x"}, "k")  # wrong: expected "Order | None"
    async with kafka.consumer(
        "orders", key=Avro('"string"'), value=registry.protobuf(Timestamp), on_error=dead_letter("orders.dead")
    ) as consumer:
        async for record in consumer:
            print(record.key, record.value.seconds + 1)
    async with kafka.consumer("orders", value=registry.json(Order)) as other:
        async for one in other:
            print(one.value.name)  # wrong: "Order" has no attribute "name"
    async with kafka.producer(value=Protobuf(Timestamp)) as moments:
        await moments.send("orders", Timestamp())


def block() -> None:
    with headrace.client.Kafka("h:9092") as kafka:
        with kafka.producer(key=Str()) as producer:
            meta: RecordMetadata = producer.send("orders", b"", "key").result()
            print(meta.offset)
        with kafka.consumer("orders", value=Json(dict[str, int])) as consumer:
            for record in consumer:
                print(record.value["a"] + 1)
                print(record.value.a)  # wrong: has no attribute "a"


async def main() -> None:
    async with Kafka("h:9092") as kafka:
        await produce(kafka)
        await consume(kafka)
        await schemas(kafka)


if __name__ == "__main__":
    asyncio.run(main())
