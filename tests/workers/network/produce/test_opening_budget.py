"""A request may open so much and no more, however many batches it carries."""

import pytest

from headrace.errors import ErrorCode, KafkaError
from headrace.limits import OPENED_BYTES_MAX, OPENED_RATIO_MAX, OPENED_RECORD_COST
from headrace.protocol.compression import Codec
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import Record, build_batch, compute_crc
from headrace.settings import Settings
from headrace.workers.network.produce.opening_budget import BATCH_COST, HEAVY_COST, OpeningBudget
from headrace.workers.network.produce.record_policy import RecordPolicy

NOW_MS = 1_700_000_000_000


def test_a_large_request_may_open_more_than_a_small_one_and_no_batch_more_than_its_bound():
    assert OpeningBudget().limit == OpeningBudget(1 << 20).limit == OPENED_BYTES_MAX
    budget = OpeningBudget(1000)
    budget.spend(OPENED_BYTES_MAX, 0)
    assert budget.limit == 1000 * OPENED_RATIO_MAX
    budget.spend(1, 100)
    assert budget.limit == 1000 * OPENED_RATIO_MAX - 1 - 100 * OPENED_RECORD_COST
    assert not OpeningBudget().is_heavy
    assert budget.is_heavy
    budget.spend(1 << 40, 0)
    assert budget.limit == 0


@pytest.mark.parametrize("is_old", [False, True])
def test_bombs_within_one_request_are_refused_once_the_budget_is_spent(is_old):
    policy = RecordPolicy(Settings(), {"cleanup.policy": "compact"})
    records = [Record(0, NOW_MS, b"k", bytes(30 << 20))]
    if is_old:
        bomb, call = memoryview(build_message_set(records, 1, Codec.GZIP)), policy.convert
    else:
        bomb, call = memoryview(build_batch(records, codec=Codec.GZIP)), policy.admit
    budget = OpeningBudget()
    assert call(bomb, NOW_MS, budget)
    assert call(bomb, NOW_MS, budget)
    with pytest.raises(KafkaError) as caught:
        call(bomb, NOW_MS, budget)
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert budget.spent >= 2 * (30 << 20) > HEAVY_COST


@pytest.mark.parametrize("is_old", [False, True])
def test_what_brings_nothing_or_can_not_be_opened_counts_by_what_went_in(is_old):
    policy = RecordPolicy(Settings(), {"cleanup.policy": "compact"})
    if is_old:
        batch, call = bytearray(build_message_set([Record(0, NOW_MS, b"k", bytes(10))], 1, Codec.GZIP)), policy.convert
        batch[30] ^= 255
    else:
        batch, call = bytearray(build_batch([(b"k", bytes(10))], codec=Codec.GZIP)), policy.admit
        batch[61] ^= 255
        batch[17:21] = compute_crc(batch).to_bytes(4, "big")
    budget = OpeningBudget()
    calls = 0
    while not budget.is_heavy:
        with pytest.raises(KafkaError):
            call(memoryview(batch), NOW_MS, budget)
        calls += 1
        assert calls < 2_000
    empty = build_batch([(b"k", None)], codec=Codec.LZ4)
    before = budget.spent
    policy.admit(memoryview(bytearray(empty)), NOW_MS, budget)
    assert budget.spent - before > len(empty) + BATCH_COST
