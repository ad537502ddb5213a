"""A simulated machine: what of a node outlives its processes, and what its power keeps.

    processes die                 files, shared memory and listeners stay; descriptors and connections go
    kill_all                      the node is gone, the machine is not: the page cache and the shared memory stay
    lose_power                    what was not synced is lost or torn, by page and by name (`faulty_disk.py`); another boot follows

Files are real ones in a directory of the simulation; who syncs them only notes what they hold (`stand_ins.py`). Shared memory
is mapped from descriptors without a name in any file system.
"""

import os

from tests.support.faulty_disk import FaultyDisk


class Bell:
    """An eventfd."""

    def __init__(self):
        self.count = 0


class Machine:
    """host        its address
    directory   of its log directories
    """

    def __init__(self, kernel, host, directory):
        self.kernel = kernel
        self.host = host
        self.directory = directory
        self.is_on = True
        self.boots = 1
        self.skew_ms = 0
        self.disk = FaultyDisk(only=())
        self.shared = {}  # name -> descriptor of its memory
        self.processes = []  # that are not dead
        self.listener = None
        kernel.network.machines[host] = self
        directory.mkdir(parents=True)
        self.disk.settle_tree(directory)

    @property
    def boot_id(self):
        return f"boot-{self.host}-{self.boots}"

    def kill_all(self, reason):
        """Every process at once."""
        for process in list(self.processes):
            process.die(reason)
        if self.listener is not None:
            self.listener.close()
            self.listener = None

    def lose_power(self):
        self.is_on = False
        for process in list(self.processes):
            for sock in list(process.sockets.values()):
                sock.vanish()
            process.die("power lost")
        if self.listener is not None:
            self.listener.vanish()
            self.listener = None
        for name in list(self.shared):
            self.drop_shared(name)
        self.disk.crash_tree([self.directory], self.kernel.chance)

    def power_on(self):
        self.boots += 1
        self.is_on = True

    def drop_shared(self, name):
        os.close(self.shared.pop(name))

    def close(self):
        for name in list(self.shared):
            self.drop_shared(name)
        self.disk.close()
