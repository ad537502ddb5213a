from headrace.controller.zookeeper.outage import clock_text
from headrace.node.zookeeper_status import is_zookeeper_away, zookeeper_troubles
from headrace.settings import Settings
from headrace.shm.layout import process_region_bytes
from headrace.shm.process_table import ProcessTable
from headrace.shm.wiring import Wiring


class Memory:
    def __init__(self, size):
        self.words = memoryview(bytearray(size)).cast("Q")


def test_an_outage_of_zookeeper_is_told_with_its_beginning():
    wiring = Wiring("p", "b", Settings({"zookeeper.connect": "zk1:2181,zk2:2181/c"}), 1, 2)
    processes = ProcessTable(Memory(process_region_bytes(wiring.process_count)))
    assert not is_zookeeper_away(processes, wiring)
    assert zookeeper_troubles(processes, wiring) == []
    processes.set_away_since(wiring.controller_id, 1_700_000_000_000)
    assert is_zookeeper_away(processes, wiring)
    since = clock_text(1_700_000_000_000)
    assert zookeeper_troubles(processes, wiring) == [f"ZooKeeper at zk1:2181,zk2:2181/c unreachable since {since}"]
    processes.set_away_since(wiring.controller_id, 0)
    assert zookeeper_troubles(processes, wiring) == []
