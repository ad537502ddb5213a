"""The programs of docs/clients.md run as they are, and its table names tests that exist."""

import re
import subprocess
import sys
import uuid
from pathlib import Path

from headrace.client import Kafka
from tests.support.fake_registry import FakeRegistry

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "clients.md"
DEADLINE_S = 60
TOPICS = ("orders", "payments", "moments", "readings", "readings.dead", "bills")


def test_every_program_of_the_guide_runs(node):
    programs = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(programs) == 8
    suffix = uuid.uuid4().hex[:8]
    with Kafka(node.bootstrap) as kafka, kafka.admin() as admin:
        for topic in TOPICS:
            admin.create_topic(f"{topic}-{suffix}", partitions=1)
    with FakeRegistry() as registry:
        for program in programs:
            text = program.replace("127.0.0.1:9092", node.bootstrap).replace("http://127.0.0.1:8081", registry.url)
            for topic in (*TOPICS, "invoices"):
                text = text.replace(f'"{topic}"', f'"{topic}-{suffix}"')
            done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=DEADLINE_S)
            assert done.returncode == 0, f"{program}\n{done.stderr}"
            assert done.stdout
        assert registry.subjects == {f"payments-{suffix}-value": [1]}


def test_every_row_of_the_seeds_has_a_test_that_exists():
    text = GUIDE.read_text()
    rows = [line for line in text.splitlines() if re.match(r"\| [DMBUW]\d", line)]
    assert {line.split("|")[1].strip() for line in rows} == {"D1", "M1", "M2", "B1", "U1", "W1"}
    for line in rows:
        for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", line):
            assert not name or f"def {name}(" in (ROOT / path).read_text(), line
            assert (ROOT / path).is_file(), line
