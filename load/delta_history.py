"""Which commit of ours a Delta table is at: the last one, or that of the version to which a RESTORE took the table back.

    version 40   headrace.commit A
    version 41   headrace.commit B
    version 42   DELETE                      another program's: B still
    version 43   RESTORE to 40               A
    version 44   headrace.commit C           C, which follows A

The files of versions are read from the last one back, up to the first that says it. Where that was cleaned, the transaction ids of the
table's state say it (`delta_target.py`). RESTORE leaves those: whether one came since, the rows have to show (`lost_history.py`).

Source: the Delta transaction log protocol, commitInfo; RESTORE of Delta Lake and of delta-rs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.load.errors import BrokenTarget

COMMIT = "headrace.commit"
RESTORE = "RESTORE"


def name_at(root: Path, version: int) -> str | None:
    """The commit of ours that a version is at; '': none; None: the versions that say it were cleaned.

    raises   BrokenTarget, where a RESTORE does not say to which version
    """
    while version >= 0:
        try:
            infos = list(_infos(root, version))
        except FileNotFoundError:
            return None
        step = version - 1
        for info in infos:
            if COMMIT in info:
                return str(info[COMMIT])
            if info.get("operation") == RESTORE:
                step = _restored_version(root, version, info)
        version = step
    return ""


def names_in(root: Path) -> tuple[set[str], bool]:
    """Our commits among the versions that are there, and whether older ones were cleaned."""
    found: set[str] = set()
    versions = sorted(path for path in (root / "_delta_log").glob("*.json") if path.stem.isdecimal())
    for path in versions:
        try:
            found.update(str(info[COMMIT]) for info in _infos(root, int(path.stem)) if COMMIT in info)
        except FileNotFoundError:
            continue
    return found, not versions or int(versions[0].stem) > 0


def _infos(root: Path, version: int) -> Iterator[dict[str, Any]]:
    """The commitInfo actions of a version. raises FileNotFoundError, BrokenTarget"""
    path = root / "_delta_log" / f"{version:020d}.json"
    with open(path, encoding="utf-8") as file:
        for line in file:
            if '"commitInfo"' not in line:
                continue
            try:
                action = json.loads(line)
            except ValueError as failure:
                raise BrokenTarget(f"{path} can't be read: {failure}") from None
            if "commitInfo" in action:
                yield action["commitInfo"]


def _restored_version(root: Path, version: int, info: dict[str, Any]) -> int:
    """To which version a RESTORE took the table: as it says, or the last one before it with the same files.

    raises   BrokenTarget
    """
    said = (info.get("operationParameters") or {}).get("version")
    if said not in (None, "", "null"):
        return int(said)
    from deltalake import DeltaTable

    table = DeltaTable(str(root), version=version)
    files = set(table.file_uris())
    for earlier in range(version - 1, -1, -1):
        try:
            table.load_as_version(earlier)
        except Exception as failure:  # deltalake's own errors, of versions that were cleaned
            raise BrokenTarget(
                f"{root}: version {version} is a RESTORE to a version that was cleaned: {failure}"
            ) from None
        if set(table.file_uris()) == files:
            return earlier
    raise BrokenTarget(f"{root}: version {version} is a RESTORE, and no version before it has its files")
