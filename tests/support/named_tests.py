"""Tables that name tests (`tests/findings.md`, `tests/cluster.md`): which of them are there."""

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


@cache
def names_in(path):
    """Tests of a module; `path` is below `tests/`."""
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def absent(named):
    """Of (path, name) those that are not there, as path::name."""
    return [f"{path}::{name}" for path, name in named if not (TESTS / path).exists() or name not in names_in(path)]
