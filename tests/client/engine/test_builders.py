"""Builders of batches that are done: taken again, never while their bytes are still needed, up to a bound."""

from headrace.client.engine import builders as module
from headrace.client.engine.builders import Builders

NOW_MS = 1_700_000_000_000


def filled(builders, size=1_000):
    builder = builders.take()
    builder.append(NOW_MS, None, bytes(size))
    return builder


def test_one_that_is_kept_is_taken_again_and_is_empty():
    builders = Builders()
    builder = filled(builders)
    builders.keep(builder)
    assert builders.kept_bytes == builder.capacity_bytes
    assert builders.take() is builder
    assert (builder.count, builders.kept_bytes) == (0, 0)
    assert builders.take() is not builder


def test_one_whose_bytes_are_still_needed_is_dropped():
    builders = Builders()
    builder = filled(builders)
    view = builder.seal_in_place(0, -1, -1, -1)
    sealed = bytes(view)
    builders.keep(builder)
    assert builders.take() is not builder
    del builder
    assert bytes(view) == sealed


def test_no_more_than_a_bound_is_kept(monkeypatch):
    builders = Builders()
    many = [builders.take() for _ in range(10)]
    for builder in many:
        builder.append(NOW_MS, None, b"value")
        builder.clear()
    monkeypatch.setattr(module, "CLIENT_BUILDERS_BYTES_MAX", 3 * many[0].capacity_bytes)
    for builder in many:
        builders.keep(builder)
    assert builders.kept_bytes == sum(builder.capacity_bytes for builder in many[:3])
    assert [builders.take() for _ in range(3)] == many[2::-1]
