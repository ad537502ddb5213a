"""Records for a client's user are those of `iterate_records`, from an offset on; the kernel and Python agree.

Over batches that are spoilt: `kernel_cases.check_batch`.
"""

import pytest

from headrace.limits import READ_RUN_RECORDS_MAX
from headrace.protocol import client_records
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    CorruptRecord,
    Record,
    build_batch,
    iterate_records,
    parse_header,
)
from tests.protocol.builder_cases import ClientRecord
from tests.support import walkers


@pytest.fixture(params=["kernel", "python"])
def _form(request, monkeypatch):
    kernel = walkers.built() if request.param == "kernel" else None
    if isinstance(kernel, str):
        pytest.skip(kernel)
    monkeypatch.setattr(client_records, "_list_client_records", kernel and kernel.list_client_records)


def listed(batch, first_offset=-(2**63), epoch=3):
    data = batch[HEADER_BYTES:]
    return list(client_records.iterate_runs(ClientRecord, "t", 7, epoch, data, parse_header(batch), first_offset))


def wanted(batch, first_offset=0, epoch=3):
    return [ClientRecord("t", 7, *one, epoch) for one in iterate_records(batch) if one.offset >= first_offset]


def some(count, **named):
    rows = [Record(at, 5 - at, b"k" if at % 3 else None, b"v%d" % at, (("h", None),) * (at % 2)) for at in range(count)]
    return build_batch(rows, base_offset=100, **named)


@pytest.mark.usefixtures("_form")
class TestBothForms:
    @pytest.mark.parametrize("attributes", [0, LOG_APPEND_TIME_BIT])
    def test_each_record_has_its_topic_partition_and_epoch(self, attributes):
        batch = some(5, attributes=attributes)
        (run,) = listed(batch)
        assert run == wanted(batch)
        assert type(run[0]) is ClientRecord
        assert run[0].topic == "t"
        assert run[4].offset == 104

    def test_the_epoch_may_be_unknown(self):
        assert listed(some(2), epoch=None) == [wanted(some(2), epoch=None)]

    def test_records_below_the_first_offset_are_left_out(self):
        batch = some(9)
        assert listed(batch, 104) == [wanted(batch, 104)]
        assert listed(batch, 100) == [wanted(batch)]
        assert listed(batch, 108) == [wanted(batch, 108)]
        assert listed(batch, 109) == []

    def test_no_run_is_longer_than_its_limit(self):
        batch = some(2 * READ_RUN_RECORDS_MAX + 3)
        runs = listed(batch, 101)
        assert max(map(len, runs)) <= READ_RUN_RECORDS_MAX
        assert [one for run in runs for one in run] == wanted(batch, 101)

    def test_what_comes_before_a_corrupt_record_is_given(self):
        batch = some(5)
        runs = client_records.iterate_runs(ClientRecord, "t", 7, 3, batch[HEADER_BYTES:-1], parse_header(batch))
        assert next(runs) == wanted(batch)[:4]
        with pytest.raises(CorruptRecord):
            next(runs)

    def test_bytes_after_the_last_record_are_refused(self):
        batch = some(5)
        with pytest.raises(CorruptRecord, match="1 bytes after the last record"):
            list(client_records.iterate_runs(ClientRecord, "t", 7, 3, batch[HEADER_BYTES:] + b"x", parse_header(batch)))
