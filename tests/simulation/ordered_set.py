"""A set whose order is that of insertion: no address of an object, and no seed of Python's hash, decides what a run does.

Stands for `set` in the modules of headrace while a simulation runs (`stand_ins.py`).
"""


class OrderedSet(set):
    """What is iterated and popped comes in the order in which it came in."""

    def __init__(self, items=()):
        super().__init__()
        self._order = {}
        self.update(items)

    def __iter__(self):
        return iter(self._order)

    def __reduce__(self):
        return set, (list(self._order),)

    def add(self, item):
        super().add(item)
        self._order[item] = None

    def discard(self, item):
        super().discard(item)
        self._order.pop(item, None)

    def remove(self, item):
        super().remove(item)
        del self._order[item]

    def pop(self):
        if not self._order:
            raise KeyError("pop from an empty set")
        item = next(iter(self._order))
        self.remove(item)
        return item

    def clear(self):
        super().clear()
        self._order.clear()

    def update(self, *others):
        for other in others:
            for item in _in_order(other):
                self.add(item)

    def difference_update(self, *others):
        for other in others:
            for item in list(other):
                self.discard(item)

    def intersection_update(self, *others):
        for item in list(self._order):
            if not all(item in other for other in others):
                self.discard(item)

    def copy(self):
        return OrderedSet(self._order)

    def difference(self, *others):
        found = self.copy()
        found.difference_update(*others)
        return found

    def union(self, *others):
        found = self.copy()
        found.update(*others)
        return found

    def intersection(self, *others):
        kept = [set(other) for other in others]
        return OrderedSet(item for item in self._order if all(item in one for one in kept))

    def __or__(self, other):
        return self.union(other)

    def __ror__(self, other):
        return OrderedSet(_in_order(other)).union(self)

    def __ior__(self, other):
        self.update(other)
        return self

    def __sub__(self, other):
        return self.difference(other)

    def __rsub__(self, other):
        return OrderedSet(_in_order(other)).difference(self)

    def __isub__(self, other):
        self.difference_update(other)
        return self

    def __and__(self, other):
        return self.intersection(other)

    def __rand__(self, other):
        return self.intersection(other)

    def __iand__(self, other):
        self.intersection_update(other)
        return self

    def __xor__(self, other):
        return (self - other) | (OrderedSet(_in_order(other)) - self)


def _in_order(items):
    """Of a set of Python's, an order that is the same in each run, where its items have one."""
    if isinstance(items, (set, frozenset)) and not isinstance(items, OrderedSet):
        try:
            return sorted(items)
        except TypeError:
            return sorted(items, key=repr)
    return items
