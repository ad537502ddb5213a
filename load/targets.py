"""The target that a user names: a directory, a table of Iceberg or one of Delta.

The modules of Iceberg and Delta are imported for such a table alone: their packages may not be installed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from headrace.load.parquet_target import ParquetTarget
from headrace.load.target import Step, Target, no_step

_SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9]+):(?P<rest>.*)\Z")


def open_target(to: str | os.PathLike[str] | Target, step: Step = no_step) -> Target:
    """The target that a user names: a directory, `iceberg:CATALOG:NAMESPACE.TABLE` or `delta:DIRECTORY`.

    raises   ValueError, for a scheme that is not ours; ImportError, if its package is not installed
    """
    if isinstance(to, Target):
        return to
    text = os.fspath(to)
    found = _SCHEME.match(text)
    if found is None:
        return ParquetTarget(Path(text).absolute(), step)
    if found["scheme"] == "file":
        return open_target(found["rest"].removeprefix("//"), step)
    if found["scheme"] == "delta":
        from headrace.load.delta_target import delta_target

        return delta_target(found["rest"], step)
    if found["scheme"] == "iceberg":
        from headrace.load.iceberg_target import iceberg_target

        return iceberg_target(found["rest"], step)
    raise ValueError(f"target {text!r}: expected a directory, iceberg:CATALOG:NAMESPACE.TABLE or delta:DIRECTORY")
