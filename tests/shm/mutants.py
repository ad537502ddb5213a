"""Copies of our own modules with a few characters changed, to see whether the checks notice."""

import importlib.util
from pathlib import Path
from types import ModuleType

from tests.shm.memory_model import ModelStruct

Edit = tuple[str, str]


def load_copy(name: str, *edits: Edit) -> ModuleType:
    """A fresh module from the source of `name`, with every `old` of `edits` replaced by its `new`.

    Its `struct.Struct` is the model's, so that it runs on recorded memory as well.
    """
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text()
    for old, new in edits:
        assert old in source, f"{name} no longer contains {old!r}: the mutation has to follow the code"
        source = source.replace(old, new)
    copy = ModuleType(f"{name}_copy")
    copy.__file__ = spec.origin
    copy.__dict__["Struct"] = ModelStruct
    exec(compile(source.replace("from struct import Struct\n", ""), spec.origin, "exec"), copy.__dict__)
    return copy
