"""The programs of docs/classic.md run as they are, and its table names tests that exist."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "classic.md"
_TEST = re.compile(r"`(?P<path>[\w/]+\.py)(?:::(?P<name>\w+))?`")


def test_every_program_of_the_guide_runs(node, new_topic, capsys):
    topic = new_topic(2)
    host, port = node.address
    programs = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(programs) == 6
    for program in programs:
        text = program.replace("localhost:9092", node.bootstrap).replace("localhost:2181", node.zookeeper)
        text = text.replace('"localhost", 9092', f'"{host}", {port}')
        text = text.replace('"host": "localhost", "port": 9092', f'"host": "{host}", "port": {port}')
        text = text.replace('"clicks"', f'"{topic}"').replace('"cli.*"', f'"{topic}"')
        assert "localhost" not in text
        exec(compile(text, "docs/classic.md", "exec"), {})
    assert f"OFFSET_OUT_OF_RANGE: {topic}-0 at offset" in capsys.readouterr().out


def test_every_row_has_a_test_that_exists():
    text = GUIDE.read_text()
    rows = [line for line in text.splitlines() if re.match(r"\| [PLHZ]\d", line)]
    ids = {one for line in rows for one in re.findall(r"[PLHZ]\d+", line.split("|")[1])}
    counts = {"P": 14, "L": 9, "H": 6, "Z": 7}
    assert ids == {f"{kind}{number}" for kind, count in counts.items() for number in range(1, count + 1)}
    for line in rows:
        named = list(_TEST.finditer(line))
        assert named, line
        for match in named:
            path = ROOT / match["path"] if "/" in match["path"] else Path(__file__).parent / match["path"]
            assert not match["name"] or f"def {match['name']}(" in path.read_text(), match[0]
