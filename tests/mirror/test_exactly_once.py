"""Each record once and in order, whatever is killed, however many lives of a mirror write at once, and while the source is compacted."""

import random

import pytest

from headrace.mirror.identity import data_producer_id
from tests.mirror.model import NAME, Fenced, Journal, Life, Source, Target

pytestmark = pytest.mark.slow

STEPS = 150


def run(seed, *, compacts=True, foreign=True, lives_max=3):
    chance = random.Random(seed)
    source, target, journal = Source(), Target(), Journal()
    lives = []
    for _ in range(STEPS):
        what = chance.random()
        if what < 0.15:
            source.produce(chance.randint(1, 4))
        elif what < 0.2:
            source.mark()
        elif what < 0.25 and compacts and source.batches:
            source.compact(chance.random)
        elif what < 0.28 and foreign:
            target.append_foreign(chance.randint(1, 3))
        elif what < 0.3 and lives and lives[-1].life == journal.life:
            lives[-1].expire_others(lives)
        elif what < 0.38 and len(lives) < lives_max:
            lives.append(Life(source, target, journal))
        elif lives:
            life = chance.choice(lives)
            try:
                step(life, chance)
            except Fenced:
                lives.remove(life)
            if chance.random() < 0.04 and life in lives:
                lives.remove(life)
    last = Life(source, target, journal)
    last.expire_others(lives)
    last.finish()
    return source, target, journal


def step(life, chance):
    what = chance.random()
    if what < 0.35:
        life.fetch(chance.randint(1, 4))
    elif what < 0.9:
        life.send()
    else:
        life.checkpoint()


def judge(source, target, journal):
    found = target.values(data_producer_id(NAME))
    values = [value for _offset, value in found]
    assert len(set(values)) == len(values), "a record is there twice"
    offsets = [int(value[1:]) for value in values]
    assert offsets == sorted(offsets), "records changed places"
    missing = set(source.survivors().values()) - set(values)
    assert not missing, f"lost: {sorted(missing)}"
    translation = journal.translation()
    places = dict(zip(offsets, (offset for offset, _value in found), strict=True))
    for offset in source.survivors():
        assert translation.translate(offset) == places[offset], f"offset {offset} of {places}"
    assert translation.translate(source.end) == translation.position.target


@pytest.mark.parametrize("block", range(20))
def test_each_record_is_copied_once_while_lives_overlap_and_the_source_is_compacted(block):
    for seed in range(100 * block, 100 * block + 100):
        try:
            judge(*run(seed))
        except AssertionError as failure:
            raise AssertionError(f"seed {seed}: {failure}") from failure


def test_entries_are_written_only_where_the_difference_changes():
    source, target, journal = Source(), Target(), Journal()
    for _ in range(50):
        source.produce(3)
    source.mark()
    source.produce(3)
    Life(source, target, journal).finish()
    assert len(journal.translation().entries()) == 2
