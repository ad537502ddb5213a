"""The fabric of a boot: made, renewed after deaths, taken down; stopped writers that wake up too late."""

import gc
import logging
import os
import platform
import random
import signal

import pytest

from headrace.errors import ConfigError, Fenced, StorageFailed
from headrace.shm import fabric as fabric_module
from headrace.shm import fence, ring
from headrace.shm.fabric import Fabric
from headrace.shm.partition_table import PartitionRow
from headrace.shm.region import SHM_DIRECTORY
from headrace.shm.ring_sizes import RingSizes
from headrace.shm.seat import Seat
from tests.support import descriptors
from tests.support.altered import altered
from tests.support.stepping import (
    exit_code,
    fork,
    signal_self_at,
    steps,
    wait_until_stopped_or_ended,
)

NETWORK, PARTITION, CONTROLLER, HOUSEKEEPER = range(4)  # of a fabric with one worker of each kind
FENCED_EXIT = 42


def names_of(fabric: Fabric) -> list[str]:
    return sorted(name for name in os.listdir(SHM_DIRECTORY) if name.startswith(fabric.wiring.prefix))


def test_a_boot_has_its_tables_its_arenas_and_a_pair_of_rings_for_each_pair_that_talks(new_fabric):
    fabric = new_fabric(network_workers=2, partition_workers=2)
    names = names_of(fabric)
    rings = [name for name in names if "-ring." in name]
    assert len(rings) == 2 * (2 * 2 + 2 + 2) + 2 * 1 + 2 * 2
    assert sum("-arena." in name for name in names) == 2
    assert len(names) == len(rings) + 4 + 2
    assert all(fabric.processes.generation(process_id) == 1 for process_id in range(fabric.wiring.process_count))


def test_destroying_leaves_nothing(new_fabric):
    fabric = new_fabric()
    eventfds = fabric.wiring.eventfds
    assert names_of(fabric)
    fabric.destroy()
    assert not names_of(fabric)
    for fd in eventfds:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
    new_fabric()


def test_a_new_boot_sweeps_the_last_one(new_fabric):
    dead = new_fabric()
    left = set(names_of(dead))
    fabric = new_fabric()
    assert fabric.wiring.boot_id != dead.wiring.boot_id
    assert not left & set(names_of(fabric))
    assert len(names_of(fabric)) == len(left)


@pytest.mark.parametrize(("bound", "hint"), [(1, "rings can't be smaller"), (1 << 40, None)])
def test_what_is_reserved_beyond_its_bound_says_what_would_make_it_less(new_fabric, monkeypatch, caplog, bound, hint):
    monkeypatch.setattr(fabric_module, "bound_bytes", lambda *_: bound)
    with caplog.at_level(logging.INFO):
        new_fabric()
    (said,) = [record.getMessage() for record in caplog.records if "shared memory bytes" in record.getMessage()]
    assert hint in said if hint else "hint" not in said


def test_a_boot_takes_what_its_bound_leaves_it(new_fabric, monkeypatch):
    def taken(fabric):
        return sum(os.stat(f"{SHM_DIRECTORY}/{name}").st_size for name in names_of(fabric))

    whole = taken(new_fabric())
    monkeypatch.setattr(fabric_module, "bound_bytes", lambda *_: whole * 3 // 4)
    fabric = new_fabric()
    assert taken(fabric) <= whole * 3 // 4
    fabric.renew(PARTITION)
    assert taken(fabric) <= whole * 3 // 4


def test_no_fabric_on_a_machine_with_another_memory_order(new_fabric, monkeypatch):
    monkeypatch.setattr(fence, "platform", altered(platform, machine=lambda: "aarch64"))
    with pytest.raises(ConfigError, match="x86-64"):
        new_fabric()


def test_a_dev_shm_that_fills_up_half_way_leaves_nothing(new_fabric, monkeypatch, tmp_path):
    gc.collect()  # what other tests dropped lets go of its descriptors now
    before = descriptors.held()
    filesystem = os.statvfs(SHM_DIRECTORY)
    too_large = 1 << (filesystem.f_blocks * filesystem.f_frsize).bit_length()
    monkeypatch.setattr(fabric_module, "ring_sizes", lambda *_: RingSizes(1 << 16, control=too_large))
    prefix = fabric_module.region_prefix(0, tmp_path)
    with pytest.raises(StorageFailed, match=SHM_DIRECTORY):
        new_fabric()
    assert not [name for name in os.listdir(SHM_DIRECTORY) if name.startswith(prefix)]
    gc.collect()
    assert descriptors.held() == before


def test_a_renewal_replaces_the_rings_of_one_process_only(new_fabric):
    fabric = new_fabric(network_workers=2, partition_workers=2)
    before = set(names_of(fabric))
    assert fabric.renew(1) == 2
    gone, made = before - set(names_of(fabric)), set(names_of(fabric)) - before
    assert len(gone) == len(made) == 6 + 1
    assert all("-ring.1.1." in name or name.endswith(".1.1") for name in gone)
    assert all("-ring.1.2." in name or name.endswith(".1.2") for name in made)
    assert "-arena.1.2" in "".join(made)


def test_a_renewal_rings_every_bell_so_that_sleepers_look(new_fabric):
    fabric = new_fabric()
    fabric.renew(PARTITION)
    for fd in fabric.wiring.eventfds:
        assert os.eventfd_read(fd) > 0


def publish_late(fabric: Fabric, step: int) -> int:
    """A network worker that is stopped at `step` of its publication and wakes up after its replacement."""
    seat = Seat(fabric.wiring, NETWORK)
    writer = seat.writers[PARTITION]
    signal_self_at(step, signal.SIGSTOP, [ring])
    assert writer.write(1, b"late", b"late" * 10)
    writer.commit()
    try:
        seat.changed()
    except Fenced:
        return FENCED_EXIT
    return 0


@pytest.mark.process
def test_a_writer_stopped_at_any_step_and_woken_after_its_replacement_is_fenced_and_harms_nobody(new_fabric):
    fabric = new_fabric()
    owner = Seat(fabric.wiring, PARTITION)
    for step in steps():
        successor = None
        pid = fork(lambda step=step: publish_late(fabric, step))
        was_stopped = wait_until_stopped_or_ended(pid)
        if not was_stopped:
            break
        fabric.renew(NETWORK)
        assert owner.changed() == {NETWORK}
        successor = Seat(fabric.wiring, NETWORK)
        assert successor.writers[PARTITION].write(2, b"successor")
        os.kill(pid, signal.SIGCONT)
        assert exit_code(pid) == FENCED_EXIT, f"step {step}"
        successor.writers[PARTITION].commit()
        found = [(kind, bytes(body)) for kind, body in owner.readers[NETWORK].poll(100)]
        assert found == [(2, b"successor")], f"step {step}"
        owner.readers[NETWORK].release()
        successor.detach()
    assert step > 100, "it was stopped at many steps"
    assert [bytes(body) for _, body in owner.readers[NETWORK].poll(100)] == [b"late" * 11], "the last one was in time"
    owner.detach()


def work_until_killed(fabric: Fabric, ready: int) -> int:
    seat = Seat(fabric.wiring, PARTITION)
    writer, reader = seat.writers[NETWORK], seat.readers[NETWORK]
    os.write(ready, b"!")
    number = 0
    while True:
        number += 1
        seat.beat(number)
        reader.poll(10)
        reader.release()
        seat.partitions.publish(number % 64, PartitionRow(*[number] * len(PartitionRow._fields)))
        if writer.write(1, number.to_bytes(8, "little"), bytes(number % 500)):
            writer.commit()
            seat.ring(NETWORK)


def resources(fabric: Fabric) -> tuple[int, int, int]:
    """Segments, descriptors and mappings."""
    gc.collect()
    with open("/proc/self/maps") as maps:
        mapped = sum(fabric.wiring.prefix in line for line in maps)
    return len(names_of(fabric)), descriptors.held(), mapped


def resident_bytes() -> int:
    with open("/proc/self/smaps_rollup") as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith("Pss_Anon")) * 1024


@pytest.mark.process
def test_a_thousand_kills_and_renewals_cost_no_segment_no_descriptor_and_no_memory(new_fabric):
    """Every tenth of a thousand deaths is that of a real process under load, killed at a random time."""
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    fabric = new_fabric()
    peer = Seat(fabric.wiring, NETWORK)
    warm, memory = None, 0
    for cycle in range(1_000):
        if cycle % 10 == 0:
            reading, writing = os.pipe()
            pid = fork(lambda writing=writing: work_until_killed(fabric, writing))
            os.read(reading, 1)
            for _ in range(rng.randrange(50)):
                assert all(kind == 1 for kind, _ in peer.readers[PARTITION].poll(10)), f"seed {seed}"
                peer.readers[PARTITION].release()
                peer.writers[PARTITION].write(1, b"to the dead")
                peer.writers[PARTITION].commit()
            os.kill(pid, signal.SIGKILL)
            assert exit_code(pid) == -signal.SIGKILL
            os.close(reading)
            os.close(writing)
        fabric.renew(PARTITION)
        assert peer.changed() == {PARTITION}
        assert peer.readers[PARTITION].poll(10) == []
        if cycle == 100:
            warm, memory = resources(fabric), resident_bytes()
    assert resources(fabric) == warm
    assert resident_bytes() - memory < 1 << 20
    assert fabric.processes.generation(PARTITION) == 1_001
    peer.detach()


@pytest.fixture
def full(monkeypatch):
    """full(fabric): from now on /dev/shm has no room for it; full(fabric, False): it has again."""

    def fill(fabric, is_full=True):
        def refuse(*_arguments):
            raise StorageFailed("no room")

        create = type(fabric)._create_ring
        monkeypatch.setattr(fabric, "_create_ring", refuse if is_full else lambda *given: create(fabric, *given))

    return fill


def exchange(fabric: Fabric, writer: Seat, reader: Seat) -> None:
    """A message from one to the other, whatever happened to them before."""
    assert writer.writers[reader.process_id].write(1, b"again")
    writer.writers[reader.process_id].commit()
    assert [bytes(body) for _kind, body in reader.readers[writer.process_id].poll(9)] == [b"again"]
    reader.readers[writer.process_id].release()


def test_without_room_a_dead_process_hands_its_rings_on_once_its_peers_let_go(new_fabric, full):
    fabric = new_fabric()
    dead, peers = Seat(fabric.wiring, PARTITION), [Seat(fabric.wiring, process_id) for process_id in (0, 3)]
    peers[0].writers[PARTITION].write(1, b"lost")
    peers[0].writers[PARTITION].commit()
    before = names_of(fabric)
    full(fabric)
    assert fabric.renew(PARTITION) == 2
    assert names_of(fabric) == before, "nothing is given back that others could take"
    dead.detach()
    for peer in peers:
        assert not fabric.settle(PARTITION)
        assert peer.changed() == {PARTITION}
        assert peer.changed() == frozenset(), "told once, however long it takes"
        assert peer.writers[PARTITION].write(1, b"into nowhere")
        peer.writers[PARTITION].commit()
        assert peer.readers[PARTITION].poll(9) == []
    assert fabric.settle(PARTITION)
    assert len(names_of(fabric)) == len(before)
    successor = Seat(fabric.wiring, PARTITION)
    assert successor.readers[NETWORK].poll(9) == []
    for peer in peers:
        assert peer.changed() == {PARTITION}
        exchange(fabric, peer, successor)
        exchange(fabric, successor, peer)


def test_a_peer_that_still_reads_a_message_has_not_let_go(new_fabric, full):
    fabric = new_fabric()
    dead, peer = Seat(fabric.wiring, PARTITION), Seat(fabric.wiring, NETWORK)
    dead.writers[NETWORK].write(1, b"read slowly")
    dead.writers[NETWORK].commit()
    ((_kind, body),) = peer.readers[PARTITION].poll(1)
    full(fabric)
    fabric.renew(PARTITION)
    fabric.processes.set_released(HOUSEKEEPER, (1 << 64) - 1)
    peer.changed()
    assert not fabric.settle(PARTITION)
    assert bytes(body) == b"read slowly"
    body.release()
    assert not fabric.settle(PARTITION), "it has not said so yet"
    assert peer.changed() == frozenset()
    assert fabric.settle(PARTITION)


def test_without_room_processes_that_died_together_wait_for_the_living_only(new_fabric, full):
    fabric = new_fabric(network_workers=2)
    dying, living = [Seat(fabric.wiring, process_id) for process_id in (0, 2, 3, 4)], Seat(fabric.wiring, 1)
    full(fabric)
    for seat in dying:
        seat.detach()
        fabric.renew(seat.process_id)
    assert fabric.holders(2) == [1], "a process that does not run holds nothing"
    assert fabric.settle(4), "the housekeeper has rings to the dead partition worker only"
    assert not fabric.settle(2)
    assert living.changed() == {2, 3}
    assert all(fabric.settle(process_id) for process_id in (0, 2, 3))
    successor = Seat(fabric.wiring, 2)
    assert living.changed() == {2, 3}
    exchange(fabric, living, successor)


def test_a_process_that_was_just_forked_may_hold_rings_already(new_fabric, full):
    fabric = new_fabric()
    fabric.renew(NETWORK)
    assert fabric.settle(NETWORK)
    full(fabric)
    fabric.renew(PARTITION)
    fabric.processes.set_released(HOUSEKEEPER, (1 << 64) - 1)
    assert not fabric.settle(PARTITION)


def test_room_that_comes_back_is_used_where_a_peer_never_lets_go(new_fabric, full, monkeypatch):
    monkeypatch.setattr(fabric_module, "RENEWAL_RETRY_MS", 0)
    fabric = new_fabric()
    peer = Seat(fabric.wiring, NETWORK)
    full(fabric)
    fabric.renew(PARTITION)
    assert not fabric.settle(PARTITION)
    full(fabric, False)
    assert fabric.settle(PARTITION)
    successor = Seat(fabric.wiring, PARTITION)
    assert peer.changed() == {PARTITION}
    exchange(fabric, peer, successor)


@pytest.mark.parametrize("spare", range(4))
def test_a_death_while_no_descriptor_is_left_is_followed_when_there_are_some(new_fabric, monkeypatch, spare):
    monkeypatch.setattr(fabric_module, "RENEWAL_RETRY_MS", 0)
    fabric = new_fabric()
    peer = Seat(fabric.wiring, NETWORK)
    for process_id in range(fabric.wiring.process_count):
        fabric.processes.set_released(process_id, 1 << 40)  # so that the old rings may be handed on
    with descriptors.none_left(spare):
        fabric.renew(PARTITION)
        fabric.settle(PARTITION)
        assert peer.changed() in (set(), {PARTITION})
    assert fabric.settle(PARTITION)
    successor = Seat(fabric.wiring, PARTITION)
    peer.changed()
    exchange(fabric, peer, successor)
