"""Topics into tables, each record exactly once: `load(topics, target)`, and what it wrote, listed, checked and maintained."""

from __future__ import annotations

from typing import Any

_HOMES = {
    "audit": "headrace.load.audit_report",
    "compact": "headrace.load.compaction",
    "dataset": "headrace.load.history",
    "dead_letters": "headrace.load.history",
    "delete": "headrace.load.deleting",
    "expire": "headrace.load.expiring",
    "files": "headrace.load.history",
    "load": "headrace.load.loader",
    "migrate": "headrace.load.migration",
    "rewind": "headrace.load.rewinding",
    "table": "headrace.load.live_table",
    "vacuum": "headrace.load.vacuuming",
}
__all__ = [
    "audit",
    "compact",
    "dataset",
    "dead_letters",
    "delete",
    "expire",
    "files",
    "load",
    "migrate",
    "rewind",
    "table",
    "vacuum",
]


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: Arrow takes its time."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
