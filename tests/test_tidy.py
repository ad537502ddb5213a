"""How the tree reads: the mechanical part of our style."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = [
    "headrace",
    "protocol",
    "shm",
    "log",
    "client",
    "workers",
    "controller",
    "node",
    "spark",
    "cli",
    "bench",
    "tests",
    "systemd",
]
CODE = [path for folder in FOLDERS[:10] for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_has_a_readme_of_a_page(folder):
    text = (ROOT / folder / "README.md").read_text()
    assert 5 <= len(text.splitlines()) <= 80


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_opens_with_its_purpose(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_no_drawer_of_odds_and_ends():
    drawers = [path for path in CODE if path.stem in ("util", "utils", "helpers", "common", "misc")]
    assert not drawers


def test_no_file_is_long():
    assert not [path for path in CODE if len(path.read_text().splitlines()) > 600]


def test_tracked_files_name_no_machine_paths_and_no_registries():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git checkout here")
    pattern = re.compile(r"(^|[^A-Za-z0-9_.])/(work|farm|root)/")
    wrong = []
    for name in listed.stdout.split():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".txt", ".xml", ".service") and path.is_file():
            text = path.read_text(errors="replace")
            if name != "tests/test_tidy.py" and pattern.search(text):
                wrong.append(name)
    assert not wrong
