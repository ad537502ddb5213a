"""What the compiled core does with memory is what Python does with it, errors included: a library of all of it, built here."""

import importlib.util
import os
import random
import shutil
import struct
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from headrace.memory import copy_in, is_at, load_word, store_word, view
from tests.support.tree import ROOT
from tools.native import translate
from tools.native.core import C_FOLDER, C_HEADER, link_tree, sources
from tools.native.struct_functions import StructFunction, struct_functions

FUNCTIONS_OF_OURS = translate.FUNCTIONS
pytestmark = pytest.mark.process

FORMATS = {
    "all_numbers": ">bBhHiIqQ",
    "machine_order": "=QIIIihHI",
    "with_gaps": "=QIhxxqqq",
    "batch": ">qiibIhiqqqhii",
}
PROBE = """
from __future__ import annotations
from struct import Struct
from typing import Any, Final
from headrace.clock import read_monotonic_ns, read_wall_ns
from headrace.memory import Buffer, copy_in, is_at, load_word, store_word, view
from headrace.protocol.record_batch import crc_from
from headrace.shm.fence import fence

{functions}

def do_view(buffer: memoryview, start: int, stop: int) -> memoryview:
    return view(buffer, start, stop)
def do_copy_in(target: memoryview, position: int, source: Buffer) -> None:
    copy_in(target, position, source)
def do_is_at(buffer: memoryview, position: int, expected: bytes) -> bool:
    return is_at(buffer, position, expected)
def do_crc_from(buffer: memoryview, position: int) -> int:
    return crc_from(buffer, position)
def do_load_word(words: memoryview, index: int) -> int:
    return load_word(words, index)
def do_store_word(words: memoryview, index: int, value: int) -> None:
    store_word(words, index, value)
def do_fence() -> None:
    fence()
def do_wall_ns() -> int:
    return read_wall_ns()
def do_monotonic_ns() -> int:
    return read_monotonic_ns()
"""
FUNCTIONS = """
_{name}: Final = Struct("{format}")
def unpack_{name}(buffer: memoryview, position: int) -> tuple[{ints}]:
    return _{name}.unpack_from(buffer, position)
def pack_{name}(buffer: memoryview, position: int, {parameters}) -> None:
    _{name}.pack_into(buffer, position, {arguments})
def do_unpack_{name}(buffer: memoryview, position: int) -> Any:
    {arguments}, = unpack_{name}(buffer, position)
    return ({arguments},)
def do_pack_{name}(buffer: memoryview, position: int, {parameters}) -> None:
    pack_{name}(buffer, position, {arguments})
"""
BUILD = """
import sys
from pathlib import Path
from mypyc.build import mypycify
from tools.native import translate
from tools.native.struct_functions import struct_functions

if sys.argv[1] == "functions":
    functions = list(struct_functions("probe", Path("probe.py").read_text()))
    translate.write_struct_functions(Path(), functions)
    assert translate.register(functions) == ""
options = ["--config-file=", "--explicit-package-bases", "--ignore-missing-imports", "--follow-imports=silent", "--cache-dir=/dev/null"]
mypycify([*options, "probe.py"], target_dir=".")
"""


def probe_text():
    texts = []
    for name, form in FORMATS.items():
        count = len(StructFunction("x.y", form, False, False).fields)
        names = [f"v{index}" for index in range(count)]
        texts.append(
            FUNCTIONS.format(
                name=name,
                format=form,
                ints=", ".join(["int"] * count),
                parameters=", ".join(f"{one}: int" for one in names),
                arguments=", ".join(names),
            )
        )
    return PROBE.format(functions="\n".join(texts))


@pytest.fixture(scope="module", params=["functions", "plain"])
def probe(tmp_path_factory, request):
    """The library, loaded: with our C functions, and as it is where mypyc does not take them."""
    compiler = (os.environ.get("CC") or "cc").split()
    if shutil.which(compiler[0]) is None or not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("there is no C compiler")
    mypyc = pytest.importorskip("mypyc")
    place = tmp_path_factory.mktemp("probe")
    (place / "probe.py").write_text(probe_text())
    link_tree(ROOT, place / "tree")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, request.param],
        cwd=place,
        text=True,
        capture_output=True,
        env={**os.environ, "HEADRACE_PURE": "1", "PYTHONPATH": str(ROOT), "MYPYPATH": str(place / "tree")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    calls = [f"{c_name}(" in (place / "__native.c").read_text() for _name, _given, _result, c_name in FUNCTIONS_OF_OURS]
    assert calls == [request.param == "functions"] * len(calls)
    include = ["-include", C_HEADER] if request.param == "functions" else []
    runtime = Path(mypyc.__file__).parent / "lib-rt"
    library = place / f"probe{sysconfig.get_config_var('EXT_SUFFIX')}"
    folders = [f"-I{path}" for path in (runtime, place, ROOT / C_FOLDER, sysconfig.get_path("include"))]
    subprocess.run(
        [*compiler, "-O1", "-w", "-shared", "-fPIC", "-fwrapv", *folders, *include, "-o", str(library),
         *map(str, sorted(place.glob("*.c")))], check=True, cwd=place)  # fmt: skip
    spec = importlib.util.spec_from_file_location("probe", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome(function, *arguments):
    """What a call returns, or which error it raises."""
    try:
        result = function(*arguments)
    except Exception as failure:
        return type(failure)
    return bytes(result) if isinstance(result, memoryview) else result


def buffers():
    """Of all kinds that a caller might have, the odd ones too."""
    data = bytearray(random.Random(1).randbytes(200))
    released = memoryview(bytearray(200))
    released.release()
    return [
        memoryview(data), memoryview(bytes(data)), bytes(data), data, memoryview(data)[7:190], memoryview(data)[::2],
        memoryview(data).cast("b"), memoryview(data).cast("Q"), memoryview(data).cast("B", (10, 20)), released, memoryview(b""),
    ]  # fmt: skip


POSITIONS = [0, 1, 3, 100, 139, 140, 190, 199, 200, 201, -1, -60, -200, -300, 2**62, 2**70]


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_are_read_as_struct_reads_them(probe, name):
    compiled = getattr(probe, f"do_unpack_{name}")
    for buffer in buffers():
        for position in POSITIONS:
            wanted = outcome(struct.Struct(FORMATS[name]).unpack_from, buffer, position)
            assert outcome(compiled, buffer, position) == wanted, (buffer, position)


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_are_written_as_struct_writes_them(probe, name):
    compiled, form = getattr(probe, f"do_pack_{name}"), struct.Struct(FORMATS[name])
    chance = random.Random(name)
    fields = StructFunction("x.y", FORMATS[name], True, False).fields
    for position in POSITIONS:
        for _ in range(20):
            numbers = [chance.choice((0, 1, -1, 127, -128, 255, 2**15, 2**31 - 1, -(2**31), 2**32 - 1, 2**62, -(2**63), 2**64 - 1, 2**70))
                       if chance.random() < 0.2 else chance.randrange(128) for _ in fields]  # fmt: skip
            for make in (
                bytearray,
                lambda data: memoryview(bytearray(data)),
                bytes,
                lambda data: memoryview(bytes(data)),
            ):
                ours, theirs = make(b"\xaa" * 200), make(b"\xaa" * 200)
                assert outcome(compiled, ours, position, *numbers) == outcome(
                    form.pack_into, theirs, position, *numbers
                )
                assert bytes(ours) == bytes(theirs)


def test_bytes_are_cut_copied_and_compared_as_python_does(probe):
    for buffer in buffers():
        for start in POSITIONS:
            for stop in POSITIONS:
                if isinstance(buffer, memoryview):
                    assert outcome(probe.do_view, buffer, start, stop) == outcome(view, buffer, start, stop)
            assert outcome(probe.do_is_at, buffer, start, b"\0x") == outcome(is_at, buffer, start, b"\0x")
    text = memoryview(b"....word....")
    assert probe.do_is_at(text, 4, b"word")
    assert not probe.do_is_at(text, 5, b"word")
    for source in (b"", b"some", bytearray(b"bytes"), memoryview(b"abcdef")[1:4], memoryview(b"abcdef")[::2]):
        for position in POSITIONS:
            ours, theirs = memoryview(bytearray(200)), memoryview(bytearray(200))
            assert outcome(probe.do_copy_in, ours, position, source) == outcome(copy_in, theirs, position, source)
            assert bytes(ours) == bytes(theirs)


def test_a_view_holds_its_buffer_and_views_of_views_are_views(probe):
    data = bytearray(range(100))
    part = probe.do_view(memoryview(data), 10, 50)
    with pytest.raises(BufferError):
        data.append(1)
    inner = probe.do_view(part, 5, 7)
    assert inner.tolist() == [15, 16]
    inner[0] = 99
    assert data[15] == 99
    assert part.shape == (40,)
    assert part[::2].tolist()[:2] == [10, 12]
    assert part.obj is data


def test_words_are_loaded_and_stored_as_python_does(probe):
    for buffer in buffers():
        for index in POSITIONS:
            assert outcome(probe.do_load_word, buffer, index) == outcome(load_word, buffer, index)
    words, single, listed = (
        lambda: memoryview(bytearray(64)).cast("Q"),
        lambda: memoryview(bytearray(64)),
        lambda: [0] * 8,
    )
    for make in (words, single, listed, lambda: memoryview(bytes(64)).cast("Q")):
        for index in (0, 7, 8, 63, 64, -1, -8, 2**62, 2**70):
            for value in (0, 1, 255, 256, -1, 2**61, 2**63, 2**64 - 1, 2**64):
                ours, theirs = make(), make()
                assert outcome(probe.do_store_word, ours, index, value) == outcome(store_word, theirs, index, value)
                assert list(ours) == list(theirs)
                assert outcome(probe.do_load_word, ours, index) == outcome(load_word, theirs, index)
    assert probe.do_fence() is None


def test_clocks_are_those_of_time(probe):
    for ours, theirs in ((probe.do_wall_ns, time.time_ns), (probe.do_monotonic_ns, time.monotonic_ns)):
        readings = [read() for _ in range(3) for read in (theirs, ours)]
        assert readings == sorted(readings)
        assert readings[-1] - readings[0] < 60 * 10**9


def test_a_checksum_is_the_package_s_for_short_and_long_stretches(probe):
    from crc32c import crc32c

    data = random.Random(3).randbytes(5_000)
    for size in (*range(40), 1_000, 1_023, 1_024, 1_025, 5_000):
        for start in (0, 1, 7):
            assert probe.do_crc_from(memoryview(data[: size + start]), start) == crc32c(data[start : size + start])


def test_the_functions_of_the_core_are_found_and_only_those():
    found = {
        one.name: one
        for name, path in sources(ROOT).items()
        for one in struct_functions(name, (ROOT / path).read_text())
    }
    assert found["headrace.shm.messages.unpack_produce"].format == "=QIIIihHI"
    assert found["headrace.protocol.record_batch.stamp"].is_pack
    assert found["headrace.protocol.frames.unpack_size"].is_single
    for form, body in (
        (">h", "_A.unpack_from(b, p + 1)"), (">h", "_A.unpack_from(b, p)[1]"), (">h", "_A.unpack(b)"), (">h", "_B.unpack_from(b, p)"),
        (">d", "_A.unpack_from(b, p)"), ("<h", "_A.unpack_from(b, p)"), (">h", "f(_A.unpack_from(b, p))"),
    ):  # fmt: skip
        assert not list(struct_functions("m", f'_A: Final = Struct("{form}")\ndef f(b, p):\n    return {body}\n')), body


def test_another_registry_is_a_reason_and_nothing_of_mypycs_changes(monkeypatch):
    registry = pytest.importorskip("mypyc.primitives.registry")

    def refuse(*_arguments):
        raise TypeError("function_op() takes 3 arguments")

    monkeypatch.setattr(registry, "function_op", refuse)
    known = dict(registry.function_ops)
    assert translate.register([]) == (
        f"this mypy ({translate.mypy_version()}) has another registry: function_op() takes 3 arguments"
    )
    monkeypatch.delattr(registry, "function_op")
    assert "has another registry" in translate.register([])
    assert registry.function_ops == known


def test_what_is_in_mypycs_registry_stays(monkeypatch):
    registry = pytest.importorskip("mypyc.primitives.registry")
    known = {name: list(ops) for name, ops in registry.function_ops.items()}
    monkeypatch.setattr(registry, "function_ops", {name: list(ops) for name, ops in known.items()})
    methods = {name: list(ops) for name, ops in registry.method_call_ops.items()}
    assert translate.register([]) == ""
    assert {name: ops for name, ops in registry.function_ops.items() if name in known} == known
    assert registry.method_call_ops == methods
