"""Which test modules hold which source: by name, or because their docstring says so.

    shm/ring.py                  is held by tests/shm/test_ring.py; headrace/settings.py by tests/test_settings.py
    Holds: a/one.py, a/two.py    the last lines of a test module's docstring: it holds these as well

    python -m tests.support.held_sources                  every source with the tests that hold it
    python -m tests.support.held_sources log/disk.py      who holds one
    python -m tests.support.held_sources tests/log/...    what one holds

`tests/test_held_sources.py` refuses a source that nobody holds, and a name that is none.
"""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

from tests.support.tree import ROOT, is_generated

TOP = "headrace"  # the folder whose tests lie in tests/ itself
_HOLDS = re.compile(r"^Holds: (.+)\Z", re.MULTILINE | re.DOTALL)


@cache
def sources():
    """Modules that are shipped, and the tools, as paths from the root, without generated ones; a package's own file holds nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = [*project["tool"]["setuptools"]["package-dir"].values(), "tools"]
    paths = {path for folder in folders for path in (ROOT / folder).rglob("*.py") if path.name != "__init__.py"}
    return tuple(sorted(str(path.relative_to(ROOT)) for path in paths if not is_generated(path)))


@cache
def files_of_tests():
    return tuple(sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")))


def namesake(test):
    """The source that a test module would hold by its name."""
    path = Path(test).relative_to("tests")
    folder = path.parent if path.parent.name else Path(TOP)
    return str(folder / path.name.removeprefix("test_"))


@cache
def said(test):
    """What a test module's docstring says that it holds."""
    text = (ROOT / test).read_text()
    if "Holds: " not in text:
        return []
    found = _HOLDS.search(ast.get_docstring(ast.parse(text)) or "")
    return re.split(r",\s+", found[1].strip()) if found else []


def holders():
    """source -> the test modules that hold it; what is said of sources that are not there stands among them."""
    found = {source: [] for source in sources()}
    for test in files_of_tests():
        if namesake(test) in found:
            found[namesake(test)].append(test)
        for source in said(test):
            found.setdefault(source, []).append(test)
    return found


def main(asked):
    table = holders()
    tests = {test: [source for source, by in table.items() if test in by] for test in files_of_tests()}
    for name in asked or table:
        found = tests[name] if name in tests else table.get(name, [])
        print(name, *(found or ["-"]), sep="\n    ")


if __name__ == "__main__":
    main(sys.argv[1:])
