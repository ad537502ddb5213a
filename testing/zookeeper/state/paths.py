"""Which paths a node may have.

    /a/b    absolute, no empty part, no `.` or `..`, no slash at its end
            no NUL, no control character, no surrogate, none of the private use area or the specials at its end

Source: ZooKeeper `PathUtils.validatePath`, `PrepRequestProcessor.validatePathForCreate`, `ZKDatabase.isSpecialPath`.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.testing.zookeeper.state.codes import Code, ZooKeeperRefusal

_REFUSED: Final = re.compile("[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]")
# Those that every server has, and keeps
SPECIAL: Final = frozenset({"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"})


def check_path(path: str) -> None:
    """raises   ZooKeeperRefusal, for a path that no node may have"""
    if path == "/":
        return
    parts = path.split("/")
    if parts[0] or len(parts) < 2 or _REFUSED.search(path) or any(part in ("", ".", "..") for part in parts[1:]):
        raise ZooKeeperRefusal(Code.BAD_ARGUMENTS)
