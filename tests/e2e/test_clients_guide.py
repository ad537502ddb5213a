"""The programs of docs/clients.md run as they are, and its table names tests that exist."""

import re
import subprocess
import sys
import uuid
from pathlib import Path

from headrace.client import Kafka

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "clients.md"
DEADLINE_S = 60


def test_every_program_of_the_guide_runs(node):
    programs = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(programs) == 4
    topic, other = f"orders-{uuid.uuid4().hex[:8]}", f"invoices-{uuid.uuid4().hex[:8]}"
    with Kafka(node.bootstrap) as kafka, kafka.admin() as admin:
        admin.create_topic(topic, partitions=1)
    for program in programs:
        text = program.replace("127.0.0.1:9092", node.bootstrap).replace('"orders"', f'"{topic}"')
        text = text.replace('"invoices"', f'"{other}"')
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 0, f"{program}\n{done.stderr}"
        assert done.stdout


def test_every_row_of_the_seeds_has_a_test_that_exists():
    text = GUIDE.read_text()
    rows = [line for line in text.splitlines() if re.match(r"\| [DMBUW]\d", line)]
    assert {line.split("|")[1].strip() for line in rows} == {"D1", "M1", "M2", "B1", "U1", "W1"}
    for line in rows:
        for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", line):
            assert not name or f"def {name}(" in (ROOT / path).read_text(), line
            assert (ROOT / path).is_file(), line
