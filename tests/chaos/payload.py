"""What records carry: the id of a value and bytes that follow from it, so that changed bytes show.

Used by: every client of the campaign.
"""

from __future__ import annotations

import zlib

LARGE_EVERY = 100  # of a client's values: one that takes several pages, and is appended from where it was received (docs/decisions/016)


def encode(value: str) -> bytes:
    """`client-number` as the bytes that are sent for it."""
    number = zlib.crc32(value.encode())
    pad = 20_000 if number % LARGE_EVERY == 0 else number % 200
    return f"{value}|{number:08x}|".encode() + (b"%08x" % number) * (pad // 8)


def decode(data: bytes | None) -> str:
    """The id of a value; other bytes as text, which is no value that anybody sent."""
    if data is None:
        return "(no value)"
    value = data.partition(b"|")[0].decode(errors="replace")
    return value if encode(value) == data else f"bytes {data[:60]!r} of {len(data)}"
