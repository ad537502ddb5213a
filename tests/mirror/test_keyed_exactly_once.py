"""By key: each record once and in order, whatever is killed or late, however many lives write at once, and while the
source is compacted.
"""

import random

import pytest

from headrace.mirror.identity import keyed_producer_id
from headrace.mirror.partitioner import target_partition
from tests.mirror.keyed_model import SPAN, KeyedLife, World
from tests.mirror.model import NAME, Fenced

STEPS = 200
SEEDS = 100  # of each block; `python -m tests.mirror.test_keyed_exactly_once 10000` runs more


def run(seed, *, compacts=True, grows=True, lives_max=3):
    chance = random.Random(seed)
    world = World(chance.randint(1, 4))
    lives = world.lives
    promises = []  # (number of the first record that a group has not read, offset of each target partition that it would get)
    for _ in range(STEPS):
        what = chance.random()
        if what < 0.12:
            world.source.produce(chance.randint(1, 5))
        elif what < 0.15:
            world.source.mark()
        elif what < 0.2 and compacts and world.source.batches:
            world.source.compact(chance.random)
        elif what < 0.205 and compacts and world.source.batches:
            world.source.lose_head(1)
        elif what < 0.22:
            world.targets[chance.randrange(len(world.targets))].append_foreign(chance.randint(1, 3))
        elif what < 0.225 and grows:
            world.targets.append(type(world.targets[0])())
        elif what < 0.23:
            world.shorten(chance)
        elif what < 0.233:
            world.create_again()
        elif what < 0.26:
            world.deliver(chance)
        elif what < 0.28 and lives and lives[-1].life == world.journal.life:
            world.pass_lease(lives[-1])
        elif what < 0.33 and len(lives) < lives_max:
            lives.append(KeyedLife(world))
        elif what < 0.36 and world.journal.position() is not None:
            promises.append(promise(world, chance))
        elif lives:
            life = chance.choice(lives)
            try:
                step(life, chance)
            except Fenced:
                lives.remove(life)
            if chance.random() < 0.03 and life in lives:
                lives.remove(life)
    last = KeyedLife(world)
    lives.append(last)
    if chance.random() < 0.5:
        world.pass_lease(last)
    last.finish(chance)
    return world, promises, last


def step(life, chance):
    what = chance.random()
    if what < 0.3:
        life.fetch(chance.randint(1, 4), chance.choice((50, 200, 10_000)))
    elif what < 0.85:
        life.send(chance.randrange(len(life.world.targets)), chance)
    elif what < 0.88:
        life.grow()
    elif what < 0.91:
        life.relocate()  # the journal could not be written, say
    else:
        life.checkpoint(chance.random() < 0.7)


def promise(world, chance):
    offset = chance.choice((None, chance.randint(0, world.source.end)))
    position = world.journal.position()
    return int(position.topic_id) + (offset or 0), world.journal.places().translate(position, offset)


def judge(world, promises):
    found = world.values()
    seen = [source for rows in found for _offset, _producer, source in rows]
    assert len(set(seen)) == len(seen), "a record is there twice"
    for number, rows in enumerate(found):
        assert {producer for _offset, producer, _source in rows} <= {keyed_producer_id(NAME, number)}
        offsets = [source for _offset, _producer, source in rows]
        assert offsets == sorted(offsets), f"records changed places in target partition {number}"
        for source in offsets:
            key = world.source.key_of(source % SPAN)
            fitting = {target_partition(key, 0, source % SPAN, count) for count in range(1, len(world.targets) + 1)}
            assert number in fitting, f"offset {source} is in target partition {number}"
    missing = {int(value[1:]) for value in world.source.survivors().values()} - set(seen)
    assert not missing, f"lost: {sorted(missing)}"
    for offset, places in promises:
        for number, place in enumerate(places):
            skipped = [(at, source) for at, _producer, source in found[number] if source >= offset and at < place]
            assert not skipped, f"a group at {offset} would skip {skipped} of target partition {number}"
    position = world.journal.position()
    assert position.source == world.source.end
    assert not [chunk for chunk in world.journal.chunks() if chunk.source < position.source], "chunks are left"


def check(seeds):
    waits = corrections = 0
    for seed in seeds:
        try:
            world, promises, last = run(seed)
            judge(world, promises)
        except Exception as failure:
            raise AssertionError(f"seed {seed}: {type(failure).__name__} {failure}") from failure
        waits += last.waits
        corrections += len(world.journal.rows)
    return waits, corrections


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_each_record_is_copied_once_by_key_while_lives_overlap_and_the_source_is_compacted(block):
    check(range(SEEDS * block, SEEDS * (block + 1)))


if __name__ == "__main__":
    import sys

    print(check(range(int(sys.argv[1]))))
