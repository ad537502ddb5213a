"""The plugin in a session of its own: the programs of docs/testing.md run as a user's tests would."""

import os
import subprocess
import sys

import pytest

from headrace.testing.plugin import topic_name
from tests.support.tree import ROOT

pytestmark = pytest.mark.process

PAGE = ROOT / "docs" / "testing.md"
LIGHT = """
import sys
import headrace.testing.plugin
heavy = [name for name in sys.modules if name.startswith(("headrace.node", "headrace.client", "headrace.workers"))]
assert not heavy, heavy
"""


def programs():
    return [part.split("```")[0] for part in PAGE.read_text().split("```python\n")[1:]]


def run(directory, text, *options):
    (directory / "test_program.py").write_text(text)
    (directory / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize("program", programs(), ids=["fixtures", "settings"])
def test_a_program_of_the_page_runs_where_each_warning_is_an_error(tmp_path, program):
    done = run(tmp_path, program, "-q", "-W", "error")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{program.count('def test_')} passed" in done.stdout


def test_the_fixtures_are_listed_with_what_they_are(tmp_path):
    done = run(tmp_path, "", "--fixtures", "-q")
    for line in ("kafka [session scope]", "A node for the whole session.", "kafka_topic", "kafka_cluster"):
        assert line in done.stdout


def test_a_session_without_the_fixtures_pays_for_nothing():
    subprocess.run([sys.executable, "-c", LIGHT], check=True, timeout=100)


@pytest.mark.parametrize(
    ("test", "begins"), [("test_a[x y/z]", "test_a-x-y-z-"), ("ä" * 9, "-"), ("t" * 300, "t" * 100 + "-")]
)
def test_a_topic_s_name_tells_its_test_and_is_allowed(test, begins):
    name = topic_name(test)
    assert name.startswith(begins)
    assert len(name) <= 249
    assert name != topic_name(test)
