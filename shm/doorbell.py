"""Waking a process that sleeps: an eventfd and a parked word.

    the sleeper:  parked = 1          -> fence -> polls its rings once more
                                      -> sleeps on the eventfd (with a timeout) -> parked = 0
    the ringer:   ring's tail stored  -> fence -> reads parked -> writes the eventfd if it is set

Each side stores, fences, then loads what the other stored: one of the two always sees the other (Dekker). A
process that is busy is never rung, which is why a loaded node makes no system call here.
"""

from __future__ import annotations

import os

from headrace.memory import load_word, store_word
from headrace.shm.fence import fence


class Doorbell:
    """One process's doorbell; the owner parks, everyone else rings."""

    __slots__ = ("_parked", "_words", "fd")

    def __init__(self, fd: int, words: memoryview, parked_index: int) -> None:
        self.fd = fd
        self._words = words
        self._parked = parked_index

    def ring(self) -> None:
        """Wake the owner if it sleeps. Call after the commit."""
        fence()
        if load_word(self._words, self._parked):
            self.force()

    def force(self) -> None:
        """Wake the owner even if it is not parked."""
        try:
            os.eventfd_write(self.fd, 1)
        except BlockingIOError:
            pass  # the counter is at its limit: it is ringing already

    def park(self) -> None:
        """Announce the sleep; the owner polls its rings once more after this."""
        store_word(self._words, self._parked, 1)
        fence()

    def unpark(self, is_rung: bool = True) -> None:
        """Resume work after a sleep.

        is_rung   whether it may have rung: then it is silenced. An unseen ring only ends the next sleep at once
        """
        store_word(self._words, self._parked, 0)
        if not is_rung:
            return
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            pass
