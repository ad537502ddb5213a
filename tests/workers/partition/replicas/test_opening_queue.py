"""In what order logs are opened."""

from headrace.workers.partition.replicas.opening_queue import OpeningQueue


def test_what_is_asked_for_comes_first_then_coordinators_then_the_rest():
    queue = OpeningQueue()
    for slot in range(6):
        queue.add(slot, is_coordinator=slot == 3)
    for slot in (5, 2, 5, 77):
        queue.ask(slot)
    assert list(queue) == [5, 2, 3, 0, 1, 4]
    assert [queue.take() for _ in range(7)] == [5, 2, 3, 0, 1, 4, None]
    assert not queue


def test_a_slot_is_in_the_queue_once_and_keeps_its_place():
    queue = OpeningQueue()
    for slot in (1, 2, 1):
        queue.add(slot)
    queue.ask(2)
    queue.add(2, is_coordinator=True)
    assert (len(queue), list(queue), 2 in queue) == (2, [2, 1], True)
    queue.discard(2)
    queue.discard(7)
    assert list(queue) == [1]
