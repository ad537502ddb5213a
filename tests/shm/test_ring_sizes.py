"""Sizes of the rings: what the settings say, while it keeps within the bound."""

import os

import pytest

from headrace.errors import ConfigError
from headrace.limits import ANSWER_RING_BYTES, ARENA_BYTES_MIN, CONTROL_RING_BYTES
from headrace.settings import Settings
from headrace.shm.fabric import Fabric
from headrace.shm.ring_sizes import RingSizes, bound_bytes, ring_bytes, ring_sizes, shm_bytes

MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30


def settings(network, partition, **more):
    return Settings({"headrace.network.workers": str(network), "headrace.partition.workers": str(partition), **more})


def test_a_small_node_has_what_the_settings_say():
    given = settings(2, 1)
    assert ring_sizes(given, GIBIBYTE) == RingSizes(
        8 * MEBIBYTE, ANSWER_RING_BYTES, CONTROL_RING_BYTES, arena=16 * MEBIBYTE
    )
    assert shm_bytes(given, ring_sizes(given, GIBIBYTE)) < 96 * MEBIBYTE


def test_a_node_of_sixteen_cores_takes_its_share_and_no_more():
    given = settings(16, 8)
    bound = 64 * GIBIBYTE // 100
    assert shm_bytes(given, ring_sizes(given, GIBIBYTE * 4)) > 1_300_000_000, "as large as the settings say"
    assert shm_bytes(given, ring_sizes(given, bound)) <= bound


@pytest.mark.parametrize(("partition", "most", "least"), [(2, 0.5, 0.1), (16, 20, 4), (64, 280, 50)])
def test_rings_among_partition_workers_and_the_controller_stay_a_small_share(partition, most, least):
    given = settings(partition // 2, partition)
    for bound, mebibytes in ((100 * GIBIBYTE, most), (0, least)):
        sizes = ring_sizes(given, bound)
        assert ring_bytes(given, sizes)["peer"] <= mebibytes * MEBIBYTE
        assert ring_bytes(given, sizes)["peer"] * 50 < shm_bytes(given, sizes)


def test_what_a_boot_reserves_is_what_is_said(tmp_path):
    small = {"log.dirs": str(tmp_path), "headrace.request.ring.bytes": "65536", "message.max.bytes": "16384"}
    given = settings(2, 3, **small)
    fabric = Fabric.create(given)
    try:
        names = [name for name in os.listdir("/dev/shm") if name.startswith(fabric.wiring.prefix)]
        reserved = sum(os.stat(f"/dev/shm/{name}").st_size for name in names)
        assert 0 <= reserved - shm_bytes(given, fabric.wiring.ring_sizes) < 4 * 4096
    finally:
        fabric.destroy()


@pytest.mark.parametrize(("network", "partition"), [(1, 1), (4, 2), (32, 64)])
@pytest.mark.parametrize("bound", [MEBIBYTE, 100 * MEBIBYTE, GIBIBYTE, 100 * GIBIBYTE])
def test_rings_are_powers_of_two_that_hold_a_largest_batch_twice(network, partition, bound):
    given = settings(network, partition)
    sizes = ring_sizes(given, bound)
    for size in (sizes.request, sizes.answer, sizes.control, sizes.upkeep, sizes.peer):
        assert size & (size - 1) == 0
    assert sizes.request >= 2 * (given["message.max.bytes"] + 4096)
    if sizes.request < given["headrace.request.ring.bytes"]:
        assert shm_bytes(given, RingSizes(2 * sizes.request, sizes.answer, sizes.control)) > bound


def test_a_ring_size_that_is_given_stays():
    given = settings(16, 8, **{"headrace.request.ring.bytes": str(8 * MEBIBYTE)})
    assert ring_sizes(given, MEBIBYTE).request == 8 * MEBIBYTE


def test_a_bound_that_is_given_is_kept_or_refused_with_what_it_takes():
    given = settings(2, 1, **{"headrace.shm.bytes.max": str(40 * MEBIBYTE)})
    assert bound_bytes(given, "/dev/shm") == 40 * MEBIBYTE
    assert shm_bytes(given, ring_sizes(given, 40 * MEBIBYTE)) <= 40 * MEBIBYTE
    small = settings(2, 1, **{"headrace.shm.bytes.max": str(MEBIBYTE)})
    with pytest.raises(ConfigError, match=r"headrace.shm.bytes.max: this node needs \d+ bytes"):
        ring_sizes(small, bound_bytes(small, "/dev/shm"))


def test_the_bound_is_a_share_of_the_memory_where_none_is_given():
    assert 0 < bound_bytes(settings(1, 1), "/dev/shm") < GIBIBYTE * 100


def test_an_arena_is_halved_and_at_last_left_out_but_one_that_is_given_stays():
    seen = {ring_sizes(settings(8, 2), bound * MEBIBYTE).arena for bound in range(30, 400)}
    assert seen == {0, *(1 << bits for bits in range(18, 25))} & seen
    assert {0, ARENA_BYTES_MIN, 16 * MEBIBYTE} <= seen
    given = settings(8, 2, **{"headrace.receive.arena.bytes": str(MEBIBYTE)})
    assert ring_sizes(given, MEBIBYTE).arena == MEBIBYTE
    off = settings(8, 2, **{"headrace.receive.arena.bytes": "0"})
    assert ring_sizes(off, GIBIBYTE).arena == 0


@pytest.mark.parametrize("value", ["1", "131072", "300000", "-1"])
def test_an_arena_that_can_not_be_is_refused(value):
    with pytest.raises(ConfigError, match=r"headrace\.receive\.arena\.bytes"):
        settings(1, 1, **{"headrace.receive.arena.bytes": value})
