"""Which walker the readers of a test use: the tests' own process is pure Python, and has the kernel built and put in its place."""

import functools
import tempfile
from pathlib import Path

import pytest

from headrace.arrow import gathered, header_lists, local_range, python_walk, rows, substring
from headrace.compiled_core import open_extension
from headrace.compiled_kernel import MODULE, load
from headrace.spark.decoding import flat_avro, flat_json
from tests.support.tree import ROOT
from tools.native import kernel as native_kernel
from tools.native.compiler import BuildFailed

WALKS = (
    (rows, ("walk_batches", "walk_listed")),
    (local_range, ("whole_end",)),
    (gathered, ("gather",)),
    (header_lists, ("count_headers", "fill_headers")),
)
ALONE = (
    (substring, "_mark", "mark_substring"),
    (flat_avro, "_walk_flat", "walk_flat"),
    (flat_json, "_walk_json", "walk_json"),
)


@functools.cache
def built():
    """The kernel of the sources as they are, for this process; a word why there is none. `make test` has built it before."""
    kernel, _reason = load()
    if kernel is not None:
        return kernel
    with tempfile.TemporaryDirectory(prefix="headrace-kernel-") as directory:
        library = f"{directory}/{MODULE}.so"
        try:
            native_kernel.link(ROOT, Path(library), native_kernel.FLAGS)
        except BuildFailed as failure:
            return str(failure)
        return open_extension(MODULE, library)  # mapped: its name may go


def use(monkeypatch, walker):
    """Have readers walk by "kernel" or "python"."""
    kernel = built() if walker == "kernel" else None
    if isinstance(kernel, str):
        pytest.skip(kernel)
    for module, names in WALKS:
        for name in names:
            monkeypatch.setattr(module, name, getattr(kernel or python_walk, name))
    for module, name, function in ALONE:
        monkeypatch.setattr(module, name, getattr(kernel, function) if kernel else None)
