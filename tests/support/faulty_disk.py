"""A disk that fails at one call, and one that loses what was not synced.

`FaultyDisk(fail_at=n)` raises at its n-th call; a failing write has put out half of its bytes. `crash` makes a directory
what a machine's crash may leave: each file that was not synced keeps any mix of old and new pages, and a size between;
names that were made, renamed or unlinked since their directory was synced are there or not, each on its own. `crash_tree`
does so to log directories: a partition's directory that was renamed has one of its two names. `LosingDisk` is one whose
machine loses power at its n-th call, before or after it is done: nothing is done any more.
"""

import errno
import os
import shutil

from headrace.log.disk import Disk

PAGE = 512
CALLS = ("pwritev", "fdatasync", "fsync", "truncate", "fallocate", "rename")
NAMING = ("open", "unlink", "link", "make_directory")


class FaultyDisk(Disk):
    def __init__(self, fail_at=-1, error=errno.EIO, only=CALLS):
        self.fail_at = fail_at
        self.error = error
        self.only = only
        self.calls = []
        self._durable = {}  # inode -> bytes as of its last fsync
        self._directories = set()  # inodes
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

    def open(self, path, flags):
        self._call("open")
        return super().open(path, flags)

    def unlink(self, path):
        self._call("unlink")
        super().unlink(path)

    def link(self, source, target):
        self._call("link")
        super().link(source, target)

    def make_directory(self, path):
        self._call("make_directory")
        super().make_directory(path)

    def _keep(self, fd):
        path = os.readlink(f"/proc/self/fd/{fd}")
        inode = os.fstat(fd).st_ino
        if os.path.isdir(path):
            self._directories.add(inode)
            self._names[inode] = {name: os.stat(os.path.join(path, name)).st_ino for name in os.listdir(path)}
        else:
            if inode not in self._durable:
                self._held.append(os.dup(fd))
            with open(f"/proc/self/fd/{fd}", "rb") as file:
                self._durable[inode] = file.read()

    def crash(self, directory, chance):
        """What is left of a flat directory."""
        now = {path.name: (path.stat().st_ino, path.read_bytes()) for path in sorted(directory.iterdir())}
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

    def crash_tree(self, roots, chance):
        """What is left of log directories, with the partitions in them."""
        trees = [self._left_of(root, chance) for root in roots]
        for root, tree in zip(roots, trees, strict=True):
            for path in root.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            _write_tree(root, tree)
            self.settle_tree(root)

    def _left_of(self, directory, chance):
        """By name: the bytes of a file, or the same of a directory."""
        inode = directory.stat().st_ino
        now = {path.name: path for path in sorted(directory.iterdir())}
        then = self._names.get(inode, {})
        left = {}
        inodes = {path.stat().st_ino: path for path in now.values()}
        for name in sorted(now.keys() | then.keys()):
            old = then.get(name)
            new = now[name].stat().st_ino if name in now else None
            chosen = chance.choice([old, new])
            path = inodes.get(chosen)
            if chosen is None or chosen in self._directories or (path is not None and path.is_dir()):
                continue
            durable = self._durable.get(chosen, b"")
            left[name] = _mix(durable, durable if path is None else path.read_bytes(), chance)
        before = {one: name for name, one in then.items()}
        for one, path in inodes.items():
            if path.is_dir():
                name = chance.choice([before.get(one), path.name])
                if name is not None and (name == path.name or name not in now):
                    left[name] = self._left_of(path, chance)
        return left

    def settle_tree(self, root):
        for path in [root, *(one for one in root.rglob("*") if one.is_dir())]:
            self.settle(path)

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


class PowerLoss(BaseException):
    """Nothing catches it, as nothing does at a power loss."""


class LosingDisk(FaultyDisk):
    """Its machine loses power at the n-th call.

    is_done   whether that call was done
    """

    def __init__(self, lose_at=-1, *, is_done=False):
        super().__init__()
        self.lose_at = lose_at
        self.is_done = is_done
        self.count = 0
        self.is_off = False

    def _turn(self, call):
        if self.is_off:
            raise PowerLoss
        self.count += 1
        self.is_off = self.count - 1 == self.lose_at
        if self.is_off and not self.is_done:
            raise PowerLoss
        found = call()
        if self.is_off:
            raise PowerLoss
        return found

    def pwritev(self, fd, buffers, position):
        return self._turn(lambda: super(LosingDisk, self).pwritev(fd, buffers, position))

    def fdatasync(self, fd):
        self._turn(lambda: super(LosingDisk, self).fdatasync(fd))

    def fsync(self, fd):
        self._turn(lambda: super(LosingDisk, self).fsync(fd))

    def truncate(self, fd, size):
        self._turn(lambda: super(LosingDisk, self).truncate(fd, size))

    def fallocate(self, fd, position, size):
        self._turn(lambda: super(LosingDisk, self).fallocate(fd, position, size))

    def rename(self, source, target):
        self._turn(lambda: super(LosingDisk, self).rename(source, target))

    def unlink(self, path):
        self._turn(lambda: super(LosingDisk, self).unlink(path))

    def link(self, source, target):
        self._turn(lambda: super(LosingDisk, self).link(source, target))

    def make_directory(self, path):
        self._turn(lambda: super(LosingDisk, self).make_directory(path))

    def free_bytes(self, directory):
        return 1 << 40


def _write_tree(directory, tree):
    for name, data in tree.items():
        if isinstance(data, dict):
            (directory / name).mkdir()
            _write_tree(directory / name, data)
        else:
            (directory / name).write_bytes(data)


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
