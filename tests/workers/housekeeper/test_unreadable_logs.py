"""A sector that the housekeeper can't read is its log directory's failure, whichever pass meets it."""

import errno

import pytest

from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.reading import segment_file
from headrace.shm.lag_table import LagRow
from headrace.workers.housekeeper import lag_scan, retention_scan
from tests.support.fake_seat import view_of
from tests.workers.housekeeper.test_cleaner import House, twice
from tests.workers.housekeeper.test_durable_log_starts import look
from tests.workers.housekeeper.test_housekeeper_storage import Node
from tests.workers.network.test_unreadable_segments import refuse


def unreadable(code=errno.EIO):
    def fail(*_args):
        raise OSError(code, "injected")

    return fail


def test_compaction_reports_it(tmp_path, monkeypatch, caplog):
    house = House(tmp_path)
    log = house.add("t", twice())
    masks = []
    house.seat.wiring.log_dir_bit = lambda _path: 4
    house.seat.report_offline_dirs = masks.append
    refuse(path_of(log.directory, 0, LOG_SUFFIX), monkeypatch, segment_file)
    house.turn()
    assert masks == [4]
    assert "log directory offline" in caplog.text
    assert not house.cleaner.uncleanable


@pytest.mark.parametrize(("code", "mask"), [(errno.EIO, 1), (errno.EMFILE, 0)])
def test_retention_reports_it(tmp_path, monkeypatch, code, mask):
    node = Node(tmp_path, view_of(("t", 1)))
    node.fill(0)
    monkeypatch.setattr(retention_scan, "segment_facts", unreadable(code))
    look(node)
    assert node.seat.mask == mask


def test_the_look_for_unread_records_reports_it(tmp_path, monkeypatch):
    node = Node(tmp_path, view_of(("t", 1)))
    node.fill(0)
    row = LagRow(*[0] * len(LagRow._fields))._replace(topic="t", partition=0, committed=3, looked_at=-1)
    stamps = []
    node.seat.lags.rows = lambda: [row]
    node.seat.lags.stamp = lambda _row, timestamp_ms: stamps.append(timestamp_ms)
    monkeypatch.setattr(lag_scan.LogReader, "batches_from", unreadable())
    node.housekeeper._lags.run()
    assert stamps == [-1]
    assert node.seat.mask == 1
