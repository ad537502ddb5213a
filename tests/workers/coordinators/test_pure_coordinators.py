"""The coordinators touch nothing of the world, and their host nothing of what they coordinate: read from their imports."""

import ast
from pathlib import Path

import pytest

WORKERS = Path(__file__).parents[3] / "workers"
ROOM = sorted((WORKERS / "coordinators").rglob("*.py"))
# Of the standard library: what has no socket, no clock, no file and no chance in it.
STANDARD = {
    "__future__", "collections", "dataclasses", "enum", "functools", "logging", "struct", "sys", "typing",
}  # fmt: skip
OURS = (
    "headrace.backoff",
    "headrace.errors",
    "headrace.ids",
    "headrace.limits",
    "headrace.settings",
    "headrace.state_table",
    "headrace.protocol",
    "headrace.workers.coordinators",
)
HOST = ("coordinator_host", "coordinator_kind", "coordinator_batch", "known_topics", "steady_clock", "ticket")
# What every coordinator has: what else is in the room is a folder for each kind.
FOR_ANY = {"coordinator", "effects"}


def imports_of(path):
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", ROOM, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_a_coordinator_imports_no_socket_no_clock_and_no_file(path):
    for name in imports_of(path):
        first = name.partition(".")[0]
        assert first in STANDARD or name.startswith(OURS), name
    calls = [node.func.id for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]  # fmt: skip
    assert not {"open", "print", "input", "exec", "eval"} & set(calls)


@pytest.mark.parametrize("path", ROOM, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_a_coordinator_logs_by_effects_alone(path):
    """An event that is played again logs nothing. The loader, which runs once, says at once what it leaves out."""
    loggers = [name for name in ast.walk(ast.parse(path.read_text()))
               if isinstance(name, ast.Attribute) and name.attr == "getLogger"]  # fmt: skip
    assert not loggers or path.stem == "loader"


@pytest.mark.parametrize("name", HOST)
def test_the_host_knows_nothing_of_groups(name):
    path = WORKERS / "partition" / "coordination" / f"{name}.py"
    for imported in imports_of(path):
        room, _, rest = imported.partition("headrace.workers.coordinators.")
        assert room or rest.partition(".")[0] in FOR_ANY, imported
        assert "group" not in imported
        assert "OFFSETS" not in imported
