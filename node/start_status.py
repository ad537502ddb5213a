"""What a start is busy with, in one line for the service manager: processes that serve, logs that are open, bytes recovered.

Runs in: the supervisor, which reads the partition workers' counters.
"""

from __future__ import annotations

from headrace.node.zookeeper_status import zookeeper_troubles
from headrace.shm.counters import LOGS_OPENED, LOGS_WANTED, RECOVERED_BYTES
from headrace.shm.process_table import ProcessState, ProcessTable
from headrace.shm.wiring import Wiring

_MEBIBYTE = 1 << 20


def start_status(processes: ProcessTable, wiring: Wiring) -> str:
    """`starting: 4 of 6 processes, 12 of 40 logs open, 5123 MiB recovered`; what is not known yet is left out."""
    ready = sum(processes.state(process_id) is ProcessState.READY for process_id in range(wiring.process_count))
    counters = [processes.counters(process_id) for process_id in wiring.partition_ids]
    wanted, opened, recovered_bytes = (
        sum(one.get(index) for one in counters) for index in (LOGS_WANTED, LOGS_OPENED, RECOVERED_BYTES)
    )
    parts = [f"starting: {ready} of {wiring.process_count} processes"]
    parts += zookeeper_troubles(processes, wiring)
    if wanted:
        parts.append(f"{opened} of {wanted} logs open")
    if recovered_bytes:
        parts.append(f"{recovered_bytes // _MEBIBYTE} MiB recovered")
    return ", ".join(parts)
