"""Where a log has parted from another one, by the leader epochs of both: questions to the other's broker, one after the other. Pure.

Runs in: the controller process of the node that holds the log (decision 015). The last epoch of a log says nothing of what lies below: the
other may have written records in an epoch between two of ours. So its broker is asked where an epoch ended there (OffsetForLeaderEpoch).

    asked     our latest epoch that has a record, before an offset at which the logs are known to have parted
    answered  the other's largest epoch up to it, and where that ended
              ours has that epoch: the logs parted at the smaller of its two ends
              ours does not: our next smaller one is asked for
              it has none as late as that one: the same (Kafka answers of an epoch after all that it knows that there is none)

Each epoch that is asked for is smaller than the one before.

Source: KIP-101, KIP-279, as `workers/partition/replication/divergence.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headrace.ids import NO_EPOCH

Epochs = Sequence[tuple[int, int]]  # (epoch, start offset), oldest first


class Parting(NamedTuple):
    """What is known of it.

    offset       up to which the logs are the same; -1: not known yet, or not to be known
    next_epoch   that is asked for next, NO_EPOCH: none
    """

    offset: int
    next_epoch: int = NO_EPOCH


UNKNOWN = Parting(-1)


def last_before(epochs: Epochs, offset: int) -> int:
    """The latest of our epochs that begins before an offset; NO_EPOCH: none does."""
    return max((epoch for epoch, start in epochs if start < offset), default=NO_EPOCH)


def answered(epochs: Epochs, end_offset: int, asked: int, epoch: int, epoch_end: int) -> Parting:
    """What follows of an answer.

    epochs, end_offset   of our log
    asked                one of its epochs
    epoch, epoch_end     of the other one's: its largest epoch up to that one, and where it ended; -1: there is none, or all are before
    """
    if not epochs:
        return UNKNOWN
    if epoch_end < 0:
        earlier = [entry[0] for entry in epochs if entry[0] < asked]
        return Parting(-1, earlier[-1]) if earlier else Parting(epochs[0][1])
    floor = sum(1 for entry in epochs if entry[0] <= epoch) - 1
    if floor < 0:
        return Parting(min(epochs[0][1], epoch_end))  # no epoch in common: nothing from our first one on
    if epochs[floor][0] != epoch:
        return Parting(-1, epochs[floor][0])
    own_end = epochs[floor + 1][1] if floor + 1 < len(epochs) else end_offset
    return Parting(min(own_end, epoch_end))
