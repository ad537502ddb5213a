"""What a table has now, by its own log, beside what our commits added to it: the table is right.

    ours and live      our commit added it, and the table has it with all of its rows
    ours and gone      another program deleted, updated or merged rows of it, or optimized it: no row of it counts
    of others          what such a program wrote instead

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.load.commits import LiveFile, Snapshot


def reconciled(snapshot: Snapshot, live: Mapping[str, LiveFile]) -> Snapshot:
    """A snapshot of our commits as the table has it.

    live   the table's data files by path below the root; dead letters are of no table, and stay
    """
    files = {
        path: one for path, one in snapshot.files.items() if one.is_bad or (path in live and not live[path].is_partly)
    }
    others = tuple(one for path, one in sorted(live.items()) if path not in files)
    gone = tuple(one for path, one in snapshot.files.items() if path not in files)
    return replace(snapshot, files=files, others=others, gone=gone)
