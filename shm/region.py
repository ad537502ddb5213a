"""Named POSIX shared memory, reserved up front.

Runs in: the supervisor creates and unlinks; every other process and tool attaches. `posix_fallocate` reserves
every page at creation, so that a full /dev/shm is an error here and not a SIGBUS later. Names:
`/{prefix}-{boot id}-{what}`.

We use posix_ipc and not multiprocessing.shared_memory, whose resource tracker unlinks other processes'
segments (cpython issue 82300).
"""

from __future__ import annotations

import hashlib
import mmap
import os
from typing import Final

import posix_ipc

from headrace.errors import HeadraceError, StorageFailed
from headrace.shm.layout import (
    HEADER_BOOT,
    HEADER_BYTES,
    HEADER_GENERATION,
    HEADER_MAGIC,
    HEADER_SIZE,
    HEADER_VERSION,
    LAYOUT_VERSION,
    MAGIC,
)

SHM_DIRECTORY: Final = "/dev/shm"
MODE: Final = 0o640


class RegionError(HeadraceError):
    """A region that is not there, is not the one that was meant, or can't be mapped for now."""


class Region:
    """One mapped region. `memory` is bytes, `words` the same as 8-byte native words."""

    __slots__ = ("_map", "memory", "name", "size_bytes", "words")

    def __init__(self, name: str, mapped: mmap.mmap) -> None:
        self.name = name
        self.size_bytes = len(mapped)
        self._map = mapped
        self.memory = memoryview(mapped)
        self.words = self.memory.cast("Q")

    @classmethod
    def create(cls, name: str, size_bytes: int, *, boot_id: str = "", generation: int = 0) -> Region:
        """Make a region of zeros, rounded up to whole pages.

        boot_id   hexadecimal digits, at most 16
        raises    StorageFailed, where /dev/shm can't hold it; RegionError, where the name is taken
        """
        size_bytes = -(-size_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        try:
            shared = posix_ipc.SharedMemory(name, posix_ipc.O_CREX, mode=MODE)
        except posix_ipc.ExistentialError:
            raise RegionError(f"region {name} already exists") from None
        except (OSError, posix_ipc.Error) as failure:
            raise StorageFailed(f"{SHM_DIRECTORY} refused {name}: {failure}") from None
        try:
            os.posix_fallocate(shared.fd, 0, size_bytes)
            os.fchmod(shared.fd, MODE)  # the umask may have taken the group's right away
            mapped = mmap.mmap(shared.fd, size_bytes)
        except OSError as failure:
            posix_ipc.unlink_shared_memory(name)
            raise StorageFailed(
                f"{SHM_DIRECTORY} can't hold {size_bytes} bytes for {name}: {failure.strerror}; "
                "free space there, or lower headrace.shm.bytes.max or the worker counts"
            ) from None
        finally:
            shared.close_fd()
        region = cls(name, mapped)
        region.words[HEADER_VERSION] = LAYOUT_VERSION
        region.words[HEADER_SIZE] = size_bytes
        region.words[HEADER_BOOT] = _boot_word(boot_id)
        region.words[HEADER_GENERATION] = generation
        region.words[HEADER_MAGIC] = MAGIC
        return region

    @classmethod
    def private(cls, size_bytes: int) -> Region:
        """Zeros of this process alone, without a name; pages come as they are touched."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        return cls("private", mmap.mmap(-1, size_bytes, flags=flags))

    @classmethod
    def attach(
        cls, name: str, writable: bool = True, *, boot_id: str | None = None, generation: int | None = None
    ) -> Region:
        """Map a region that is there.

        writable              False maps it PROT_READ
        boot_id, generation   expected values; None: any
        raises                RegionError, where it is missing, forbidden, cut short, of another layout, boot or
                              generation, or where there is no descriptor or memory for it
        """
        try:
            shared = posix_ipc.SharedMemory(name, read_only=not writable)
        except posix_ipc.ExistentialError:
            raise RegionError(f"region {name} does not exist") from None
        except posix_ipc.PermissionsError:
            raise RegionError(
                f"region {name} can't be opened: its mode is {MODE:o}, only the owner and its group may read"
            ) from None
        except (OSError, posix_ipc.Error) as failure:
            raise RegionError(f"region {name} can't be opened: {failure}") from None
        try:
            size_bytes = os.fstat(shared.fd).st_size
            if size_bytes < HEADER_BYTES:
                raise RegionError(f"region {name} has {size_bytes} bytes, less than its header")
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            region = cls(name, mmap.mmap(shared.fd, size_bytes, access=access))
        except OSError as failure:
            raise RegionError(f"region {name} can't be mapped: {failure}") from None
        finally:
            shared.close_fd()
        contradiction = region._contradiction(size_bytes, boot_id, generation)
        if contradiction:
            region.close()
            raise RegionError(f"region {name}: {contradiction}")
        return region

    def _contradiction(self, size_bytes: int, boot_id: str | None, generation: int | None) -> str:
        """What the header says that it should not; '' where it is right."""
        words = self.words
        for what, index, expected in (
            ("magic", HEADER_MAGIC, MAGIC),
            ("layout version", HEADER_VERSION, LAYOUT_VERSION),
            ("size", HEADER_SIZE, size_bytes),
            ("boot id", HEADER_BOOT, None if boot_id is None else _boot_word(boot_id)),
            ("generation", HEADER_GENERATION, generation),
        ):
            if expected is not None and words[index] != expected:
                return f"{what} is {words[index]:#x}, expected {expected:#x}"
        return ""

    def close(self) -> bool:
        """Unmap; False while views that are still out keep the mapping."""
        self.words.release()
        self.memory.release()
        try:
            self._map.close()
        except BufferError:
            return False
        return True

    def unlink(self) -> None:
        """Remove the name; mappings stay. A name already removed is not an error."""
        unlink(self.name)


def _boot_word(boot_id: str) -> int:
    return int(boot_id, 16) if boot_id else 0


def rename(name: str, new_name: str) -> None:
    """Give a region another name; who has it mapped keeps it."""
    os.rename(SHM_DIRECTORY + name, SHM_DIRECTORY + new_name)


def unlink(name: str) -> None:
    """Remove a region's name, if it is there."""
    try:
        posix_ipc.unlink_shared_memory(name)
    except posix_ipc.ExistentialError:
        pass


def region_prefix(broker_id: int, log_dir: str | os.PathLike[str]) -> str:
    """The name prefix of a node: the id alone would clash between nodes of one host."""
    digest = hashlib.sha1(os.path.realpath(log_dir).encode(), usedforsecurity=False).hexdigest()
    return f"headrace-{broker_id}-{digest[:8]}"


def sweep(prefix: str, keep_boot_id: str | None = None) -> list[str]:
    """Unlink what earlier boots of this node left behind. The caller holds the log directory's lock.

    returns   the names removed
    """
    removed = []
    for name in sorted(os.listdir(SHM_DIRECTORY)):
        if not name.startswith(f"{prefix}-"):
            continue
        if keep_boot_id is not None and name.startswith(f"{prefix}-{keep_boot_id}-"):
            continue
        unlink(f"/{name}")
        removed.append(name)
    return removed
