"""What /proc says of a node's processes: the children of its supervisor, by name.

Runs in: the keeper and the test process. Source: proc_pid_task(5), proc_pid_stat(5).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

ZOMBIE: Final = "Z"


def children_of(pid: int) -> list[int]:
    """The processes of a node, without its supervisor; none where it has ended."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [one for one in map(int, text.split()) if is_alive(one)]


def title_of(pid: int) -> str:
    """`hr-network-0`; empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != ZOMBIE
