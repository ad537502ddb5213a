"""Where a follower's log parts from its leader's, by leader epochs.

    the leader says      for the epoch that was asked about: the largest epoch of its own up to it, and where that ended
    the follower cuts    at the smaller of the two ends of that epoch. Where it does not know that epoch, to the end of its own
                         next smaller one, and asks again with that: it may have been written by a third leader (KIP-279)

    leader    epoch 1: 0..9     epoch 3: 10..             asked for 2, it says (1, 10)
    follower  epoch 1: 0..11    epoch 2: 12..19           cuts to 10

A leader that knows no such epoch leaves only the high watermark; so does a log without epochs (message formats before v2).

Pure. Source: Kafka `AbstractFetcherThread.getOffsetTruncationState`; KIP-101, KIP-279.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.ids import NO_EPOCH
from headrace.log.state.leader_epochs import end_offset_for

NO_OFFSET: Final = -1


class Cut(NamedTuple):
    """Where to cut, and whether the logs are the same up to there; if not, the leader is asked again."""

    offset: int
    is_final: bool


def find_cut(
    leader_epoch: int,
    leader_end_offset: int,
    entries: list[tuple[int, int]],
    log_end_offset: int,
    high_watermark: int,
) -> Cut:
    """Where to cut a follower's log.

    leader_epoch, leader_end_offset   the leader's answer, -1: not known
    entries                           (epoch, start offset) of the follower, oldest first
    """
    if leader_end_offset == NO_OFFSET:
        return Cut(min(high_watermark, log_end_offset), True)
    if leader_epoch == NO_EPOCH:  # a leader of OffsetForLeaderEpoch v0
        return Cut(min(leader_end_offset, log_end_offset), True)
    own_epoch, own_end_offset = end_offset_for(entries, leader_epoch, log_end_offset)
    if own_end_offset == NO_OFFSET:  # no epochs here: the leader's word is all there is
        return Cut(min(leader_end_offset, log_end_offset), True)
    if own_epoch != leader_epoch:
        return Cut(min(own_end_offset, log_end_offset), False)
    return Cut(min(own_end_offset, leader_end_offset, log_end_offset), True)
