"""import-07 into Apache Kafka: killed in the middle, it brings everything once there too."""

import json
import signal
import subprocess
import sys
import time

import pytest

from headrace.protocol.message_07 import build_message_07, build_set_07
from tests.interop.kafka_log import read, start
from tests.support.segments_07 import write_segments

pytestmark = pytest.mark.interop

MESSAGES = 3_000


def carried(state_file):
    try:
        return sum(row["count"] for row in json.loads(state_file.read_text())["partitions"].values())
    except FileNotFoundError:
        return 0


def test_a_killed_import_into_kafka_goes_on(tmp_path):
    content = [b"message %d" % n for n in range(MESSAGES)]
    sets = [build_set_07(content[n : n + 10], 1 + n // 10 % 2) for n in range(0, MESSAGES // 2, 10)]
    singles = [build_message_07(one, n % 2) for n, one in enumerate(content[MESSAGES // 2 :])]
    write_segments(tmp_path / "old", "clicks", 0, [sets, singles[:700], singles[700:]])
    kafka = start("kafka", tmp_path / "kafka")
    state = tmp_path / "state"
    run = [
        sys.executable, "-m", "headrace.cli.main", "import-07", str(tmp_path / "old"), "clicks", "--state", str(state),
        "--bootstrap-servers", kafka.bootstrap, "--batch-bytes", "1000", "-q", "--compression", "zstd",
    ]  # fmt: skip
    try:
        for share in (1, 2, 3):
            process = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while process.poll() is None and carried(state) < share * MESSAGES // 4:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert process.returncode == -signal.SIGKILL
        done = subprocess.run(run, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "read back: equal" in done.stdout
        found = read(kafka.bootstrap, "clicks")
        assert [value for _time, _key, value, _headers in found.values()] == content
        assert {key for _time, key, _value, _headers in found.values()} == {None}
    finally:
        kafka.stop()
