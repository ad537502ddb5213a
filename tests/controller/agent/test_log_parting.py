"""Where a log has parted from another, by the epochs of both: each answer's consequence, and all histories of some steps."""

import itertools

import pytest

from headrace.controller.agent.log_parting import UNKNOWN, Parting, answered

EPOCHS = [(5, 0), (7, 70)]  # ours, which ends at 100


@pytest.mark.parametrize(
    ("answer", "parting"),
    [
        ((7, 90), Parting(90)),
        ((7, 120), Parting(100)),
        ((6, 60), Parting(-1, 5)),  # it has an epoch between two of ours: where did our one before end there?
        ((5, 50), Parting(50)),
        ((5, 80), Parting(70)),
        ((4, 30), Parting(0)),
        ((-1, -1), Parting(-1, 5)),  # its epochs all lie before
    ],
)
def test_what_follows_of_an_answer(answer, parting):
    assert answered(EPOCHS, 100, 7, *answer) == parting


def test_one_that_has_no_epoch_of_ours_has_nothing_of_our_log():
    assert answered(EPOCHS, 100, 5, -1, -1) == Parting(0)


def test_a_log_without_epochs_says_nothing():
    assert answered([], 100, 3, 3, 50) == UNKNOWN


def asked(epochs, end, epoch):
    """As Kafka answers (`LeaderEpochFileCache.endOffsetFor`)."""
    known = [one for one in epochs if one[0] <= epoch]
    if not epochs or epoch > epochs[-1][0]:
        return -1, -1
    if not known:
        return epoch, epochs[0][1]
    later = epochs[len(known) :]
    return known[-1][0], later[0][1] if later else end


def epochs_of(records):
    return [(epoch, start) for start, epoch in enumerate(records) if not start or records[start - 1] != epoch]


def test_of_two_logs_of_any_epochs_it_is_found_in_which_offset_they_part():
    """A record is its epoch and offset. No epoch was given twice: where it begins, all before is the same in all logs."""
    logs = [one for size in range(1, 5) for one in itertools.combinations_with_replacement((1, 2, 3), size)]
    for ours, theirs in itertools.product(logs, logs):
        epochs, end, others = epochs_of(ours), len(ours), dict(epochs_of(theirs))
        if any(epoch in others and ours[:start] != theirs[: others[epoch]] for epoch, start in epochs):
            continue
        epoch = epochs[-1][0]
        for _ in range(5):
            parting = answered(epochs, end, epoch, *asked(epochs_of(theirs), len(theirs), epoch))
            if parting.offset >= 0:
                break
            assert parting.next_epoch < epoch
            epoch = parting.next_epoch
        same = next(
            (at for at, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other),
            min(len(ours), len(theirs)),
        )
        assert 0 <= parting.offset <= same, (ours, theirs)
        assert parting.offset == same or ours[0] != theirs[0], (ours, theirs)
