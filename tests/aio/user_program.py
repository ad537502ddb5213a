"""A program as a user writes it, for mypy alone: `test_typing.py` has it checked, and the lines that it has to refuse.

A line that ends with `# wrong: TEXT` is an error that says so; the others are none.
"""

import asyncio

import headrace.client
from headrace.aio import Delivery, Json, Kafka, Record, RecordMetadata, Str


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


if __name__ == "__main__":
    asyncio.run(main())
