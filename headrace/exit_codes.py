"""Exit codes of the node, its processes and its commands.

78 is for the text of a setting (or of meta.properties) alone: who starts it again finds the same text, so the service
manager leaves it stopped. Whatever the world can mend (a port that is taken, a disk that is full, a ZooKeeper that is
away) is waited for or ends with 1, and is started again.

Source: sysexits(3) for 70 and 78.
"""

from __future__ import annotations

CLEAN = 0
FAILED = 1
CRASHED = 70  # EX_SOFTWARE: a child left by an exception
CONFIG = 78  # EX_CONFIG
