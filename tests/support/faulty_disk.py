"""A disk that fails at one call, and one that loses what was not synced.

`FaultyDisk(fail_at=n)` raises at its n-th call; a failing write has put out half of its bytes. `crash` makes a directory
what a machine's crash may leave: each file that was not synced keeps any mix of old and new pages, and a size between;
names that were not synced may be there or not.
"""

import errno
import os

from headrace.log.disk import Disk

PAGE = 512
CALLS = ("pwritev", "fdatasync", "fsync", "truncate", "fallocate", "rename")


class FaultyDisk(Disk):
    def __init__(self, fail_at=-1, error=errno.EIO, only=CALLS):
        self.fail_at = fail_at
        self.error = error
        self.only = only
        self.calls = []
        self._durable = {}  # inode -> bytes as of its last fsync
        self._names = {}  # inode of a directory -> {name: inode} as of its last fsync
        self._held = []  # descriptors, so that no inode is used again

    def _call(self, name):
        if name in self.only:
            self.calls.append(name)
            if len(self.calls) - 1 == self.fail_at:
                raise OSError(self.error, os.strerror(self.error))

    def pwritev(self, fd, buffers, position):
        try:
            self._call("pwritev")
        except OSError:
            half = b"".join(bytes(one) for one in buffers)
            os.pwrite(fd, half[: len(half) // 2], position)
            raise
        return super().pwritev(fd, buffers, position)

    def fdatasync(self, fd):
        self._call("fdatasync")
        self._keep(fd)

    def fsync(self, fd):
        self._call("fsync")
        self._keep(fd)

    def truncate(self, fd, size):
        self._call("truncate")
        super().truncate(fd, size)

    def fallocate(self, fd, position, size):
        self._call("fallocate")
        super().fallocate(fd, position, size)

    def rename(self, source, target):
        self._call("rename")
        super().rename(source, target)

    def _keep(self, fd):
        path = os.readlink(f"/proc/self/fd/{fd}")
        inode = os.fstat(fd).st_ino
        if os.path.isdir(path):
            self._names[inode] = {name: os.stat(os.path.join(path, name)).st_ino for name in os.listdir(path)}
        else:
            if inode not in self._durable:
                self._held.append(os.dup(fd))
            with open(f"/proc/self/fd/{fd}", "rb") as file:
                self._durable[inode] = file.read()

    def crash(self, directory, chance):
        """What is left of a flat directory."""
        now = {path.name: (path.stat().st_ino, path.read_bytes()) for path in directory.iterdir()}
        now_by_inode = dict(now.values())
        then = self._names.get(directory.stat().st_ino, {})
        left = {}
        for name in sorted(now.keys() | then.keys()):
            old, new = then.get(name), now.get(name, (None, b""))[0]
            inode = chance.choice([old, new])
            if inode is None:
                continue
            durable = self._durable.get(inode, b"")
            left[name] = _mix(durable, now_by_inode.get(inode, durable), chance)
        for path in directory.iterdir():
            path.unlink()
        for name, data in left.items():
            (directory / name).write_bytes(data)
        self.settle(directory)

    def settle(self, directory):
        """What lies there now is on disk."""
        for path in [*directory.iterdir(), directory]:
            fd = os.open(path, os.O_RDONLY)
            self._keep(fd)
            os.close(fd)

    def __del__(self):
        self.close()

    def close(self):
        for fd in self._held:
            os.close(fd)
        self._held.clear()


def _mix(old, new, chance):
    if old == new:
        return old
    size = chance.choice([len(old), len(new), chance.randint(min(len(old), len(new)), max(len(old), len(new)))])
    out = bytearray(size)
    for start in range(0, size, PAGE):
        source = chance.choice([old, new])
        page = source[start : min(start + PAGE, size)]
        out[start : start + len(page)] = page
    return bytes(out)
