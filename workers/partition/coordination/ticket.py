"""The sender of a request that a coordinator answers: now, or when a commit, a phase or a timeout ends its wait.

Runs in: a partition worker.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.errors import HeadraceError
from headrace.protocol.codec import encode_response
from headrace.runtime.mailbox import Reply


class BadAnswer(HeadraceError):
    """A response that can't be written, which is our mistake. Its event has done half its work: the partition is loaded again."""


class Ticket(NamedTuple):
    """Where an answer goes, and how it is encoded."""

    reply: Reply
    api_key: int
    version: int

    def give(self, message: Any) -> None:
        """Answer with a message, or with the bytes of a response's body.

        raises   BadAnswer
        """
        if type(message) is not bytes:
            try:
                message = encode_response(self.api_key, self.version, message)
            except ValueError as failure:
                raise BadAnswer(str(failure)) from failure
        self.reply(message)
