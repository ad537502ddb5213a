"""A process's own ends: what it may write, what it notices, how it leaves."""

import os
import threading
import time

import pytest

from headrace.errors import CorruptRing, Fenced
from headrace.shm import seat as seat_module
from headrace.shm.cluster_view import EMPTY_VIEW
from headrace.shm.fabric import Fabric
from headrace.shm.process_table import ProcessState
from headrace.shm.region import RegionError
from headrace.shm.seat import Seat
from tests.shm.conftest import ARENA_BYTES, small_settings
from tests.support import descriptors

NETWORK, PARTITION, CONTROLLER, HOUSEKEEPER = range(4)  # of a fabric with one worker of each kind


def test_peers_talk_both_ways(new_fabric):
    wiring = new_fabric().wiring
    seats = [Seat(wiring, process_id) for process_id in range(4)]
    for a, b in wiring.pairs():
        assert seats[a].writers[b].write(1 + a, f"{a} to {b}".encode())
        seats[a].writers[b].commit()
    for a, b in wiring.pairs():
        assert [(kind, bytes(body)) for kind, body in seats[b].readers[a].poll(9)] == [(1 + a, f"{a} to {b}".encode())]
    assert seats[HOUSEKEEPER].writers.keys() == seats[HOUSEKEEPER].readers.keys() == {PARTITION}


def test_only_the_controller_can_write_the_view(new_fabric):
    wiring = new_fabric().wiring
    controller, network = Seat(wiring, CONTROLLER), Seat(wiring, NETWORK)
    assert network.view_writer is None
    published = controller.view_writer.publish(EMPTY_VIEW._replace(cluster_id="c"))
    assert network.view.read() == published
    with pytest.raises(TypeError):
        network.view._words[100] = 1


def test_a_peer_parked_on_its_doorbell_is_woken(new_fabric):
    wiring = new_fabric().wiring
    network, partition = Seat(wiring, NETWORK), Seat(wiring, PARTITION)
    network.ring(PARTITION)
    with pytest.raises(BlockingIOError):
        os.eventfd_read(partition.doorbell.fd)
    partition.doorbell.park()
    network.ring(PARTITION)
    assert os.eventfd_read(partition.doorbell.fd) == 1


def test_a_process_says_how_it_is(new_fabric):
    fabric = new_fabric()
    seat = Seat(fabric.wiring, PARTITION)
    assert fabric.processes.state(PARTITION) is ProcessState.STARTING
    seat.set_state(ProcessState.READY)
    seat.beat(123)
    assert fabric.processes.state(PARTITION) is ProcessState.READY
    assert fabric.processes.heartbeat_ns(PARTITION) == 123
    seat.counters.add(0, 5)
    assert fabric.processes.counters(PARTITION).read()["requests"] == 5


def test_nothing_changed_is_nothing_done(new_fabric):
    seat = Seat(new_fabric().wiring, NETWORK)
    writers = dict(seat.writers)
    assert seat.changed() == frozenset()
    assert all(seat.writers[peer] is writer for peer, writer in writers.items())


def test_a_replaced_peer_is_told_once_and_its_rings_are_new(new_fabric):
    fabric = new_fabric()
    seat = Seat(fabric.wiring, NETWORK)
    seat.writers[PARTITION].write(1, b"to the dead")
    seat.writers[PARTITION].commit()
    kept = seat.writers[CONTROLLER]
    fabric.renew(PARTITION)
    assert seat.changed() == {PARTITION}
    assert seat.changed() == frozenset()
    assert seat.writers[CONTROLLER] is kept
    successor = Seat(fabric.wiring, PARTITION)
    assert successor.readers[NETWORK].poll(9) == [], "the dead process's messages died with it"
    seat.writers[PARTITION].write(1, b"hello")
    seat.writers[PARTITION].commit()
    assert len(successor.readers[NETWORK].poll(9)) == 1


def test_two_deaths_between_two_looks_are_one_change(new_fabric):
    fabric = new_fabric()
    seat = Seat(fabric.wiring, NETWORK)
    fabric.renew(PARTITION)
    fabric.renew(PARTITION)
    fabric.renew(CONTROLLER)
    assert seat.changed() == {PARTITION, CONTROLLER}


def test_a_process_that_was_replaced_is_fenced(new_fabric):
    fabric = new_fabric()
    seat = Seat(fabric.wiring, PARTITION)
    fabric.renew(PARTITION)
    with pytest.raises(Fenced, match="generation 1, but the node has 2"):
        seat.changed()


def test_a_replaced_network_worker_waits_for_nothing(new_fabric):
    fabric = new_fabric(network_workers=2)
    first, second = Seat(fabric.wiring, 0), Seat(fabric.wiring, 1)
    first.partitions.set_wait(3, 0, True)
    second.partitions.set_wait(3, 1, True)
    fabric.renew(0)
    Seat(fabric.wiring, 0)
    assert list(second.partitions.waiting(3)) == [1]


def test_a_peer_that_dies_again_within_its_renewal_is_followed_to_its_last_generation(new_fabric, monkeypatch):
    fabric = new_fabric()
    seat = Seat(fabric.wiring, NETWORK)
    create_ring = fabric._create_ring
    looks = []

    def look_then_create(*arguments):
        looks.append(seat.changed())
        return create_ring(*arguments)

    fabric.renew(PARTITION)
    monkeypatch.setattr(fabric, "_create_ring", look_then_create)
    fabric.renew(PARTITION)
    assert looks == [{PARTITION}] + [frozenset()] * (len(fabric.wiring.pairs_of(PARTITION)) - 1)
    assert seat.changed() == {PARTITION}
    assert seat.writers[PARTITION].write(1, b"x")


def test_a_process_that_starts_within_a_peers_renewal_waits_for_it(new_fabric):
    fabric = new_fabric()
    wiring = fabric.wiring
    hidden = wiring.region_name("ring.0.1.1.1")
    os.rename(f"/dev/shm{hidden}", f"/dev/shm{hidden}.hidden")

    def bring_back() -> None:
        time.sleep(0.02)
        os.rename(f"/dev/shm{hidden}.hidden", f"/dev/shm{hidden}")

    thread = threading.Thread(target=bring_back)
    thread.start()
    seat = Seat(wiring, NETWORK)
    thread.join()
    assert set(seat.writers) == {PARTITION, CONTROLLER}


def test_a_process_whose_rings_never_come_says_which(new_fabric, monkeypatch):
    fabric = new_fabric()
    monkeypatch.setattr(seat_module, "JOIN_TRIES_MAX", 3)
    os.unlink(f"/dev/shm{fabric.wiring.region_name('ring.1.1.0.1')}")
    with pytest.raises(RegionError, match=r"process 0: no rings to processes \[1\]"):
        Seat(fabric.wiring, NETWORK)


def test_a_detached_seat_holds_nothing(new_fabric):
    fabric = new_fabric()
    before = descriptors.held()
    seat = Seat(fabric.wiring, NETWORK)
    seat.detach()
    assert descriptors.held() == before


def test_what_a_network_worker_received_is_where_every_partition_worker_is_told(new_fabric):
    wiring = new_fabric(network_workers=2, partition_workers=2).wiring
    seats = [Seat(wiring, process_id) for process_id in range(wiring.process_count)]
    assert [sorted(seat.arenas) for seat in seats] == [[0], [1], [0, 1], [0, 1], [], []]
    seats[1].arenas[1].memory[70:75] = b"batch"
    for partition in (2, 3):
        assert seats[partition].arenas[1].at(70, 5) == b"batch"
        assert seats[partition].arenas[0].at(70, 5) == bytes(5)
    seats[2].arenas[1].at(70, 1)[0] = ord("B")
    assert seats[1].arenas[1].memory[70:75] == b"Batch"


def test_a_place_beyond_the_arena_is_refused(new_fabric):
    arena = Seat(new_fabric().wiring, PARTITION).arenas[NETWORK]
    end = len(arena.memory)
    assert end >= ARENA_BYTES
    assert len(arena.at(0, end)) == end
    for place, length in ((0, end + 1), (end, 1), (1 << 63, 1), (1, 1 << 63), (-1, 2)):
        with pytest.raises(CorruptRing, match=f"arena.0.1: {length} bytes at {place}, of {end}"):
            arena.at(place, length)


def test_a_replaced_network_worker_has_an_arena_of_its_own_and_its_readers_follow(new_fabric):
    fabric = new_fabric(network_workers=2)
    first, partition = Seat(fabric.wiring, 0), Seat(fabric.wiring, 2)
    first.arenas[0].memory[:4] = b"dead"
    other = partition.arenas[1]
    appended = partition.arenas[0].at(0, 4)
    fabric.renew(0)
    assert partition.changed() == {0}
    successor = Seat(fabric.wiring, 0)
    assert successor.arenas[0].memory[:4] == bytes(4)
    successor.arenas[0].memory[:4] = b"next"
    assert partition.arenas[0].at(0, 4) == b"next"
    assert appended == b"dead", "what is still read stays mapped"
    assert partition.arenas[1] is other
    assert fabric.holders(0) == [2], "which holds the renewal up, where there is no room"
    del appended
    partition.changed()
    assert not fabric.holders(0)


def test_a_node_without_arenas_has_none(tmp_path):
    fabric = Fabric.create(small_settings(tmp_path).with_values({"headrace.receive.arena.bytes": "0"}))
    try:
        seats = [Seat(fabric.wiring, process_id) for process_id in range(4)]
        assert [seat.arenas for seat in seats] == [{}] * 4
        fabric.renew(NETWORK)
        assert fabric.settle(NETWORK)
        for seat in seats:
            seat.detach()
    finally:
        fabric.destroy()
