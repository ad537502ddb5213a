"""The structure of a codec's frame: what needs no second look, what is opened; the readers read what Kafka's do."""

import pytest

from headrace.protocol import codec_frames
from headrace.protocol.codec_frames import has_usual_frame, is_usual
from headrace.protocol.compression import Codec, CompressionError, decompress
from headrace.protocol.record_batch import CorruptRecord, Record, build_batch, parse_header
from headrace.protocol.record_scan import scan_records
from tests.support.codec_forms import BODY, NOISE, OURS, READ, UNSEEN, USUAL, batch_of


def forms(named):
    return [pytest.param(codec, data, id=name) for name, (codec, data) in named.items()]


def both(batch):
    """What the kernel says, where there is one, and what Python says: they agree."""
    found = has_usual_frame(memoryview(batch))
    assert is_usual(memoryview(batch)) == found
    return found


@pytest.mark.parametrize(("codec", "data"), forms({**USUAL, **UNSEEN}))
def test_what_clients_write_is_not_opened(codec, data):
    assert both(batch_of(codec, data))


@pytest.mark.parametrize(("codec", "data"), forms({**READ, **OURS, **NOISE}))
def test_whatever_else_is_opened(codec, data):
    assert not both(batch_of(codec, data))


@pytest.mark.parametrize(("codec", "data"), forms({**USUAL, **UNSEEN, **READ}))
def test_readers_read_what_those_of_kafka_read(codec, data):
    assert decompress(codec, data) == BODY


@pytest.mark.parametrize(("codec", "data"), forms(OURS))
def test_readers_read_what_only_some_of_the_others_read(codec, data):
    assert bytes(decompress(codec, data)) in (BODY, BODY * 20)


@pytest.mark.parametrize(("codec", "data"), forms(NOISE))
def test_noise_is_read_by_nobody(codec, data):
    with pytest.raises((CompressionError, CorruptRecord)):
        scan_records(decompress(codec, data), parse_header(memoryview(batch_of(codec, data))))


@pytest.mark.parametrize("codec", list(Codec)[1:])
@pytest.mark.parametrize("count", [1, 2, 700])
def test_our_own_batches_are_usual(codec, count):
    records = [Record(index, 5, None, b"value %d" % index * (index % 9)) for index in range(count)]
    assert both(build_batch(records, codec=codec))


def test_a_header_that_its_owner_refuses_is_passed():
    codec, data = NOISE["gzip, cut"]
    batch = batch_of(codec, data)
    batch[57:61] = b"\xff\xff\xff\xff"
    assert both(batch)
    batch = batch_of(codec, data)
    batch[22] = 6
    assert both(batch)


def test_more_records_than_what_is_announced_can_hold_are_opened():
    for codec, data in (
        USUAL["gzip"],
        USUAL["snappy, raw"],
        USUAL["snappy, xerial"],
        USUAL["lz4, content size"],
        USUAL["zstd"],
    ):
        batch = batch_of(codec, data)
        batch[57:61] = (len(BODY) // 7 + 1).to_bytes(4, "big")
        assert not both(batch)


def test_without_the_kernel_python_says_it(monkeypatch):
    monkeypatch.setattr(codec_frames, "_usual_frame", None)
    assert has_usual_frame(memoryview(batch_of(*USUAL["zstd"])))
    assert not has_usual_frame(memoryview(batch_of(*NOISE["zstd, cut"])))
