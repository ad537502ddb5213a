"""The folders that are shipped, and their sources: what checks of the whole tree read."""

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
CODE = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())
