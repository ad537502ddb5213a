"""Up to where producer ids were given out, as far as this node knows: in a file of each log directory.

Runs in: the controller process.

    {log directory}/.headrace-producer-ids    {"next": 6000}

ZooKeeper counts producer ids. One that was restored from a backup counts them again, and a producer id that two producers have makes
a new record of the one a duplicate of the other's: it is acknowledged, and never stored. This file is not part of that backup. The
greatest of the files counts; one that can't be read says nothing.

Nothing is learnt from the batches in the logs: any client may write any producer id, and the greatest one would use them all up.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

from headrace.durable_file import replace_file

PRODUCER_ID_FILE = ".headrace-producer-ids"
PRODUCER_ID_MAX = 2**63 - 1

_log = logging.getLogger(__name__)


class ProducerIdFile:
    """Of one node.

    next   no id from here on was given out, that is known of; 0: nothing is known
    """

    def __init__(self, log_dirs: Sequence[str | Path] = ()) -> None:
        self._log_dirs = list(map(Path, log_dirs))
        self._refused: set[Path] = set()  # reported already
        self.next = max(map(_read, self._log_dirs), default=0)

    def note(self, following: int) -> None:
        """Ids before this one were given out. Durable, in each directory that takes it, before this returns."""
        if following <= self.next:
            return
        self.next = following
        for log_dir in self._log_dirs:
            path = log_dir / PRODUCER_ID_FILE
            try:
                replace_file(path, json.dumps({"next": following}).encode())
                self._refused.discard(log_dir)
            except OSError as failure:
                if log_dir not in self._refused:
                    _log.warning("producer ids not recorded in a log directory path=%s reason=%s", path, failure)
                self._refused.add(log_dir)


def _read(log_dir: Path) -> int:
    try:
        following = json.loads((log_dir / PRODUCER_ID_FILE).read_text())["next"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0
    return following if isinstance(following, int) and 0 <= following <= PRODUCER_ID_MAX else 0
