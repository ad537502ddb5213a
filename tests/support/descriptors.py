"""Open descriptors of the tests' own process, for tests that look for leaks."""

import os


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
