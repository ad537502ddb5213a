"""Names of Python that headrace's modules see while a simulation runs: the system calls, the clocks, chance, threads.

    with Installed(kernel): ...      in every module of headrace, `os`, `time`, `socket`, ... are stand-ins, and afterwards Python's again

Nothing of Python itself is replaced (tests/README.md). Files stay real ones: calls pass through, but whoever makes them may be dead by
then (`Kernel.system_call`), a sync only notes what is durable, and directories are listed in the order of their names.
"""

import builtins
import importlib
import os
import pkgutil
import random
import secrets
import socket
import sys
import threading
import time
import uuid
from types import SimpleNamespace

import posix_ipc

import headrace
from headrace.runtime import duty_cycle
from tests.simulation.ensemble import SimulatedKazooClient
from tests.simulation.machine import Bell
from tests.simulation.ordered_set import OrderedSet
from tests.support.altered import altered

SHM = "/dev/shm"
FIRST_BELL = 1_000_000
ORDERED = ("workers", "controller", "runtime", "shm", "log", "node")  # packages whose sets are ordered
SKIPPED = ("spark", "load", "arrow", "client", "aio", "classic", "mirror", "migration", "cli", "systemd", "testing")


class InlineThread:
    """A thread that has run to its end when `start` returns."""

    def __init__(self, target=None, args=(), kwargs=None, **_more):
        self._run = lambda: target(*args, **(kwargs or {}))

    def start(self):
        self._run()

    def join(self, _timeout_s=None):
        pass

    def is_alive(self):
        return False


class Files:
    """The descriptors of simulated processes, and the calls that change files and names."""

    def __init__(self, kernel):
        self._kernel = kernel
        self._zombies = {}  # of dead processes, which objects that are still to go may close
        self._bells = {}
        self._next_bell = FIRST_BELL
        self._null = os.open(os.devnull, os.O_RDONLY)

    # Descriptors

    def open(self, path, flags, mode=0o777, **more):
        kernel = self._kernel
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            kernel.system_call("open")
        fd = os.open(path, flags, mode, **more)
        if kernel.running is not None:
            kernel.running.files[fd] = None
        return fd

    def close(self, fd):
        if fd >= FIRST_BELL:
            return
        if self._kernel.running is not None:
            self._kernel.running.files.pop(fd, None)
        self._zombies.pop(fd, None)
        os.close(fd)

    def bury(self, process):
        """Let go of a dead process's files; their numbers are not used again, for whoever may still close them."""
        for fd in process.files:
            os.dup2(self._null, fd)
            self._zombies[fd] = None
        process.files.clear()

    def close_all(self):
        for fd in self._zombies:
            os.close(fd)
        os.close(self._null)

    # Doorbells

    def eventfd(self, _value, _flags=0):
        self._next_bell += 1
        self._bells[self._next_bell] = Bell()
        return self._next_bell

    def bell(self, fd):
        return self._bells[fd]

    def eventfd_write(self, fd, value):
        self._kernel.system_call("eventfd_write")
        self._bells[fd].count += value

    def eventfd_read(self, fd):
        bell = self._bells[fd]
        if not bell.count:
            raise BlockingIOError
        count, bell.count = bell.count, 0
        return count

    # Bytes

    def sendfile(self, fd, source, position, count):
        sock = self._kernel.network.sockets[fd]
        data = os.pread(source, count, position)
        return sock.send(data) if data else 0

    def pwritev(self, fd, buffers, position, flags=0):
        self._kernel.system_call("pwritev")
        count = os.pwritev(fd, buffers, position, flags)
        self._touch(fd)
        return count

    def pwrite(self, fd, data, position):
        self._kernel.system_call("pwrite")
        count = os.pwrite(fd, data, position)
        self._touch(fd)
        return count

    def write(self, fd, data):
        self._kernel.system_call("write")
        count = os.write(fd, data)
        self._touch(fd)
        return count

    def ftruncate(self, fd, size):
        self._kernel.system_call("ftruncate")
        os.ftruncate(fd, size)
        self._touch(fd)

    def posix_fallocate(self, fd, position, size):
        if os.fstat(fd).st_nlink:
            self._kernel.system_call("fallocate")
            os.posix_fallocate(fd, position, size)
            self._touch(fd)
        else:  # shared memory
            os.ftruncate(fd, position + size)

    def fsync(self, fd):
        process = self._kernel.running
        self._kernel.system_call("fsync")
        process.machine.disk._keep(fd)

    def _touch(self, fd):
        now_ns = self._kernel.wall_ns
        os.utime(fd, ns=(now_ns, now_ns))

    # Names

    def listdir(self, path="."):
        if path == SHM:
            return sorted(name.removeprefix("/") for name in self._machine.shared)
        return sorted(os.listdir(path))

    def scandir(self, path="."):
        with os.scandir(path) as found:
            return _Entries(sorted(found, key=lambda entry: entry.name))

    def replace(self, source, target):
        self._kernel.system_call("rename")
        os.replace(source, target)

    def rename(self, source, target):
        self._kernel.system_call("rename")
        if str(source).startswith(SHM):
            shared = self._machine.shared
            shared[target.removeprefix(SHM)] = shared.pop(source.removeprefix(SHM))
        else:
            os.rename(source, target)

    def unlink(self, path):
        self._kernel.system_call("unlink")
        os.unlink(path)

    def link(self, source, target):
        self._kernel.system_call("link")
        os.link(source, target)

    def mkdir(self, path, mode=0o777):
        self._kernel.system_call("mkdir")
        os.mkdir(path, mode)

    def rmdir(self, path):
        self._kernel.system_call("rmdir")
        os.rmdir(path)

    # Processes

    def waitpid(self, pid, _flags):
        return self._machine.node.waitpid(pid)

    def kill(self, pid, number):
        self._machine.node.signal(pid, number)

    @property
    def _machine(self):
        return self._kernel.running.machine

    # Shared memory

    def shared_memory(self):
        """What stands for `posix_ipc`."""
        files = self

        class SharedMemory:
            def __init__(self, name, flags=0, mode=0o600, size=0, read_only=False):
                shared = files._machine.shared
                if flags & posix_ipc.O_CREX:
                    if name in shared:
                        raise posix_ipc.ExistentialError
                    shared[name] = os.memfd_create("simulated")
                elif name not in shared:
                    raise posix_ipc.ExistentialError
                self.fd = os.dup(shared[name])

            def close_fd(self):
                os.close(self.fd)

        def unlink_shared_memory(name):
            if name not in files._machine.shared:
                raise posix_ipc.ExistentialError
            files._machine.drop_shared(name)

        return altered(posix_ipc, SharedMemory=SharedMemory, unlink_shared_memory=unlink_shared_memory)


class _Entries(list):
    """What `scandir` returns: a list that may be used in a `with`."""

    def __enter__(self):
        return self

    def __exit__(self, *_failure):
        pass

    def close(self):
        pass


class Installed:
    """files   of the run"""

    def __init__(self, kernel):
        self._kernel = kernel
        self.files = kernel.files = Files(kernel)
        self._replaced = []

    def __enter__(self):
        import_all()
        table = self._table()
        for name in sorted(sys.modules):
            if name.startswith("headrace.") and name.split(".")[1] not in SKIPPED:
                self._alter(sys.modules[name], table)
        return self

    def __exit__(self, *_failure):
        for module, name, value in reversed(self._replaced):
            if value is None:
                delattr(module, name)
            else:
                setattr(module, name, value)
        self.files.close_all()

    def _alter(self, module, table):
        for name, (original, stand_in) in table.items():
            if vars(module).get(name) is original:
                self._set(module, name, stand_in)
        if module.__name__.split(".")[1] in ORDERED:
            self._set(module, "set", OrderedSet)
        special = self._special().get(module.__name__, {})
        for name, value in special.items():
            self._set(module, name, value)

    def _set(self, module, name, value):
        self._replaced.append((module, name, vars(module).get(name)))
        setattr(module, name, value)

    def _special(self):
        """What is replaced in one module alone."""
        kernel, files = self._kernel, self.files
        boot_id = SimpleNamespace(read_text=lambda: kernel.running.machine.boot_id)
        return {
            "headrace.clock": {"_time_ns": lambda: kernel.wall_ns, "_monotonic_ns": lambda: kernel.now_ns},
            "headrace.shm.region": {"posix_ipc": files.shared_memory()},
            "headrace.controller.zookeeper.session_file": {"BOOT_ID": boot_id},
            "headrace.controller.zookeeper.session": {
                "KazooClient": lambda **options: SimulatedKazooClient(kernel, **options),
                "is_behind": lambda _host, _port, _timeout_s, zxid: kernel.ensemble.is_behind(zxid),
            },
            "headrace.node.supervisor": {
                "fork_child": lambda _wiring, process_id, entry_point, _listeners, _inbox: (
                    kernel.running.machine.node.fork(process_id, entry_point)
                ),
                "print": lambda *_what, **_options: None,
            },
        }

    def _table(self):
        """name in a module -> what it has to be, what it becomes"""
        kernel, files, chance = self._kernel, self.files, self._kernel.chance
        names = (
            "open", "close", "eventfd", "eventfd_write", "eventfd_read", "sendfile", "pwritev", "pwrite", "write", "ftruncate",
            "posix_fallocate", "fsync", "listdir", "scandir", "replace", "rename", "unlink", "link", "mkdir", "rmdir", "waitpid", "kill",
        )  # fmt: skip

        def sleep(seconds):
            kernel.now_ns += round(seconds * 1e9)

        system = altered(
            os, **{name: getattr(files, name) for name in names}, fdatasync=files.fsync,
            urandom=chance.randbytes, sched_yield=lambda: None,
        )  # fmt: skip
        clocks = altered(
            time,
            monotonic=lambda: kernel.now_ns / 1e9,
            monotonic_ns=lambda: kernel.now_ns,
            time=lambda: kernel.wall_ns / 1e9,
            time_ns=lambda: kernel.wall_ns,
            sleep=sleep,
        )
        return {
            "os": (os, system),
            "time": (time, clocks),
            "socket": (socket, altered(socket, socket=kernel.network.open_socket)),
            "threading": (threading, altered(threading, Thread=InlineThread)),
            "random": (
                random,
                altered(random, random=chance.random, Random=lambda *_seed: random.Random(chance.getrandbits(64))),
            ),
            "secrets": (secrets, altered(secrets, token_bytes=chance.randbytes)),
            "uuid": (uuid, altered(uuid, uuid4=lambda: uuid.UUID(bytes=chance.randbytes(16), version=4))),
            "duty_cycle": (duty_cycle, altered(duty_cycle, run=capture)),
        }


def capture(seat, clock, begin, restarts=()):
    """What stands for `duty_cycle.run`: the simulation turns the cycle itself."""
    return seat, clock, begin, restarts


def import_all():
    """Every module of a node, so that none is imported with Python's own names while a simulation runs."""
    for name in ("node.supervisor", "controller.process", "workers.network.worker", "workers.partition.worker",
                 "workers.housekeeper.worker", "testing.zookeeper.state.requests"):  # fmt: skip
        importlib.import_module(f"headrace.{name}")
    for package in ORDERED:
        root = importlib.import_module(f"headrace.{package}")
        for found in pkgutil.walk_packages(root.__path__, f"headrace.{package}."):
            importlib.import_module(found.name)
    assert builtins.set is not OrderedSet
    assert headrace.__file__
