"""Exit codes of the node, its processes and its commands.

78 is for an invalid setting or meta.properties alone: a restart would find the same text, so the service manager leaves it
stopped. Failures that pass or can be fixed outside (a port in use, a full disk, an unavailable ZooKeeper) are waited for
or end with 1, and the node is restarted.

Source: sysexits(3) for 70 and 78.
"""

from __future__ import annotations

from typing import Final

CLEAN: Final = 0
FAILED: Final = 1
CRASHED: Final = 70  # EX_SOFTWARE: a child left by an exception
CONFIG: Final = 78  # EX_CONFIG
