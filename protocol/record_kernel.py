"""The compiled walker of records, by function; each is None where it was not built (`headrace/compiled_kernel.py`).

Arguments and results are in the C sources (`kernel/`), above each function. None, or False, says that the bytes are not as most
are, and nothing else: the caller has the Python walker run that the function stands for, and that one decides and says what is wrong.
So Python is the reference, errors are its own, and a function may refuse more than it has to. `tests/protocol/test_record_kernel.py`
compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.compiled_kernel import KERNEL

Function = Callable[..., Any] | None

is_plain: Final[Function] = getattr(KERNEL, "is_plain", None)
scan_plain: Final[Function] = getattr(KERNEL, "scan_plain", None)
scan_records: Final[Function] = getattr(KERNEL, "scan_records", None)
list_records: Final[Function] = getattr(KERNEL, "list_records", None)
list_client_records: Final[Function] = getattr(KERNEL, "list_client_records", None)
to_old_messages: Final[Function] = getattr(KERNEL, "to_old_messages", None)
to_records: Final[Function] = getattr(KERNEL, "to_records", None)
fill_columns: Final[Function] = getattr(KERNEL, "fill_columns", None)
hash_keys: Final[Function] = getattr(KERNEL, "hash_keys", None)
put_offsets: Final[Function] = getattr(KERNEL, "put_offsets", None)
get_offsets: Final[Function] = getattr(KERNEL, "get_offsets", None)
kept_records: Final[Function] = getattr(KERNEL, "kept_records", None)
load_offsets: Final[Function] = getattr(KERNEL, "load_offsets", None)
walk_batches: Final[Function] = getattr(KERNEL, "walk_batches", None)
walk_listed: Final[Function] = getattr(KERNEL, "walk_listed", None)
whole_end: Final[Function] = getattr(KERNEL, "whole_end", None)
gather: Final[Function] = getattr(KERNEL, "gather", None)
count_headers: Final[Function] = getattr(KERNEL, "count_headers", None)
fill_headers: Final[Function] = getattr(KERNEL, "fill_headers", None)
mark_substring: Final[Function] = getattr(KERNEL, "mark_substring", None)
walk_flat: Final[Function] = getattr(KERNEL, "walk_flat", None)
walk_json: Final[Function] = getattr(KERNEL, "walk_json", None)
find_record: Final[Function] = getattr(KERNEL, "find_record", None)
take_run: Final[Function] = getattr(KERNEL, "take_run", None)
store_entries: Final[Function] = getattr(KERNEL, "store_entries", None)
usual_frame: Final[Function] = getattr(KERNEL, "usual_frame", None)
murmur2: Final[Function] = getattr(KERNEL, "murmur2", None)
partition_of: Final[Function] = getattr(KERNEL, "partition_of", None)
BatchBuilder: Final[Any] = getattr(KERNEL, "BatchBuilder", None)  # a class; `batch_builder.py` has the rest of it
SendPath: Final[Any] = getattr(KERNEL, "SendPath", None)
SendRoute: Final[Any] = getattr(KERNEL, "SendRoute", None)
SendTarget: Final[Any] = getattr(KERNEL, "SendTarget", None)
