"""Every source is findable from its tests, and they from it (`support/held_sources.py`)."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.support.held_sources import ROOT, files_of_tests, holders, namesake, said, sources

# what no test holds, and why there is nothing to hold
UNHELD: dict[str, str] = {}
# tests beside sources that hold none in particular, and what they are about
ABOUT_MORE = {
    "tests/protocol/test_message_classes.py": "the package of generated classes",
    "tests/classic/test_guide.py": "the programs of docs/classic.md",
    "tests/spark/test_examples.py": "the jobs of examples/, which is not shipped",
    "tests/spark/test_extra.py": "what `import headrace.spark` says where the extra is missing",
    "tests/spark/test_job_script.py": "the lines of README, and how the package is found",
    "tests/workers/coordinators/test_pure_coordinators.py": "imports of the whole room",
}
# folders whose tests run whole nodes: what they hold they do not import
WHOLE_NODES = (
    "tests/e2e/",
    "tests/aio/",
    "tests/interop/",
    "tests/chaos/",
    "tests/spark_hosts/",
    "tests/spark_peer/",
    "tests/systemd/",
)


@cache
def imported(path):
    """Paths of our modules that a file imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # "headrace.client.cluster.RETRY_PAUSE_S", or a path that is read
    return {path for name in names if (path := path_of(name))}


@cache
def path_of(name):
    """`headrace.shm.ring` and what is in it is shm/ring.py; empty for what is none of ours."""
    if name.endswith(".py") and name.isprintable() and (ROOT / name).is_file():
        return name
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return ""
    places = [parts] if parts[0] in ("tests", "tools") else [parts[1:], parts] if parts[0] == "headrace" else []
    for place in places:
        for count in (len(place), len(place) - 1):
            path = "/".join(place[:count]) + ".py"
            if (ROOT / path).is_file():
                return path
    return ""


def reached(test):
    """What a test module and the conftests above it import, and what that does, to the end."""
    conftests = [f"{folder}/conftest.py" for folder in map(str, Path(test).parents)]
    found, due = set(), [test, *(path for path in conftests if (ROOT / path).is_file())]
    while due:
        path = due.pop()
        if path not in found:
            found.add(path)
            due += imported(path)
    return found


def test_every_source_is_held_by_a_test():
    unheld = {source for source, tests in holders().items() if not tests}
    assert sorted(unheld - set(UNHELD)) == [], "name a test after it, or say `Holds: ...` in the docstring of one"
    assert sorted(set(UNHELD) - unheld) == [], "held, or gone: no exception any more"


@pytest.mark.slow
def test_what_a_test_says_that_it_holds_is_there_and_within_its_reach():
    known = set(sources())
    wrong = []
    for test in files_of_tests():
        held = said(test)
        within = known if test.startswith(WHOLE_NODES) else reached(test)
        wrong += [f"{test}: {source} is no source" for source in held if source not in known]
        wrong += [f"{test}: {source} is not imported" for source in held if source in known - within]
        wrong += [f"{test}: {source} goes without saying" for source in held if source == namesake(test)]
        wrong += [f"{test}: {source} twice" for source in {one for one in held if held.count(one) > 1}]
    assert wrong == []


def test_a_test_module_beside_sources_says_which_it_holds():
    """Those of the top and of whole nodes are about everything."""
    folders = {source.rpartition("/")[0] for source in sources()}
    silent = {
        test
        for test in files_of_tests()
        if test.removeprefix("tests/").rpartition("/")[0] in folders
        and namesake(test) not in sources()
        and not said(test)
    }
    assert sorted(silent - set(ABOUT_MORE)) == []
    assert sorted(set(ABOUT_MORE) - silent) == [], "it says what it holds, or is gone"
