"""Eras of leader epochs: one era is one history of a partition (decision 015).

What may take acknowledged records away begins another era: an election out of the ISR, a loss that is accepted, a restore of
ZooKeeper that was found. A follower truncates below its high watermark after a leader of a later era, and not within one.

Within an era leader epochs count on by one. The first of a later era is above every epoch that was given in an earlier one, also of
those that no live broker has heard of: ERA elections of one partition would have to be forgotten.
"""

from __future__ import annotations

from typing import Final

ERA: Final = 1 << 16  # leader epochs; there are 2**31 / ERA eras


ERAS_OF_ELECTIONS: Final = 1 << 14  # half of all: the others are for what no election can count up to


def era_of(leader_epoch: int) -> int:
    """Which era a leader epoch is of; -1 is of the first."""
    return max(leader_epoch, 0) // ERA


def first_after(leader_epoch: int) -> int:
    """The first leader epoch of the next era."""
    return (era_of(leader_epoch) + 1) * ERA


def is_first(leader_epoch: int) -> bool:
    """Whether an era begins with it: where there is no leader, none was elected since."""
    return leader_epoch > 0 and leader_epoch % ERA == 0


def first_of_history(leader_epoch: int) -> int:
    """The leader epoch after this one where an election, or an accepted loss, may take records away: of the next era.

    Once half of all eras are used up it counts on by one, and followers go by the topic's unclean.leader.election.enable alone.
    """
    return first_after(leader_epoch) if era_of(leader_epoch) < ERAS_OF_ELECTIONS else leader_epoch + 1
