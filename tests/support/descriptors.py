"""Open descriptors of the tests' own process, for tests that look for leaks, or for what a want of them does."""

import os
import resource
from contextlib import contextmanager

FREE = 6  # that are taken, so that the limit is reached whatever is open


@contextmanager
def none_left(spare=0):
    """In here no descriptor is to be had, but for a few."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + FREE, before[1]))
    taken = []
    try:
        try:
            while True:
                taken.append(os.dup(0))
        except OSError:
            pass
        for _ in range(spare):
            os.close(taken.pop())
        yield
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def held():
    """How many descriptors are open, sockets left out: clients of other tests have threads that open and close those."""
    count = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            count += not os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
        except FileNotFoundError:
            pass  # of the listing itself
    return count


def held_below(directory):
    """How many descriptors are open on files in a directory."""
    count = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{fd}").startswith(f"{directory}/")
        except FileNotFoundError:
            pass  # of the listing itself
    return count
