"""Logs on disk to be read and judged, and ways to damage them."""

from headrace.log.config import LogConfig
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import LogMaker, batch

SEGMENT_BYTES = 3_000
INDEX_INTERVAL_BYTES = 300
BATCHES = 60
RECORDS_PER_BATCH = 3


def write_log(directory, batches=BATCHES, close=True):
    """A log of several segments with every codec, an idempotent producer, and growing timestamps; its directory."""
    maker = LogMaker(directory)
    log = maker.open(LogConfig(segment_bytes=SEGMENT_BYTES, index_interval_bytes=INDEX_INTERVAL_BYTES))
    for number in range(batches):
        one = batch(
            count=RECORDS_PER_BATCH, timestamp_ms=NOW_MS + number * 7, codec=number % 5, producer_id=5,
            producer_epoch=0, base_sequence=number * RECORDS_PER_BATCH,
        )  # fmt: skip
        assert log.append_as_leader([one], 2, NOW_MS)[0][0] == 0
    if close:
        log.close()
    return maker.directory


def flip(path, position):
    """Change one byte."""
    with open(path, "r+b") as file:
        file.seek(position)
        (byte,) = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 0x40]))


def tree(directory):
    """Names, sizes and contents of everything: to see that nothing changed."""
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
