"""Regions: reserved up front, checked when attached, swept."""

import os
import stat

import posix_ipc
import pytest

from headrace.errors import StorageFailed
from headrace.shm import layout
from headrace.shm.region import SHM_DIRECTORY, Region, RegionError, region_prefix, sweep, unlink
from tests.support import descriptors

BOOT = "00c0ffee0042"


def test_what_is_written_in_one_mapping_stands_in_another(names):
    name = names()
    written = Region.create(name, 10_000)
    read = Region.attach(name, writable=False)
    written.words[100] = 2**64 - 1
    written.memory[9_999] = 7
    assert read.words[100] == 2**64 - 1
    assert read.memory[9_999] == 7
    assert read.size_bytes == 12_288, "whole pages"


def test_pages_are_reserved_and_not_only_promised(names):
    name = names()
    Region.create(name, 1 << 20)
    assert os.stat(f"{SHM_DIRECTORY}{name}").st_blocks * 512 >= 1 << 20


def test_a_full_dev_shm_is_an_early_and_clear_error(names):
    filesystem = os.statvfs(SHM_DIRECTORY)
    too_much = (filesystem.f_blocks + 1) * filesystem.f_frsize
    with pytest.raises(
        StorageFailed, match=rf"{SHM_DIRECTORY} can't hold {too_much} bytes .*headrace\.shm\.bytes\.max"
    ):
        Region.create(names(), too_much)
    assert not names.left()


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_group_may_read_whatever_the_umask(names, umask):
    name = names()
    before = os.umask(umask)
    try:
        Region.create(name, 4096)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(f"{SHM_DIRECTORY}{name}").st_mode) == 0o640


def test_a_read_only_mapping_can_not_be_written(names):
    name = names()
    writable = Region.create(name, 4096)
    region = Region.attach(name, writable=False)
    with pytest.raises(TypeError):
        region.words[100] = 1
    writable.words[100] = 1
    with open("/proc/self/maps") as maps:
        rights = [line.split()[1] for line in maps if name in line]
    assert sorted(rights) == ["r--s", "rw-s"]


def test_a_name_is_taken_once(names):
    name = names()
    Region.create(name, 4096)
    with pytest.raises(RegionError, match="already exists"):
        Region.create(name, 4096)


def test_a_region_that_is_not_there_is_named(names):
    with pytest.raises(RegionError, match="does not exist"):
        Region.attach(names())


def test_a_region_that_its_creator_has_not_finished_is_refused(names):
    name = names()
    shared = posix_ipc.SharedMemory(name, posix_ipc.O_CREX)
    with pytest.raises(RegionError, match="less than its header"):
        Region.attach(name)
    os.ftruncate(shared.fd, 4096)
    shared.close_fd()
    with pytest.raises(RegionError, match="magic is 0x0"):
        Region.attach(name)


def test_any_flipped_bit_in_the_header_is_refused(names):
    name = names()
    generation = layout.ring_generation(3, 4)
    region = Region.create(name, 4096, boot_id=BOOT, generation=generation)
    for bit in range((layout.HEADER_GENERATION + 1) * 64):
        region.memory[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RegionError, match="expected"):
            Region.attach(name, boot_id=BOOT, generation=generation)
        region.memory[bit // 8] ^= 1 << bit % 8
    Region.attach(name, boot_id=BOOT, generation=generation)


def test_a_region_of_another_boot_or_generation_is_refused(names):
    name = names()
    Region.create(name, 4096, boot_id=BOOT, generation=2)
    Region.attach(name)
    Region.attach(name, boot_id=BOOT, generation=2)
    with pytest.raises(RegionError, match="boot id"):
        Region.attach(name, boot_id="00c0ffee0043")
    with pytest.raises(RegionError, match="generation"):
        Region.attach(name, generation=3)


def test_a_truncated_region_is_refused(names):
    name = names()
    Region.create(name, 8192).close()
    os.truncate(f"{SHM_DIRECTORY}{name}", 4096)
    with pytest.raises(RegionError, match="size"):
        Region.attach(name)


def test_closing_gives_mapping_and_descriptor_back(names):
    name = names()
    Region.create(name, 4096).close()
    before = descriptors.held()
    for _ in range(20):
        region = Region.attach(name)
        assert region.words[layout.HEADER_BYTES // layout.WORD] == 0
        region.close()
    assert descriptors.held() == before
    with open("/proc/self/maps") as maps:
        assert not [line for line in maps if name in line]


def test_views_that_are_still_out_survive_the_close(names):
    region = Region.create(names(), 4096)
    region.memory[200:205] = b"alive"
    view = region.memory[200:205]
    region.close()
    assert bytes(view) == b"alive"


def test_a_sweep_takes_the_own_prefix_only_and_spares_a_boot(names):
    prefix = names.prefix
    for name in (f"{prefix}-a1-view", f"{prefix}-a1-ring.0.1.1.1", f"{prefix}-b2-view", f"{prefix}9-c3-view"):
        Region.create(f"/{name}", 4096).close()
    assert sweep(prefix, keep_boot_id="b2") == [f"{prefix}-a1-ring.0.1.1.1", f"{prefix}-a1-view"]
    assert sweep(prefix) == [f"{prefix}-b2-view"]
    assert names.left() == [f"{prefix}9-c3-view"]
    unlink(f"/{prefix}9-c3-view")


def test_unlinking_what_is_gone_is_no_error(names):
    unlink(names())


def test_nodes_of_one_host_have_names_of_their_own(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert region_prefix(1, tmp_path / "a") != region_prefix(1, tmp_path / "b")
    assert region_prefix(1, tmp_path / "a") != region_prefix(2, tmp_path / "a")
    assert region_prefix(1, tmp_path / "a") == region_prefix(1, tmp_path / "link")


@pytest.mark.parametrize("spare", [0, 1])
def test_a_region_that_can_not_be_mapped_for_now_is_an_error_of_regions(names, spare):
    region = Region.create(names(), 4096)
    with descriptors.none_left(spare), pytest.raises(RegionError, match="can't be"):
        Region.attach(region.name)
    attached = Region.attach(region.name)
    assert attached.close()
