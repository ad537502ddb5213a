"""`headrace start` without Typer: which lines that are, and that Typer reads them likewise."""

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli import application, plain_start

PLAIN = [
    ["start", "a.properties"],
    ["start", "a.properties", "--set", "k=v"],
    ["start", "--set", "k=v", "a.properties", "--set=l=a=b c"],
    ["start", "--set=", "a.properties"],
    ["start", "--set", "k", "/etc/a b.properties"],
]
TYPERS = [
    [],
    ["start"],
    ["start", ""],
    ["start", "--help"],
    ["start", "-h", "a.properties"],
    ["start", "a.properties", "b.properties"],
    ["start", "a.properties", "--set"],
    ["start", "a.properties", "--set", "--set"],
    ["start", "a.properties", "--set", "-1"],
    ["start", "--", "a.properties"],
    ["start", "-"],
    ["start", "a.properties", "--sets=k=v"],
    ["--version", "start", "a.properties"],
    ["dev", "a.properties"],
]


@pytest.mark.parametrize("line", PLAIN)
def test_typer_reads_a_plain_line_as_we_do(line, monkeypatch):
    read = []
    monkeypatch.setattr(plain_start, "run", lambda *given: read.append(given))
    application.app(line, standalone_mode=False, prog_name="headrace")
    assert [plain_start.read(line, {})] == read


@pytest.mark.parametrize("line", TYPERS)
def test_any_other_line_is_typer_s(line):
    assert plain_start.read(line, {}) is None


def test_completion_is_typer_s():
    assert plain_start.read(PLAIN[0], {"_HEADRACE_COMPLETE": "complete_bash"}) is None
    assert plain_start.read(PLAIN[0], {}) == (Path("a.properties"), [])


@pytest.mark.process
def test_a_start_imports_no_typer(tmp_path):
    """Each is memory of every node, and time before it serves."""
    heavy = ("typer", "click", "rich", "headrace.cli.application", "numpy", "pyspark")
    program = (
        "import gc, sys; from headrace.cli.main import main; code = main();"
        f"print(code, gc.isenabled(), *[name for name in {heavy!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", program, "start", str(tmp_path / "nowhere"), "--set", "broker.id=1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("78 True\n", 0), done.stderr
    assert done.stderr.startswith("headrace: invalid value ")
    assert done.stderr.endswith(" for FILE: No such file or directory\n")


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "told"), [(["start"], "FILE.properties"), (["start", "a", "b"], "(b)"), (["start", "a", "--set"], "--set")]
)
def test_a_line_that_typer_refuses_is_refused(line, told):
    done = subprocess.run([sys.executable, "-m", "headrace.cli.main", *line], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
