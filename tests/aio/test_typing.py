"""A user's program passes `mypy --strict`, and a mistake in it does not."""

import subprocess
import sys
from pathlib import Path

from tests.support.tree import ROOT

PROGRAM = Path(__file__).with_name("user_program.py")


def test_a_users_program_is_checked(tmp_path):
    made = subprocess.run(
        ["make", "-o", ".venv/.headrace-setup", "links", f"BIN={Path(sys.executable).parent}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    snippet = tmp_path / "program.py"
    snippet.write_text(PROGRAM.read_text())
    options = ["--strict", "--no-error-summary", "--hide-error-context", "--follow-imports", "silent"]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, snippet], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = {}
    for line in run.stdout.splitlines():
        _path, number, said = line.split(":", 2)
        found[int(number)] = found.get(int(number), "") + said
    wanted = {
        number: line.split("# wrong: ")[1]
        for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
        if "# wrong: " in line and "`" not in line
    }
    assert found.keys() == wanted.keys(), run.stdout + run.stderr
    assert all(wanted[number] in said for number, said in found.items()), found
