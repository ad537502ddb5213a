"""The shared memory of a small node whose processes are played by a test: seats here, or in forks of it."""

import os
import signal

from headrace.runtime.mailbox import Mailbox
from headrace.settings import Settings
from headrace.shm.fabric import Fabric
from headrace.shm.seat import Seat
from tests.support import children
from tests.support.waiting import wait_until

NETWORK, PARTITION, OTHER_PARTITION, CONTROLLER, HOUSEKEEPER = range(5)
NAMES = ("network", "partition", "other partition", "controller", "housekeeper")
# (asker, asked): every two that are joined by rings
PAIRS = [
    (NETWORK, PARTITION), (PARTITION, NETWORK), (NETWORK, CONTROLLER), (CONTROLLER, NETWORK),
    (PARTITION, CONTROLLER), (CONTROLLER, PARTITION), (PARTITION, OTHER_PARTITION),
    (HOUSEKEEPER, PARTITION), (PARTITION, HOUSEKEEPER),
]  # fmt: skip


class Seats:
    """One network worker, two partition workers, the controller and the housekeeper."""

    def __init__(self, path):
        path.mkdir(exist_ok=True)
        settings = {
            "log.dirs": str(path),
            "headrace.network.workers": "1",
            "headrace.partition.workers": "2",
            "headrace.request.ring.bytes": "65536",
            "message.max.bytes": "16384",
            "headrace.partitions.max": "64",
        }
        self.fabric = Fabric.create(Settings(settings), host="127.0.0.1", port=19092)
        self.wiring = self.fabric.wiring
        self._children = set()

    def seat(self, process_id):
        return Seat(self.wiring, process_id)

    def fork(self, act):
        """Run `act` in a child, which ends with 0 where it returns; its pid."""
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            code = 70
            try:
                assert children.die_with_parent(parent, signal.SIGKILL)
                act()
                code = 0
            finally:
                os._exit(code)
        self._children.add(pid)
        return pid

    def reap(self, pid):
        self._children.discard(pid)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def kill(self, pid, process_id):
        """SIGKILL, and what the supervisor does then."""
        os.kill(pid, signal.SIGKILL)
        assert self.reap(pid) == -signal.SIGKILL
        self.fabric.renew(process_id)
        assert self.fabric.settle(process_id)

    def close(self):
        for pid in list(self._children):
            os.kill(pid, signal.SIGKILL)
            self.reap(pid)
        self.fabric.destroy()


class Asker:
    """A mailbox that is turned by hand, and what it was told."""

    def __init__(self, seat, handlers=None, **bounds):
        self.seat = seat
        self.mailbox = Mailbox(seat, handlers, **bounds)
        self.replies = []

    def ask(self, process_id, kind, body=b"", **more):
        def on_reply(status, reply):
            self.replies.append((status, bytes(reply)))

        is_sent = self.mailbox.ask(process_id, kind, body, on_reply, **more)
        self.mailbox.flush()
        return is_sent

    def turn(self):
        """One cycle: who died, what came, what is to go."""
        for process_id in self.seat.changed():
            self.mailbox.forget(process_id)
        done = self.mailbox.poll(self.seat.readers)
        self.mailbox.flush()
        return done

    def turn_until(self, is_so):
        wait_until(lambda: (self.turn() and False) or is_so())
