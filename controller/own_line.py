"""The active controller's way to its own node: the same requests as to the others, carried out by the same handlers.

Runs in: the controller process of the active node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.protocol.codec import encode_request

OnReply = Callable[[bytes | None], None]


class OwnLine:
    """`active/broker_channel.Line`.

    carry_out   has the handler of an api key take a request, and answer it by the way back
    """

    def __init__(self, carry_out: Callable[[int, int, bytes, OwnReply], None]) -> None:
        self._carry_out = carry_out
        self._is_closed = False
        self._reply: OwnReply | None = None  # of the request in flight

    def ask(self, api_key: int, version: int, message: Any, on_reply: OnReply) -> bool:
        if self._is_closed:
            return False
        self._reply = OwnReply(on_reply)
        self._carry_out(api_key, version, encode_request(api_key, version, message), self._reply)
        return True

    def knock(self, on_heard: Callable[[bool], None]) -> bool:
        """One's own node is there."""
        on_heard(True)
        return True

    def close(self) -> None:
        """What is being carried out still is; nothing waits for it."""
        self._is_closed = True
        if self._reply is not None and self._reply.is_wanted:
            self._reply.refuse()


class OwnReply:
    """The way back, as `runtime/mailbox.Reply` is it."""

    def __init__(self, on_reply: OnReply) -> None:
        self.is_wanted = True
        self._on_reply = on_reply

    def __call__(self, body: bytes) -> None:
        self.is_wanted = False
        self._on_reply(body)

    def refuse(self) -> None:
        self.is_wanted = False
        self._on_reply(None)
