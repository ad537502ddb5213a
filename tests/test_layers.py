"""Imports run downward only: the map of docs/architecture.md, enforced."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "headrace": set(),
    "protocol": {"headrace"},
    "shm": {"headrace"},
    "log": {"headrace", "protocol"},
    "client": {"headrace", "protocol"},
    "workers": {"headrace", "client", "log", "protocol", "shm"},
    "controller": {"headrace", "client", "protocol", "shm"},
    "node": {"headrace", "workers", "controller", "shm", "log"},
    "spark": {"headrace", "client", "log", "protocol", "shm"},
    "cli": {"headrace", "client", "log", "shm", "node", "spark"},
}


def imports_of(path: Path) -> set[str]:
    """Our folders that a file imports, whether at its top, in a function or for types only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
            if node.module == "headrace":
                names = [f"headrace.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "headrace":
                is_folder = len(parts) > 1 and parts[1] in MAY_IMPORT
                found.add(parts[1] if is_folder else "headrace")
    return found


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_a_folder_imports_only_what_lies_below_it(folder):
    wrong = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        upward = imports_of(path) - MAY_IMPORT[folder] - {folder}
        if upward:
            wrong[str(path.relative_to(ROOT))] = sorted(upward)
    assert not wrong


def test_kazoo_is_imported_in_one_file_only():
    users = [
        str(path.relative_to(ROOT))
        for folder in MAY_IMPORT
        for path in (ROOT / folder).rglob("*.py")
        if "import kazoo" in path.read_text() or "from kazoo" in path.read_text()
    ]
    assert users == ["controller/zk.py"]


def test_the_import_reader_sees_an_upward_import(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    from headrace.workers import network\n")
    assert imports_of(bad) == {"workers"}
