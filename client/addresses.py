"""Bootstrap servers as text: `host:port[,host:port...]`, an IPv6 address in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

PORT_MAX: Final = 65_535
_ADDRESS: Final = re.compile(r"(?:\[(?P<literal>[0-9A-Fa-f:.%\w]+)\]|(?P<name>[^][/\s:]+)):(?P<port>[0-9]{1,9})")


def parse_addresses(servers: str | Iterable[str]) -> list[tuple[str, int]]:
    """(host, port) of each. raises ValueError, which names the one that is not such an address"""
    texts = servers.split(",") if isinstance(servers, str) else list(servers)
    found = [parse_address(text) for text in texts if text.strip()]
    if not found:
        raise ValueError(f"bootstrap.servers: {servers!r}: expected host:port[,host:port...]")
    return found


def parse_address(text: str) -> tuple[str, int]:
    """raises   ValueError"""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"bootstrap server {text.strip()!r} is not HOST:PORT")
    if not 1 <= int(match["port"]) <= PORT_MAX:
        raise ValueError(f"bootstrap server {text.strip()!r}: ports are 1 to {PORT_MAX}")
    return match["name"] or match["literal"], int(match["port"])
