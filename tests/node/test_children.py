"""What the supervisor forks: the table of entry points."""

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
