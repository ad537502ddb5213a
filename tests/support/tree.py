"""The folders that are shipped, and their sources: what checks of the whole tree read. Generated files are not among them."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [
    "headrace",
    "protocol",
    "shm",
    "runtime",
    "log",
    "client",
    "aio",
    "classic",
    "workers",
    "controller",
    "node",
    "spark",
    "arrow",
    "load",
    "migration",
    "testing",
    "mirror",
    "cli",
]
_GENERATED = "Made by `make codec`"  # says the docstring of a file that `tools/generate.py` writes
_HEAD_BYTES = 400


def is_generated(path: Path) -> bool:
    with open(path) as file:
        return _GENERATED in file.read(_HEAD_BYTES)


CODE = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py")) if not is_generated(path)]


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())
