"""The shared vocabulary of Headrace: ids, errors, limits, settings, clock. It imports nothing of ours.

`headrace.table` is at home above, in `headrace.load`, and is found when it is asked for.
"""

from __future__ import annotations

from typing import Any

from headrace import compiled_core
from headrace import compiled_kernel as compiled_kernel  # the form is chosen here, for the life of the process

__version__ = "0.1.0"

compiled_core.install()


def __getattr__(name: str) -> Any:
    """`headrace.table`: imported when it is used, since it needs Arrow. raises ImportError, AttributeError"""
    if name != "table":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module("headrace.load.live_table").table
