"""Rows that are nobody's."""

import random

from headrace.shm.free_rows import FreeRows


def test_rows_are_used_once_until_they_are_given_back():
    rng = random.Random(3)
    rows = FreeRows(50, [4, 7])
    used = {4, 7}
    for _ in range(500):
        count = rng.randrange(len(rows) + 1)
        taken = rows.peek(count)
        assert taken == rows.peek(count)
        assert len(set(taken)) == count
        assert not used & set(taken)
        assert all(0 <= row < 50 for row in taken)
        rows.take(count)
        used |= set(taken)
        assert len(rows) == 50 - len(used)
        back = rng.sample(sorted(used), rng.randrange(len(used) + 1))
        rows.give(back)
        used -= set(back)


def test_what_was_given_back_is_used_first():
    rows = FreeRows(10, range(5))
    rows.give([2, 3])
    assert rows.peek(4) == [3, 2, 5, 6]
