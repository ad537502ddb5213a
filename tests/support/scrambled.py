"""A transform of a stream's bytes, as TLS is one: it greets, then changes every byte."""

from headrace.errors import BadFrame
from headrace.protocol.stream import SendQueue


class Scrambled:
    """Turns each byte around, and begins with a hello of its own in both directions before it takes anything."""

    def __init__(self):
        self.outgoing = SendQueue()
        self.outgoing.put(b"hello")
        self._greeting = b""
        self._plain = b""

    def feed(self, received):
        data = bytes(received)
        missing = 5 - len(self._greeting)
        self._greeting += data[:missing]
        if self._greeting != b"hello"[: len(self._greeting)]:
            raise BadFrame("no hello")
        self._plain += bytes(byte ^ 0xFF for byte in data[missing:])

    def read_into(self, room):
        count = min(len(room), len(self._plain))
        room[:count] = self._plain[:count]
        self._plain = self._plain[count:]
        return count

    def write(self, part):
        if len(self._greeting) < 5:
            return 0
        self.outgoing.put(bytes(byte ^ 0xFF for byte in part[:7]))
        return len(part[:7])
