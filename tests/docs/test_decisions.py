"""The decision records: at most 25, each with a status and a row of the index. Each reference names a record that is there."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DECISIONS = ROOT / "docs/decisions"
RECORDS_MAX = 25
SECTIONS = ["## Context", "## Decision", "## Consequences"]
STATUS = re.compile(r"Status: (?P<word>accepted|superseded by (?P<number>\d{3})) \(\d{4}-\d{2}-\d{2}\)")
ROW = re.compile(
    r"\| \[(?P<number>\d{3})\]\((?P<file>[\w-]+\.md)\) \| (?P<title>[^|]+) \| (?P<status>[^|]+) \| [^|]+ \|"
)
# decision 001; decisions 001, 002 and 003; docs/decisions/001; a run of numbers may go on in the next line of a comment
REFERENCE = re.compile(
    r"\bdecisions?[ /](?P<numbers>\d{3}(?!\d)(?:(?:, | and |,\s*[#*]?\s*)\d{3}(?!\d))*)", re.IGNORECASE
)
BROKEN_OFF = re.compile(r"\bdecisions?\s*\n[\s#*]*(?P<numbers>\d{3}(?!\d)(?:(?:, | and )\d{3}(?!\d))*)", re.IGNORECASE)
FILE = re.compile(r"decisions/(?P<file>\d{3}-[\w-]+\.md)")


def records():
    return sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")


def opening(path):
    """Title, and the match of the status line."""
    title, blank, status = path.read_text().split("\n", 3)[:3]
    assert title.startswith(f"# {path.name[:3]}: "), path.name
    assert not blank, path.name
    return title[7:], STATUS.fullmatch(status)


def references(text):
    """Numbers of records that a text names, and names of their files."""
    numbers = [
        number
        for pattern in (REFERENCE, BROKEN_OFF)
        for found in pattern.finditer(text)
        for number in re.findall(r"\d{3}", found["numbers"])
    ]
    return numbers, FILE.findall(text)


def test_there_are_few_and_each_has_a_number_of_its_own():
    numbers = [path.name[:3] for path in records()]
    assert [number for number in numbers if not number.isdigit()] == []
    assert len(set(numbers)) == len(numbers)
    assert 0 < len(numbers) <= RECORDS_MAX


@pytest.mark.parametrize("path", records(), ids=lambda path: path.name[:3])
def test_each_has_a_status_and_the_sections_of_a_record(path):
    _, status = opening(path)
    assert status, f"{path.name}: the third line is no status"
    assert status["number"] is None or list(DECISIONS.glob(f"{status['number']}-*.md"))
    lines = path.read_text().splitlines()
    assert [name for name in SECTIONS if not any(line.startswith(name) for line in lines)] == []


def test_the_index_has_each_record_with_its_title_and_status_and_no_other():
    index = (DECISIONS / "README.md").read_text().splitlines()
    rows = [ROW.fullmatch(line) for line in index if line.startswith("| [")]
    listed = [(row["number"], row["file"], row["title"], row["status"]) for row in rows]
    there = []
    for path in records():
        title, status = opening(path)
        there.append((path.name[:3], path.name, title, status["word"]))
    assert listed == there


@pytest.mark.process
def test_each_reference_of_the_tree_names_a_record_that_is_there():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git checkout here")
    numbers, files = {path.name[:3] for path in records()}, {path.name for path in records()}
    wrong = {}
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if not path.is_file() or path == Path(__file__).resolve():
            continue
        try:
            found = references(path.read_text())
        except UnicodeDecodeError:
            continue
        stray = sorted({*found[0]} - numbers) + sorted({*found[1]} - files)
        if stray:
            wrong[name] = stray
    assert wrong == {}


@pytest.mark.parametrize("path", records(), ids=lambda path: path.name[:3])
def test_records_point_at_records_and_measurements_that_are_there(path):
    text = path.read_text()
    numbers = {one.name[:3] for one in records()}
    pointed = [number for run in re.findall(r"\((\d{3}(?:, \d{3})*)\)", text) for number in run.split(", ")]
    assert [number for number in pointed if number not in numbers and number.startswith("0")] == []
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_a_reference_is_found_however_it_is_written():
    text = "(decision 001), decisions 002 and 003, docs/decisions/004; docs/decisions/005, 006 (decisions\n# 007, 008) a decision 0123"
    assert sorted(references(text)[0]) == [f"{number:03}" for number in range(1, 9)]
    assert references("decisions/009-title.md")[1] == ["009-title.md"]
