"""Who hears of a change: watches of connections on paths.

    data, child     fire once; set by getData and exists, by getChildren
    persistent      fire each time, for a path's data and its children
    recursive       fire each time, for a path and all below it; never say that children changed

A connection is one party: however many of its watches a change meets, it gets one event. Watches end with their connection; a client
that connects again sets them again (`table.py`, setWatches).

Source: ZooKeeper `WatchManager`, `DataTree.createNode`, `deleteNode`, `setData`, `AddWatchMode`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.testing.zookeeper.state.codes import Code, EventType, ZooKeeperRefusal
from headrace.testing.zookeeper.state.znode import parent_of

Paths = dict[str, dict[int, None]]  # path -> connections


@dataclass(slots=True)
class Watches:
    """The watches of all connections; `most` bounds their number."""

    most: int
    data: Paths = field(default_factory=dict)
    child: Paths = field(default_factory=dict)
    persistent: Paths = field(default_factory=dict)
    recursive: Paths = field(default_factory=dict)
    count: int = 0

    def add(self, kind: Paths, path: str, link: int) -> None:
        """raises   ZooKeeperRefusal, where there are too many"""
        links = kind.get(path)
        if links is not None and link in links:
            return
        if self.count >= self.most:
            raise ZooKeeperRefusal(Code.THROTTLED)
        kind.setdefault(path, {})[link] = None
        self.count += 1

    def remove(self, kind: Paths, path: str, link: int) -> bool:
        """Whether there was one."""
        links = kind.get(path)
        if links is None or link not in links:
            return False
        del links[link]
        if not links:
            del kind[path]
        self.count -= 1
        return True

    def has(self, kind: Paths, path: str, link: int) -> bool:
        return link in kind.get(path, ())

    def forget(self, link: int) -> None:
        """A connection is closed."""
        for kind in self._kinds():
            for path in [path for path, links in kind.items() if link in links]:
                self.remove(kind, path, link)

    def fire(self, event: EventType, path: str) -> list[int]:
        """The connections that hear of a change, each once."""
        hearing: dict[int, None] = {}
        if event is not EventType.CHILDREN_CHANGED:
            hearing.update(self._take(self.data, path))
        if event in (EventType.DELETED, EventType.CHILDREN_CHANGED):
            hearing.update(self._take(self.child, path))
        hearing.update(self.persistent.get(path, {}))
        if event is not EventType.CHILDREN_CHANGED and self.recursive:
            for above in _with_ancestors(path):
                hearing.update(self.recursive.get(above, {}))
        return list(hearing)

    def _take(self, kind: Paths, path: str) -> dict[int, None]:
        links = kind.pop(path, {})
        self.count -= len(links)
        return links

    def _kinds(self) -> tuple[Paths, ...]:
        return (self.data, self.child, self.persistent, self.recursive)


def _with_ancestors(path: str) -> Iterator[str]:
    while path != "/":
        yield path
        path = parent_of(path)
    yield path
