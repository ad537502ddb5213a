"""Activity records: their fields, records made by lot, records from a web server's access log.

One record is one request. Its key is the user, its timestamp the time of the request, its value JSON:

    {"user": "ada", "address": "10.0.3.7", "action": "click", "page": "/shop/lamp", "service": "shop",
     "status": 200, "sent_bytes": 5120, "ms": 31}
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

# what `decode=json(SCHEMA)` and the option decode.value.schema take
SCHEMA = "user string, address string, action string, page string, service string, status int, sent_bytes long, ms long"

_USERS = [f"{name}{number}" for number in range(40) for name in ("ada", "bob", "eve", "joe", "kim")]
_PAGES = {
    "shop": ["/shop", "/shop/lamp", "/shop/chair", "/shop/table", "/shop/rug", "/shop/clock"],
    "news": ["/news", "/news/today", "/news/sports", "/news/weather"],
    "search": ["/search"],
    "account": ["/account", "/account/orders"],
}
_SERVICES = ["shop"] * 6 + ["news"] * 3 + ["search"] * 2 + ["account"]
_VISIT_PAUSE_MS = 45 * 60_000

# host ident user [time] "METHOD /path HTTP/1.1" status bytes "referrer" "agent" seconds: the last three need not be there
_LINE = re.compile(
    r'(?P<host>\S+) \S+ (?P<user>\S+) \[(?P<time>[^]]+)\] "(?P<method>[A-Z]+) (?P<path>\S+)[^"]*" (?P<status>\d{3})'
    r' (?P<bytes>\d+|-)(?: "(?P<referrer>(?:[^"\\]|\\.)*)" "(?:[^"\\]|\\.)*")?(?: (?P<seconds>\d+\.\d+))?\s*$'
)


class Activity(NamedTuple):
    """One request. `sent_bytes` is the size of the response; `ms` is None where a log does not say how long it took."""

    timestamp_ms: int
    user: str
    address: str
    action: str
    page: str
    service: str
    status: int
    sent_bytes: int
    ms: int | None

    def key(self) -> bytes:
        """The record's key."""
        return self.user.encode()

    def value(self) -> bytes:
        """The record's value."""
        fields = self._asdict()
        del fields["timestamp_ms"]  # it is the record's own
        return json.dumps(fields).encode()


def made_up(count: int, start_ms: int, pause_ms: int = 250, seed: int = 1) -> Iterator[Activity]:
    """`count` records by lot, in the order of time, one each `pause_ms` in the mean.

    Users come and visit a few pages; one minute in fifteen the shop fails, and one in ten an address guesses passwords.
    """
    dice = random.Random(seed)
    now_ms = start_ms
    services: dict[str, tuple[int, str]] = {}  # of each user: when it came last, where it is
    for _ in range(count):
        now_ms += dice.randrange(2 * pause_ms + 1)
        minute = now_ms // 60_000
        if minute % 10 == 7 and dice.random() < 0.3:
            yield Activity(now_ms, "-", "203.0.113.9", "login", "/account", "account", 401, 300, 12 + dice.randrange(9))
            continue
        user = _USERS[min(int(dice.expovariate(0.05)), len(_USERS) - 1)]
        last_ms, service = services.get(user, (0, ""))
        is_new = now_ms - last_ms > _VISIT_PAUSE_MS
        if is_new or dice.random() < 0.2:
            service = dice.choice(_SERVICES)
        services[user] = now_ms, service
        action = "view" if is_new else "search" if service == "search" else dice.choice(["view", "click", "click"])
        is_ill = service == "shop" and minute % 15 == 4 and dice.random() < 0.4
        ms = int(dice.lognormvariate(3.5, 0.6)) + (2000 if is_ill else 0)
        address = f"10.0.{len(user)}.{_USERS.index(user)}"
        page = dice.choice(_PAGES[service])
        yield Activity(now_ms, user, address, action, page, service, 503 if is_ill else 200, dice.randrange(9000), ms)


def from_access_log(lines: Iterable[str]) -> Iterator[Activity | None]:
    """The requests of a log in the Common or Combined Log Format, also with seconds at the end; None for any other line.

    A request with a referrer is a click, one without a view; methods other than GET and HEAD are actions by their own names.
    """
    for line in lines:
        match = _LINE.match(line)
        yield None if match is None else _from_match(match)


def _from_match(match: re.Match[str]) -> Activity | None:
    try:
        at = datetime.strptime(match["time"], "%d/%b/%Y:%H:%M:%S %z")
    except ValueError:
        return None
    page = match["path"].partition("?")[0]
    action = match["method"].lower()
    if action in ("get", "head"):
        action = "click" if (match["referrer"] or "-") != "-" else "view"
    return Activity(
        timestamp_ms=int(at.timestamp()) * 1000,
        user=match["host"] if match["user"] == "-" else match["user"],
        address=match["host"],
        action=action,
        page=page,
        service=page.split("/")[1] if page.startswith("/") else "",
        status=int(match["status"]),
        sent_bytes=0 if match["bytes"] == "-" else int(match["bytes"]),
        ms=round(float(match["seconds"]) * 1000) if match["seconds"] else None,
    )
