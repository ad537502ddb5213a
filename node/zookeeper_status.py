"""What the service manager is told of ZooKeeper: that it is away, and since when. Waiting for it is not a hang.

Runs in: the supervisor, which reads the controller process's word in the process table.
"""

from __future__ import annotations

from headrace.controller.zookeeper.outage import clock_text
from headrace.shm.process_table import ProcessTable
from headrace.shm.wiring import Wiring


def is_zookeeper_away(processes: ProcessTable, wiring: Wiring) -> bool:
    """Whether a start waits for ZooKeeper: it gets on with nothing, and is to be given the time."""
    return processes.away_since_ms(wiring.controller_id) > 0


def zookeeper_troubles(processes: ProcessTable, wiring: Wiring) -> list[str]:
    """`ZooKeeper at zk1:2181 away since 12:00:00`, or nothing."""
    since_ms = processes.away_since_ms(wiring.controller_id)
    if not since_ms:
        return []
    return [f"ZooKeeper at {wiring.settings['zookeeper.connect']} unreachable since {clock_text(since_ms)}"]
