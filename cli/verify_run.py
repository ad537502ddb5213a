"""The run of `headrace verify`: progress while it lasts, the findings, the result."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from headrace.cli.printable import printable
from headrace.cli.progress import ProgressLine, bytes_text
from headrace.errors import HeadraceError
from headrace.log.inspection.fault import Fault
from headrace.log.inspection.log_dir_check import LogDirCheck, Totals


def run(directory: Path, *, is_deep: bool, processes: int, is_json: bool, is_quiet: bool) -> int:
    """The exit code; raises HeadraceError, where the directory can't be read."""
    line = ProgressLine(is_quiet)
    started_s = time.monotonic()

    def show(totals: Totals) -> None:
        line.show(progress_text(totals, time.monotonic() - started_s))

    try:
        totals = LogDirCheck(directory, is_deep=is_deep, processes=processes).run(show)
    except OSError as failure:
        raise HeadraceError(f"{directory}: {failure.strerror or failure}") from None
    finally:
        line.clear()
    faults = [fault for fault in totals.faults if not fault.is_note]
    for fault in totals.faults:
        print(json.dumps(item_of(fault)) if is_json else text_of(fault))
    print(json.dumps(result_item(totals)) if is_json else result_text(totals, time.monotonic() - started_s))
    sys.stdout.flush()
    return int(bool(faults))


def progress_text(totals: Totals, seconds: float) -> str:
    done = min(totals.bytes_done, totals.bytes_all)
    share = 100 * done // totals.bytes_all if totals.bytes_all else 100
    text = f"verify {share}%  {bytes_text(done)} of {bytes_text(totals.bytes_all)}"
    text += f"  {totals.segments_done} of {totals.segments} segments  {bytes_text(done / max(seconds, 0.001))}/s"
    found = sum(not fault.is_note for fault in totals.faults)
    return f"{text}  {found} faults" if found else text


def text_of(fault: Fault) -> str:
    """One line: file, byte, what is wrong, what to do."""
    kind = "note" if fault.is_note else "fault"
    place = f" byte {fault.position}" if fault.position >= 0 else ""
    advice = f" -> {fault.advice}" if fault.advice else ""
    return printable(f"{kind}: {fault.path}{place}: {fault.what}{advice}")


def item_of(fault: Fault) -> dict[str, object]:
    kind = "note" if fault.is_note else "fault"
    return {"type": kind, "path": fault.path, "position": fault.position, "what": fault.what, "advice": fault.advice}


def result_item(totals: Totals) -> dict[str, object]:
    return {
        "type": "result", "partitions": totals.partitions, "segments": totals.segments, "batches": totals.batches,
        "records": totals.records, "bytes": totals.bytes_done, "is_running": totals.is_running,
        "faults": sum(not fault.is_note for fault in totals.faults),
        "notes": sum(fault.is_note for fault in totals.faults),
    }  # fmt: skip


def result_text(totals: Totals, seconds: float) -> str:
    result = result_item(totals)
    text = f"{totals.partitions} partitions, {totals.segments} segments, {totals.batches} batches, "
    text += f"{totals.records} records, {bytes_text(totals.bytes_done)} in {seconds:.1f} s"
    text += " beside a running node" if totals.is_running else ""
    return f"{text}: {result['faults'] or 'no'} faults, {result['notes']} notes"
