"""A log whose disk failed: out of service, with the first reason, for everything that is asked of it."""

import errno
import traceback

import pytest

from headrace.errors import StorageExhausted, StorageFailed
from headrace.log.config import LogConfig
from headrace.log.writing.failure_latch import FailureLatch
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch, fill

CONFIG = LogConfig(segment_bytes=2500, index_interval_bytes=300)


def test_a_log_that_failed_takes_nothing_more(maker):
    log = maker.open(CONFIG)
    fill(log, 5)
    maker.disk.fails["pwritev"] = 5
    with pytest.raises(StorageFailed):
        log.append_as_leader([batch()], 9, NOW_MS)
    maker.disk.fails.clear()
    for attempt in (
        lambda: log.append_as_follower(batch(), NOW_MS),
        lambda: log.append_marker(1, 0, 0, True, 9, NOW_MS),
        lambda: log.truncate_to(1),
        lambda: log.restart_at(1),
    ):
        with pytest.raises(StorageFailed):
            attempt()


@pytest.mark.parametrize(
    ("number", "is_sync", "kind"),
    [
        (errno.EIO, False, StorageFailed),
        (errno.ENOSPC, False, StorageExhausted),
        (errno.EMFILE, False, StorageExhausted),
        (errno.ENOSPC, True, StorageFailed),  # the kernel may have dropped what it had no room for
    ],
)
def test_the_first_reason_is_told_again_at_each_call(tmp_path, number, is_sync, kind):
    latch = FailureLatch(tmp_path)
    latch.check()
    with pytest.raises(kind, match="what it was") as told:
        latch.fail("what it was", OSError(number, "injected"), is_sync=is_sync)
    assert type(told.value) is kind
    for _ in range(3):
        with pytest.raises(kind) as again:
            latch.check()
        assert again.value is told.value is latch.reason
    depth = len(traceback.extract_tb(again.value.__traceback__))
    assert depth <= 2, "a traceback that grows with each call"
