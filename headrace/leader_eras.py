"""Eras of leader epochs: each restore of ZooKeeper that was found begins another one (decision 071).

Within an era leader epochs count on by one. The first of a later era is above every epoch that was given in an earlier one, also of
those that nobody alive has heard of: ERA elections of one partition would have to be forgotten.
"""

from __future__ import annotations

from typing import Final

ERA: Final = 1 << 16  # leader epochs; 2**31 / ERA restores


def era_of(leader_epoch: int) -> int:
    """Which era a leader epoch is of; -1 is of the first."""
    return max(leader_epoch, 0) // ERA


def first_after(leader_epoch: int) -> int:
    """The first leader epoch of the next era."""
    return (era_of(leader_epoch) + 1) * ERA
