"""Imports run downward only: the map in docs/architecture.md, read from there and enforced.

Imports inside of functions and those under TYPE_CHECKING count as well.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# file -> the layer it may reach beside the map, and why
EXCEPTIONS = {
    "node/log_dirs.py": ("log", "the clean-shutdown markers are taken under the lock, before any worker runs"),
    "cli/demo_run.py": ("spark", "the demo runs Spark"),
}


def read_map(text: str) -> dict[str, set[str]]:
    """Folder -> folders it may import, of the fenced block under "Layers"."""
    block = text.split("## Layers")[1].split("```")[1]
    layers: dict[str, set[str]] = {"headrace": set()}
    for folders, targets in re.findall(
        r"(\w+(?:, \w+)*) -> ((?:\w+(?: \(read\))?(?:, )?)+|the standard library)", block
    ):
        named = set(re.findall(r"\w+", targets.replace("(read)", ""))) - {"the", "standard", "library"}
        for folder in folders.split(", "):
            layers[folder] = named | {"headrace"} if folder != "headrace" else set()
    return layers


LAYERS = read_map((ROOT / "docs" / "architecture.md").read_text())


def imports_of(path: Path) -> set[str]:
    """Our folders that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} imports relatively: say headrace.<folder>"
            names = [f"headrace.{alias.name}" for alias in node.names] if node.module == "headrace" else [node.module]
        for name in names:
            first, _, rest = name.partition(".")
            if first == "headrace":
                folder = rest.partition(".")[0]
                found.add(folder if folder in LAYERS else "headrace")
    return found


def files_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def upward(path: Path, folder: str) -> set[str]:
    allowed = LAYERS[folder] | {folder}
    if str(path.relative_to(ROOT)) in EXCEPTIONS:
        allowed |= {EXCEPTIONS[str(path.relative_to(ROOT))][0]}
    return imports_of(path) - allowed


def test_the_map_was_read_and_has_every_folder():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"bench", "tests", "systemd"}
    assert packages == set(LAYERS)
    assert LAYERS["shm"] == {"headrace"}
    assert LAYERS["workers"] == {"headrace", "client", "log", "protocol", "shm"}
    assert "log" in LAYERS["spark"]


def test_the_map_has_no_circle():
    left = dict(LAYERS)
    while left:
        lowest = {folder for folder, targets in left.items() if not targets & left.keys()}
        assert lowest, f"a circle among {sorted(left)}"
        left = {folder: targets for folder, targets in left.items() if folder not in lowest}


@pytest.mark.parametrize("folder", sorted(LAYERS))
def test_a_folder_imports_only_what_lies_below_it(folder):
    wrong = {str(path.relative_to(ROOT)): upward(path, folder) for path in files_of(folder) if upward(path, folder)}
    assert not wrong


@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_no_exception_is_stale(name):
    layer, _why = EXCEPTIONS[name]
    assert layer in imports_of(ROOT / name)
    assert layer not in LAYERS[name.partition("/")[0]]


def test_kazoo_is_imported_in_one_file_only():
    users = [
        str(path.relative_to(ROOT))
        for folder in LAYERS
        for path in files_of(folder)
        if re.search(r"^\s*(import|from) kazoo", path.read_text(), re.MULTILINE)
    ]
    assert users == ["controller/zk.py"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from headrace.workers import network", {"workers"}),
        ("import headrace.log.segment as s", {"log"}),
        ("from headrace import shm, errors", {"shm", "headrace"}),
        ("from headrace.errors import ConfigError", {"headrace"}),
        ("def f():\n    from headrace.node import children", {"node"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from headrace.cli import main", {"cli"}),
        ("import os, headraces.shm", set()),
    ],
)
def test_the_import_reader_sees_every_form(tmp_path, source, found):
    path = tmp_path / "module.py"
    path.write_text(source)
    assert imports_of(path) == found
