"""What is reported of a log that has more than the states in ZooKeeper know of (decision 015).

Runs in: a partition worker; made by its replica (`Replica.tell_ahead`), sent by `ahead_logs.py`.
"""

from __future__ import annotations

from typing import NamedTuple


class AheadLog(NamedTuple):
    """What a log has that a state in ZooKeeper does not know of.

    end_offset, epoch, latest_epoch   of the log: its end, the epoch of its last record, the latest that it knows
    parted_at                         up to where the log of the state's leader may be the same, at most
    leader, leader_epoch              of the state; NO_LEADER: none
    """

    end_offset: int
    epoch: int
    parted_at: int
    leader: int
    leader_epoch: int
    latest_epoch: int
