"""A job as a newcomer runs it: the lines of README under `.venv/bin/python`, nothing else set."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.ids import TopicPartition

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 240


@pytest.fixture
def environment(tmp_path):
    """One in which `python3` is not ours; `pyspark_headrace` lies where an installed wheel has it."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "pyspark_headrace").symlink_to(ROOT / "spark" / "pyspark_headrace")
    ours = Path(sys.executable).parent
    path = os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if Path(part) != ours)
    kept = {key: value for key, value in os.environ.items() if key not in ("PYSPARK_PYTHON", "VIRTUAL_ENV")}
    return {**kept, "PATH": path, "PYTHONPATH": str(tmp_path / "site"), "SPARK_LOCAL_IP": "127.0.0.1"}


def test_the_lines_of_readme_run_as_they_stand_and_the_source_is_known_without_register(
    log, broker, tmp_path, environment
):
    log.append(TopicPartition("greetings", 0), [(None, b"hello"), (None, b"world")])
    (fence,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    register = fence.index("register(spark)")
    unregistered = (
        'spark.sql("CREATE TEMP VIEW v USING headrace OPTIONS '
        "('kafka.bootstrap.servers' '127.0.0.1:9092', 'subscribe' 'greetings')\")\n"
        'print("in SQL:", spark.sql("SELECT count(*) FROM v").first()[0])\n'
    )
    lines = (fence[:register] + unregistered + fence[register:]).replace("127.0.0.1:9092", broker.address)
    job = tmp_path / "job.py"
    job.write_text(lines)
    done = subprocess.run(
        [sys.executable, str(job)], capture_output=True, text=True, timeout=DEADLINE_S, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "in SQL: 2" in done.stdout
    assert done.stdout.count("|") > 20  # two tables
