"""docs/architecture.md lists each function that takes files away, with what has to be known before."""

import re

import pytest

from tests.support.removals import ROOT, removals

TABLE = re.compile(r"## What takes files away\n(.*?)\n## ", re.DOTALL)
ENTRY = re.compile(r"`((?:\w+/)+\w+\.py): ([\w, ]+)`")


def listed():
    rows = TABLE.search((ROOT / "docs/architecture.md").read_text())[1].splitlines()
    found = {}
    for row in rows:
        for path, functions in ENTRY.findall(row):
            found.setdefault(path, set()).update(functions.split(", "))
    return found


@pytest.mark.slow
def test_each_function_that_takes_files_away_is_listed_with_the_proof_that_it_needs():
    """One that is new needs a row: what has to be known before records may go?"""
    assert listed() == removals()


def test_each_row_says_what_has_to_be_known_before():
    rows = [row for row in TABLE.search((ROOT / "docs/architecture.md").read_text())[1].splitlines() if "`" in row]
    proofs = [
        row.strip("| ").split(" | ")[-1] for row in rows if row.startswith("|") and "the calls themselves" not in row
    ]
    assert all(len(proof.split()) > 3 for proof in proofs)


def test_a_removal_is_found_whatever_it_is_called_by(tmp_path, monkeypatch):
    source = tmp_path / "log/new.py"
    source.parent.mkdir()
    source.write_text(
        "import os, shutil\n"
        "def one(path): path.unlink()\n"
        "class Two:\n"
        "    def three(self): os.remove('x'); self._disk.rename(1, 2)\n"
        "    async def four(self): shutil.rmtree('x')\n"
        "def five(text): return text.replace('a', 'b')\n"
        "def six(log): log._restart_at(0)\n"
    )
    monkeypatch.setattr("tests.support.removals.ROOT", tmp_path)
    assert removals() == {"log/new.py": {"one", "three", "four", "six"}}
