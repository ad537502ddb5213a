"""A node seen from outside: found by its first log directory, the boot that began last, and only while it runs."""

import os
import shutil

import pytest

from headrace.shm.fabric import LAG
from headrace.shm.observer import Observer
from headrace.shm.region import SHM_DIRECTORY, RegionError


def regions(fabric):
    """Names of a boot's regions, as they stand in the directory."""
    start = fabric.wiring.region_name("")[1:]
    return {name for name in os.listdir(SHM_DIRECTORY) if name.startswith(start)}


def mapped(fabric):
    """How many mappings of a boot's regions this process has."""
    start = fabric.wiring.region_name("")
    with open("/proc/self/maps") as maps:
        return sum(start in line for line in maps)


def test_a_node_is_found_by_its_directory(new_fabric, tmp_path):
    with pytest.raises(RegionError, match="no node is running on log directory"):
        Observer(tmp_path)
    new_fabric()
    with Observer(tmp_path) as observer:
        assert list(observer.lags(0)) == []
    with pytest.raises(RegionError, match="no node is running on log directory"):
        Observer(tmp_path / "another")


def test_what_an_earlier_boot_left_is_not_taken_for_the_node(new_fabric, tmp_path):
    """A supervisor that was killed took nothing down; who looks meanwhile finds both."""
    fabric = new_fabric()
    boot_id = fabric.wiring.boot_id
    left = []
    try:
        for name in regions(fabric):
            left.append(f"{SHM_DIRECTORY}/{name.replace(boot_id, boot_id[::-1])}")
            shutil.copyfile(f"{SHM_DIRECTORY}/{name}", left[-1])
            os.utime(left[-1], ns=(0, 0))
        before = mapped(fabric)
        with Observer(tmp_path):
            assert mapped(fabric) > before
    finally:
        for path in left:
            os.unlink(path)


def test_nothing_stays_mapped_of_a_node_of_which_a_part_is_missing(new_fabric, tmp_path):
    fabric = new_fabric()
    os.unlink(f"{SHM_DIRECTORY}{fabric.wiring.region_name(LAG)}")
    before = mapped(fabric)
    with pytest.raises(RegionError) as failure:  # which keeps what its frames refer to
        Observer(tmp_path)
    assert mapped(fabric) == before, failure
