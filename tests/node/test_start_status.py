"""The status line of a start, from what the processes counted."""

from headrace.node.start_status import start_status
from headrace.settings import Settings
from headrace.shm.counters import LOGS_OPENED, LOGS_WANTED, RECOVERED_BYTES
from headrace.shm.layout import process_region_bytes
from headrace.shm.process_table import ProcessState, ProcessTable
from headrace.shm.wiring import Wiring


class Memory:
    def __init__(self, size):
        self.words = memoryview(bytearray(size)).cast("Q")


def test_the_status_tells_processes_logs_and_bytes():
    wiring = Wiring("p", "b", Settings({}), 1, 2)
    processes = ProcessTable(Memory(process_region_bytes(wiring.process_count)))
    assert start_status(processes, wiring) == "starting: 0 of 5 processes"
    processes.set_state(0, ProcessState.READY)
    for process_id, opened in ((1, 3), (2, 4)):
        counters = processes.counters(process_id)
        counters.add(LOGS_WANTED, 10)
        counters.add(LOGS_OPENED, opened)
        counters.add(RECOVERED_BYTES, 700 << 20)
    assert start_status(processes, wiring) == "starting: 1 of 5 processes, 7 of 20 logs open, 1400 MiB recovered"
