"""A few kills of the mirror's campaign with each of its options, so that the campaign itself works; `make mirror-proof` has the many.

Its judge finds what it is there to find: a record that is missing, doubled or changed, and a wrong translation.
"""

import pytest

from headrace.client.records import Record
from headrace.mirror.journal_record import Entry, Position
from headrace.mirror.translation import Translation
from tests.chaos.mirror_campaign import Campaign, Plan
from tests.chaos.mirror_judge import complaint_about
from tests.chaos.mirror_load import number_of

pytestmark = pytest.mark.process

SEED = 11
TOPIC = "mirrored"


@pytest.mark.timeout(280)
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="small batches"),
        pytest.param({"target_partitions": 6}, id="by key"),
        pytest.param({"records": 40_000, "brokers": 3, "sources": 2}, id="large batches, three brokers, two sources"),
    ],
)
def test_a_short_campaign_finds_nothing(tmp_path, options):
    plan = Plan(kills=4, seed=SEED, **options)
    campaign = Campaign(tmp_path, plan)
    assert campaign.run() == []
    assert sum(campaign.done.values()) == plan.kills
    assert campaign.records >= plan.records


@pytest.mark.interop
@pytest.mark.timeout(280)
@pytest.mark.parametrize(("from_kind", "to_kind"), [("kafka-0.10.2", "headrace"), ("headrace", "kafka-4.1")])
def test_a_short_campaign_with_apache_finds_nothing(tmp_path, from_kind, to_kind):
    plan = Plan(kills=3, seed=SEED, records=15_000, from_kind=from_kind, to_kind=to_kind)
    assert Campaign(tmp_path, plan).run() == []


def record(offset, number, key=b"k", headers=()):
    return Record(TOPIC, 0, offset, 1_000, key, b"a%d filler" % number, headers, 0)


def translation():
    found = Translation()
    found.add(Entry(0, 0, 0, 0, 0))
    found.place(Position(0, 0, 100, 100, 100))
    return found


def test_a_number_is_read_from_a_value():
    assert number_of(b"a17 filler") == 17


@pytest.mark.parametrize(
    ("old", "new", "before", "words"),
    [
        (record(5, 7), record(5, 7), 6, ""),
        (record(5, 7), record(5, 6), 6, "is there again"),
        (record(5, 7), record(5, 8), 6, "number 7 is lost or comes later"),
        (None, record(5, 7), 6, "the source has no more records"),
        (record(5, 7), record(5, 7, key=b"other"), 6, "differs"),
        (record(5, 7), record(5, 7, headers=(("n", b"1"),)), 6, "differs"),
        (record(5, 7), record(5, 7), 7, "of the source has number 7, after number 7"),
        (record(5, 7), record(6, 7), 6, "translated to 5"),
    ],
)
def test_the_judge_names_what_is_wrong(old, new, before, words):
    complaint = complaint_about(old, new, before, translation())
    assert words in complaint
    assert bool(complaint) == bool(words)


@pytest.mark.parametrize(
    "options",
    [{"kills": 0}, {"kills": 1, "sources": 0}, {"kills": 1, "sources": 2, "target_partitions": 6}],
)
def test_a_plan_that_can_not_be_judged_is_refused(options):
    with pytest.raises(ValueError, match=r"(kills|sources): [0-9]"):
        Plan(seed=SEED, **options)
