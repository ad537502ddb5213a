"""Numbers and lists that count how often they are compared, walked or measured: a quadratic loop shows without a clock."""


class Counter:
    """How often so far."""

    def __init__(self):
        self.count = 0


def counted_numbers(values, counter):
    """Equal to these numbers; each comparison counts, a look-up by hash does so once for each hit."""

    class Number(int):
        __hash__ = int.__hash__

        def __eq__(self, other):
            counter.count += 1
            return int.__eq__(self, other)

    return [Number(value) for value in values]


class CountedList(list):
    """Each walk over it, and each question for its length, counts."""

    def __init__(self, values, counter):
        super().__init__(values)
        self._counter = counter

    def __iter__(self):
        self._counter.count += 1
        return super().__iter__()

    def __len__(self):
        self._counter.count += 1
        return super().__len__()
