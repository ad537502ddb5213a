"""An Apache Kafka 3.9 broker and a Headrace node change places in a running cluster, and a Kafka broker with a Kafka broker.

`make swap` has 30 swaps; these are two for each protocol version.
"""

import random

import pytest

from tests.interop.mixed_cluster import KINDS
from tests.interop.swap_campaign import IBPS, play

SEED = random.randrange(10**6)
SWAPS = 2


@pytest.mark.interop
@pytest.mark.timeout(600)
@pytest.mark.parametrize("ibp", IBPS)
def test_members_of_two_kinds_change_places_under_load(tmp_path, ibp):
    assert play(tmp_path, ibp, SWAPS, SEED, KINDS) == []


@pytest.mark.interop
@pytest.mark.timeout(600)
def test_the_judges_find_nothing_where_kafka_takes_kafkas_place(tmp_path):
    assert play(tmp_path, "3.9", 1, SEED, ("kafka",)) == []
