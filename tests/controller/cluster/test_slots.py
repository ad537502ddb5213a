import random

from headrace.controller.cluster.slots import NO_SLOT, Slots


def test_a_replica_keeps_its_slot():
    slots = Slots(4)
    first = slots.take("t", 0)
    assert slots.take("t", 0) == first == slots.get("t", 0)
    assert slots.take("t", 1) != first


def test_the_lowest_free_slot_goes_first():
    slots = Slots(4)
    for index in range(4):
        slots.take("t", index)
    slots.release("t", 2)
    slots.release("t", 0)
    assert slots.take("u", 0) == 0
    assert slots.take("u", 1) == 2


def test_no_slot_once_all_are_taken():
    slots = Slots(1)
    slots.take("t", 0)
    assert slots.take("t", 1) == NO_SLOT
    assert slots.get("t", 1) == NO_SLOT
    slots.release("t", 0)
    assert slots.take("t", 1) == 0


def test_a_successor_takes_over_what_was_given():
    slots = Slots(4)
    slots.restore({("t", 0): 2, ("u", 0): 0})
    assert slots.get("t", 0) == 2
    assert [slots.take("v", index) for index in range(3)] == [1, 3, NO_SLOT]


def test_no_slot_is_ever_given_twice():
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    slots = Slots(16)
    held: dict[tuple[str, int], int] = {}
    for _ in range(2000):
        name = ("t", chance.randrange(24))
        if chance.random() < 0.5:
            slot = slots.take(*name)
            assert (slot == NO_SLOT) == (name not in held and len(held) == 16), seed
            if slot != NO_SLOT:
                held[name] = slot
        else:
            slots.release(*name)
            held.pop(name, None)
        assert len(set(held.values())) == len(held), seed
        assert slots.has_room(16 - len(held)), seed
        assert not slots.has_room(17 - len(held)), seed
