"""`bench.tables` in small: both formats are loaded whole, and both ways of counting find the same number."""

import pytest

from bench import tables
from bench.nodes import Headrace
from bench.run import create_topic
from bench.spark_topics import click
from tests.load.iceberg_threads import icebergs_threads_end

pytestmark = pytest.mark.process

__all__ = ["icebergs_threads_end"]

COUNT = 10_000


@pytest.mark.timeout(300)
def test_a_small_run(tmp_path):
    (row,) = tables.rows_of("count", COUNT / tables.COUNTED, rounds=1, formats=[])
    assert row["row"] == "count(*) where offset > x, 10,000 records"
    server = Headrace(tmp_path / "node")
    server.start()
    try:
        create_topic(server, tables.TOPIC, tables.PARTITIONS)
        tables.produce(server.bootstrap, map(click, range(COUNT)))
        for kind in ("delta", "iceberg"):
            assert tables.by_headrace(server.bootstrap, kind, tmp_path / kind)[1] == COUNT
    finally:
        server.stop()
