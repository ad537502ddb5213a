"""Over Spark Connect: what reads and writes as in a classic session, and what is refused by name."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.connect_python import connect_python

pytestmark = pytest.mark.interop

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 1500


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the program found, by step."""
    directory = tmp_path_factory.mktemp("connect")
    command = [connect_python(), "-m", "tests.spark_peer.connect_program", str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(next(line for line in reversed(done.stdout.splitlines()) if line.startswith("{")))


@pytest.mark.timeout(DEADLINE_S)
def test_batches_streams_and_sinks_are_those_of_a_classic_session(found):
    wanted = {
        "session": "pyspark.sql.connect.session",
        "registers": None,
        "batch": 100,
        "scans": 10,
        "aggregates": [{"partition": 0, "n": 100}],
        "writes_parquet": 100,
        "stream_into_sink": [100, "headrace[clicks]", "0"],
        "each_batch_with_an_id": 200,
        "streams": 100,
    }
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.timeout(DEADLINE_S)
def test_what_needs_the_jvm_of_the_driver_is_refused_by_name(found):
    assert found["explains"] == "ValueError: explain needs a classic session"
    assert found["counts_reads"] == "ValueError: read_counts needs a classic session"
    assert found["refreshes"] == "ValueError: refresh needs a classic session: with Spark Connect call load() again"
    assert "give an app_id" in found["each_batch_without_an_id"]
