"""How fast one core turns segment bytes into typed columns by `decode=`, without Spark.

    python -m bench.decoding [--records N] [--runs R]

Each line is the median CPU time over R runs of reading one segment file (uncompressed, batches of 150) and decoding every
value: JSON clicks of 90 bytes, and the same clicks as CSV, Avro, Protobuf and text. `read` is the same without decoding;
`1% bad` under mode "null".
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.decode import CLUSTER_ID, RECORDS_PER_BATCH, median_seconds
from headrace.arrow.ranges import OffsetRange
from headrace.log.names import path_of
from headrace.protocol.record_batch import build_batch
from headrace.spark.decoding import avro, csv, json, text
from headrace.spark.decoding.decode_plan import DecodePlan, decode_plan
from headrace.spark.reading import Reading

DDL = "user string, page string, ms long, agent string, ok boolean"
JSON = b'{"user":"u%06d","page":"/p/%d","ms":%d,"agent":"Mozilla/5.0 (X11; Linux)","ok":true}'
BAD = b'{"user":"u%06d","page":"/p/%d","ms":"%d","agent":"Mozilla/5.0 (X11; Linux)","ok":true}'
CSV = b"u%06d,/p/%d,%d,Mozilla/5.0 (X11; Linux),true"
AVRO = {"type": "record", "name": "Click", "fields": [
    {"name": "user", "type": "string"}, {"name": "page", "type": "string"}, {"name": "ms", "type": "long"},
    {"name": "agent", "type": "string"}, {"name": "ok", "type": "boolean"}]}  # fmt: skip
Clicks = Callable[[int], bytes]


def clicks(template: bytes) -> Clicks:
    return lambda number: template % (number * 7919 % 1_000_000, number % 300, number * 31 % 5000)


def avro_clicks() -> Clicks:
    import fastavro

    schema = fastavro.parse_schema(AVRO)

    def click(number: int) -> bytes:
        out = io.BytesIO()
        row = {"user": f"u{number * 7919 % 1_000_000:06d}", "page": f"/p/{number % 300}", "ms": number * 31 % 5000,
               "agent": "Mozilla/5.0 (X11; Linux)", "ok": True}  # fmt: skip
        fastavro.schemaless_writer(out, schema, row)
        return out.getvalue()

    return click


def protobuf_clicks() -> tuple[Clicks, Any]:
    """The clicks and their decoder."""
    from google.protobuf import descriptor_pb2, descriptor_pool
    from google.protobuf.message_factory import GetMessageClass

    from headrace.spark.decoding import protobuf

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="click.proto", syntax="proto3")
    message = file.message_type.add(name="Click")
    types = (kinds.TYPE_STRING, kinds.TYPE_STRING, kinds.TYPE_INT64, kinds.TYPE_STRING, kinds.TYPE_BOOL)
    for number, (name, kind) in enumerate(zip(("user", "page", "ms", "agent", "ok"), types, strict=True), 1):
        message.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    made = GetMessageClass(pool.FindMessageTypeByName("Click"))

    def click(number: int) -> bytes:
        row = {"user": f"u{number * 7919 % 1_000_000:06d}", "page": f"/p/{number % 300}", "ms": number * 31 % 5000}
        return bytes(made(**row, agent="Mozilla/5.0 (X11; Linux)", ok=True).SerializeToString())

    return click, protobuf(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString(), "Click")


def write_log(directory: Path, records: int, click: Clicks, bad: Clicks | None = None) -> OffsetRange:
    """One segment; with `bad`, every hundredth value is of that."""
    (directory / "meta.properties").write_text(f"version=0\nbroker.id=0\ncluster.id={CLUSTER_ID}\n")
    partition = directory / "bench-0"
    partition.mkdir()
    with open(path_of(partition, 0, ".log"), "wb") as file:
        for first in range(0, records, RECORDS_PER_BATCH):
            rows = [
                (None, bad(number) if bad and number % 100 == 50 else click(number))
                for number in range(first, first + RECORDS_PER_BATCH)
            ]
            file.write(build_batch(rows, base_offset=first, timestamp_ms=1_700_000_000_000))
    return OffsetRange("bench", 0, 0, records, "127.0.0.1:1", CLUSTER_ID, ((0, "127.0.0.1", str(directory)),))


def cases() -> Iterator[tuple[str, Clicks, Clicks | None, DecodePlan | None, tuple[str, ...]]]:
    """(title, values, bad ones, plan, columns)"""
    plain, every = clicks(JSON), ("user", "page", "ms", "agent", "ok")
    yield "read", plain, None, None, ("value",)
    yield "text", plain, None, decode_plan(text()), ("value",)
    yield "json, 2 of 5 fields", plain, None, decode_plan(json(DDL)), ("page", "ms")
    yield "json, 5 fields", plain, None, decode_plan(json(DDL)), every
    yield "json, 2 fields, 1% bad", plain, clicks(BAD), decode_plan(json(DDL), "null"), ("page", "ms")
    yield "csv, 2 of 5 fields", clicks(CSV), None, decode_plan(csv(DDL)), ("page", "ms")
    yield "csv, 5 fields", clicks(CSV), None, decode_plan(csv(DDL)), every
    yield "avro, 2 of 5 fields", avro_clicks(), None, decode_plan(avro(AVRO)), ("page", "ms")
    yield "avro, 5 fields", avro_clicks(), None, decode_plan(avro(AVRO)), every
    click, decoder = protobuf_clicks()
    yield "protobuf, 2 of 5 fields", click, None, decode_plan(decoder), ("page", "ms")
    yield "protobuf, 5 fields", click, None, decode_plan(decoder), every


def main() -> None:
    parser = argparse.ArgumentParser(description="measure the decoding rate of one core")
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    records = given.records // RECORDS_PER_BATCH * RECORDS_PER_BATCH
    print(f"{records:,} clicks, median of {given.runs}")
    print(f"{'decoded':26} {'M records/s':>12} {'ns a record':>12}")
    for title, click, bad, plan, names in cases():
        with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
            one = write_log(Path(name), records, click, bad)
            reading = Reading(names, plan)

            def rows(reading: Reading = reading, one: OffsetRange = one) -> int:
                return sum(batch.num_rows for batch in reading.batches(one))

            seconds = median_seconds(rows, given.runs, records)
            print(f"{title:26} {records / seconds / 1e6:12.2f} {seconds / records * 1e9:12.0f}", flush=True)


if __name__ == "__main__":
    main()
