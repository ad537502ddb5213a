"""What the supervisor forks: the table of entry points."""

import subprocess
import sys

import pytest

from headrace.node import children
from headrace.node.children import BrokenInstallation, load_entry_points
from headrace.shm.wiring import Role


@pytest.fixture(autouse=True)
def _thaw_after():
    import gc

    yield
    gc.unfreeze()


def test_every_role_has_its_code():
    points = load_entry_points()
    assert set(points) == set(Role)
    assert all(callable(point) for point in points.values())


@pytest.mark.parametrize("name", ["headrace.workers.nothing", "headrace.workers"])
def test_code_that_is_not_there_is_named_with_its_role(monkeypatch, name):
    monkeypatch.setitem(children.ENTRY_MODULES, Role.PARTITION, name)
    with pytest.raises(BrokenInstallation, match=f"the partition process can't be imported from {name}: "):
        load_entry_points()


@pytest.mark.process
def test_a_node_imports_nothing_that_it_does_not_need_to_serve():
    """Each costs every node memory, and its start time: numpy is for compaction, the others come with metadata and zip files."""
    code = (
        "import sys; from headrace.node import children; children.load_entry_points();"
        "print(*sorted({'numpy', 'email', 'importlib.metadata', 'importlib.resources', 'zipfile', 'argparse', 'asyncio', 'typer'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stdout + done.stderr
