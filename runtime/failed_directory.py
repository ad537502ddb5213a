"""Where a failure becomes a log directory that is offline: the one place, for every process that finds one.

Runs in: partition workers, the housekeeper, the controller process. Offline means in every process of the node, and until the
node is started again. So what passes (no descriptor, no memory, no room) is refused here: the directory stays, and the caller keeps
what it owes (names to sync, deletions, a scan), and does that in a later turn.

Source: Kafka `LogDirFailureChannel`.
"""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from typing import Final

from headrace.errors import StorageFailed, costs_directory
from headrace.shm.seat import Seat

_log: Final = logging.getLogger(__name__)


def report_failed(seat: Seat, log_dir: Path, failure: OSError | StorageFailed) -> bool:
    """Notify every process that a log directory failed; False where the failure costs none, and it stays in service."""
    if not costs_directory(failure):
        _log.warning("log directory stays in service, retried later path=%s reason=%s", log_dir, failure)
        return False
    _log.error("log directory offline path=%s reason=%s", log_dir, failure)
    seat.report_offline_dirs(seat.wiring.log_dir_bit(str(log_dir)))
    return True


def report_unreadable(seat: Seat, log_dir: Path, failure: Exception) -> bool:
    """What a pass over the segments of a log met: an I/O error is its log directory's failure. False for anything else (decision 007)."""
    if not isinstance(failure, OSError) or failure.errno != errno.EIO:
        return False
    return report_failed(seat, log_dir, failure)
