"""The record kernel finds what the Python walkers find, over bytes that are right and bytes that are not.

What is compared with what, case by case: `kernel_cases.py`, which a longer run takes as a program.
"""

import random
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import compiled_kernel
from headrace.compiled_core import directory
from headrace.compiled_kernel import MANIFEST, NOT_BUILT, load
from headrace.limits import PLAIN_WHOLE_RECORDS_MAX, RECORD_ERRORS_MAX
from headrace.protocol import record_kernel
from headrace.protocol.plain_records import FIRST_RECORDS
from headrace.protocol.record_batch import HEADER_BYTES, Record, build_batch, iterate_records
from tests.log import follower_cases
from tests.protocol import kernel_cases
from tests.support import walkers
from tools.native import kernel as native_kernel

CASES = 400  # of each check, a millisecond each
LOGS = 40  # of those that open logs


@pytest.fixture(scope="module")
def kernel():
    kernel = walkers.built()
    if isinstance(kernel, str):
        pytest.skip(kernel)
    return kernel


@pytest.mark.slow
@pytest.mark.parametrize("check", sorted(set(kernel_cases.CHECKS), key=lambda check: check.__name__))
def test_the_kernel_and_the_python_walkers_agree(kernel, check):
    seed = random.randrange(10**9)
    print(f"from seed {seed} on")
    for number in range(LOGS if check is follower_cases.check_follower else CASES):
        kernel_cases.run_case(kernel, seed + number, check)


def test_a_slice_may_have_more_index_entries_than_an_index_grows_by(kernel):
    follower_cases.check_many_entries(kernel)


BODIES = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=5), BODIES), max_size=3).map(tuple)
ROWS = st.lists(st.tuples(st.integers(-(2**62), 2**62 - 1), BODIES, BODIES, HEADERS), min_size=1, max_size=40)


@settings(max_examples=60)
@given(rows=ROWS)
def test_records_come_out_as_they_went_in(kernel, rows):
    records = [Record(index, *row) for index, row in enumerate(rows)]
    batch = build_batch(records)
    with kernel_cases.walking(kernel):
        assert list(iterate_records(batch)) == records
    keyless, *_times = kernel.scan_records(batch[HEADER_BYTES:], len(rows), RECORD_ERRORS_MAX)
    assert keyless == [index for index, row in enumerate(rows) if row[1] is None]


@settings(max_examples=60)
@given(data=st.binary(max_size=90), count=st.integers(-1, 5), magic=st.integers(0, 1))
def test_any_bytes_are_judged(kernel, data, count, magic):
    kernel.scan_records(data, count, 1)
    kernel.scan_plain(data, count, PLAIN_WHOLE_RECORDS_MAX, FIRST_RECORDS)
    kernel.is_plain(data, PLAIN_WHOLE_RECORDS_MAX, FIRST_RECORDS)
    kernel.list_records(Record, data, min(count, len(data)), count, 0, 0, 0, None)
    kernel.to_old_messages(data, count, 0, 0, 0, None, magic, 0, 0, 0)
    kernel.to_records(data, magic, None, 10, 1)
    kernel.walk_batches(data, 0, len(data), 90, 0, 9, 0, 0, 0, b"", TARGET, bytearray(56))
    kernel.whole_end(data, 0, len(data), 9)


def slots_of(*given):
    """Slots of the fields of a target, -1 for those that are not given."""
    return bytearray(struct.pack("=7q", *given, *[-1] * (7 - len(given))))


# two rows: offsets, views of keys, copies of values
TARGET = (
    2,
    bytearray(32),
    slots_of(0),
    bytearray(32),
    None,
    bytearray(1),
    bytearray(5),
    bytearray(12),
    bytearray(1),
    bytearray(32),
)


def test_a_target_as_it_should_be_is_taken(kernel):
    data = build_batch([Record(0, 1, b"k" * 13, b"v"), Record(1, 1, None, b"w")])
    assert kernel.walk_batches(data, 0, len(data), 9, 0, 9, 0, 7, 1, b"", TARGET, bytearray(56)) == (0, 0, 6, 0)
    roomy = (*TARGET[:6], bytearray(len(data)), *TARGET[7:])
    assert kernel.walk_batches(data, 0, len(data), 9, 0, 9, 0, 7, 1, b"", roomy, bytearray(56)) == (len(data), 2, 0, 0)
    assert struct.unpack("=4q", roomy[1])[:2] == (0, 1)
    assert struct.unpack("=i4sii", roomy[3][:16]) == (13, b"kkkk", 7, data.index(b"kkkk"))
    assert roomy[6].startswith(b"vw")
    assert struct.unpack("=3i", roomy[7]) == (0, 1, 2)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("scan_records", (b"", 1)),
        ("scan_records", ("text", 1, 1)),
        ("scan_plain", (b"", 2**64, 32, 4)),
        ("is_plain", (b"", None, 4)),
        ("list_records", (int, b"", 0, 1, 0, 0, 0, None)),
        ("to_old_messages", (b"", 1)),
        ("to_records", (None, 1, None, 1, 1)),
        ("fill_columns", (b"", bytes(8), bytes(8), bytes(16), bytearray(80))),
        ("fill_columns", (b"", bytes(8), bytes(8), bytes(8), bytearray(81))),
        ("fill_columns", (b"", bytes(8), bytes(8), bytes(8), bytes(80))),
        (
            "walk_batches",
            (b"", 0, 1, 9, 0, 9, 0, 0, 0, bytes(0), TARGET, bytearray(56)),
        ),  # the end is outside of the data
        (
            "walk_batches",
            (b"", 0, 0, 9, 0, 9, 3, 0, 0, bytes(0), TARGET, bytearray(56)),
        ),  # a row that the target has not
        ("walk_batches", (b"", 0, 0, 9, 0, 9, 0, 0, 0, bytes(0), TARGET, bytearray(8))),  # no room to list anything
        ("walk_batches", (b"", 0, 0, 9, 0, 9, 0, 0, 0, bytes(25), TARGET, bytearray(56))),
        ("walk_batches", (b"", 0, 0, 9, 0, 9, 0, 0, 0, bytes(0), list(TARGET), bytearray(56))),
        *(
            (
                "walk_batches",
                (b"", 0, 0, 9, 0, 9, 0, 0, 0, bytes(0), (*TARGET[:part], given, *TARGET[part + 1 :]), bytearray(56)),
            )
            for part, given in (
                (0, 3),  # more rows than there are columns for
                (0, 2**62),
                (0, -1),
                (1, None),
                (2, slots_of(0, 2)),
                (2, slots_of(-1)),
                (2, slots_of(0, -2)),
                (2, slots_of(0, -1, -1, -1, -1, 1, -1)),  # headers begin, and have no length
                (3, None),
                (3, bytearray(31)),  # views of one row
                (3, bytes(32)),
                (5, bytearray(0)),
                (7, bytearray(8)),
                (7, bytearray((9).to_bytes(4, "little") + bytes(8))),  # more bytes than there is room for
                (9, bytearray(24)),
            )
        ),
        ("walk_listed", ([b""], 0, bytes(48), 0, 9, 0, 0, TARGET)),
        ("walk_listed", ([b""], 1, bytearray(56), 0, 9, 0, 0, TARGET)),
        ("walk_listed", ([b""], -1, bytearray(112), 0, 9, 0, 0, TARGET)),
        ("walk_listed", ([b""] * 65, 0, bytearray(56 * 65), 0, 9, 0, 0, TARGET)),
        ("walk_listed", ((b"",), 0, bytearray(56), 0, 9, 0, 0, TARGET)),
        ("whole_end", (b"", 0, 1, 9)),
        ("whole_end", (b"", -1, 0, 9)),
        ("gather", (b"", bytes(8), bytes(8), bytearray(1), bytearray(4), bytearray(1), 0, 1)),
        ("gather", (b"", bytes(8), bytes(8), bytearray(1), bytearray(8), bytearray(0), 0, 1)),
        ("gather", (b"", bytes(8), bytes(8), bytearray(1), bytearray(8), bytearray(1), 1, 0)),
        ("count_headers", (b"", bytes(8), bytes(8), 0, 2)),
        ("fill_headers", (b"", *[bytes(8)] * 2, *[bytearray(8)] * 7, 0, 2)),
        ("fill_headers", (b"", *[bytes(8)] * 2, bytearray(bytes(8)), bytearray(1), *[bytearray(0)] * 5, 0, 1)),
        ("mark_substring", (b"ab", bytes(4) + (3).to_bytes(4, "little"), 4, b"a", bytearray(1))),
        ("mark_substring", (b"ab", bytes(8), 4, b"", bytearray(1))),
        ("mark_substring", (b"ab", bytes(8), 3, b"a", bytearray(1))),
        (
            "walk_flat",
            (b"", bytes(8) + (1).to_bytes(8, "little"), b"\1", 0, b"", bytearray(0), bytearray(0), bytearray(1)),
        ),
        ("walk_flat", (b"", bytes(16), b"\1", -1, b"", bytearray(0), bytearray(0), bytearray(1))),
        (
            "walk_flat",
            (b"", bytes(16), b"\1", 0, bytes(40), bytearray(0), bytearray(0), bytearray(1)),
        ),  # a slot too many
        (
            "walk_json",
            (b"", bytes(8) + (1).to_bytes(8, "little"), b"\1", b"", b"", bytearray(0), bytearray(0), bytearray(1)),
        ),
        ("walk_json", (b"", bytes(16), b"\1", b"", bytes(24), bytearray(8), bytearray(8), bytearray(1))),  # no bits
        ("walk_json", (b"", bytes(8), b"", b"", bytes(65 * 24), bytearray(0), bytearray(0), bytearray(0))),
        (
            "walk_json",
            (
                b"",
                bytes(16),
                b"\1",
                b"",
                bytes(8) + b"\x40" + bytes(7) + b"\1" + bytes(7),
                bytearray(8),
                bytearray(8),
                bytearray(1),
            ),
        ),  # a name outside
    ],
)
def test_wrong_arguments_are_errors_of_the_caller(kernel, name, arguments):
    with pytest.raises((TypeError, ValueError, OverflowError, BufferError)):
        getattr(kernel, name)(*arguments)


@pytest.mark.parametrize(
    "name",
    [name for name in vars(record_kernel) if name.isidentifier() and name.islower() and "_" in name and name[0] != "_"],
)
def test_every_function_that_is_asked_for_is_there(kernel, name):
    assert callable(getattr(kernel, name))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A checkout of the kernel alone, in which it is built."""
    monkeypatch.delenv("HEADRACE_PURE", raising=False)
    monkeypatch.setenv("CFLAGS", "-O0")  # what is built here walks next to nothing
    folder = tmp_path / "protocol" / "kernel"
    folder.mkdir(parents=True)
    for path in native_kernel.sources(kernel_cases.ROOT):
        (tmp_path / path).write_bytes((kernel_cases.ROOT / path).read_bytes())
    (tmp_path / "headrace").mkdir()
    return tmp_path / "headrace"


def build_in(package):
    return native_kernel.build(package.parent, directory(package), "../")


@pytest.mark.process
def test_it_is_used_as_long_as_its_sources_are_what_was_compiled(package, kernel):
    assert load(package) == (None, NOT_BUILT)
    assert build_in(package) == ""
    module, reason = load(package)
    assert module.scan_records(b"", 0, 1) == ([], 0, 0)
    assert reason == ""
    edited = package.parent / "protocol" / "kernel" / "varint.h"
    edited.write_text(edited.read_text() + "\n")
    module, reason = load(package)
    assert module is None
    assert reason.endswith("varint.h is not what was compiled")
    assert build_in(package) == ""
    assert len(list(directory(package).glob("kernel-*.so"))) == 1
    assert load(package)[0] is not None


@pytest.mark.process
def test_a_source_that_is_edited_while_it_is_built_is_not_taken_for_compiled(package, kernel, tmp_path, monkeypatch):
    edited = package.parent / "protocol" / "kernel" / "varint.h"
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\ncc "$@" && echo >> {edited}\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    assert build_in(package) == ""
    assert load(package)[1].endswith("varint.h is not what was compiled")


def test_without_a_compiler_python_walks(package, monkeypatch, capfd):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert build_in(package) == "not built: there is no C compiler (no-such-compiler)"
    assert "Python walks records" in capfd.readouterr().err
    assert load(package) == (None, "not built: there is no C compiler (no-such-compiler)")


@pytest.mark.process
def test_a_source_that_does_not_compile_is_told(package):
    (package.parent / "protocol" / "kernel" / "scan.c").write_text("int scan_records = ;\n")
    if "there is no C compiler" in (reason := build_in(package)):
        pytest.skip(reason)
    assert "ended with 1" in reason
    assert "ended with 1" in load(package)[1]


@pytest.mark.process
def test_headrace_pure_leaves_it_out(package, kernel, monkeypatch):
    build_in(package)
    monkeypatch.setenv("HEADRACE_PURE", "1")
    assert load(package) == (None, "HEADRACE_PURE is set")
    assert build_in(package) == "HEADRACE_PURE was set when it was built"


@pytest.mark.parametrize("text", ["", "another format\nbuilt x", f"{compiled_kernel.FORMAT}\nbuilt none.so\nodd line"])
def test_a_manifest_that_is_cut_or_foreign_is_none(package, text):
    directory(package).mkdir(parents=True)
    (directory(package) / MANIFEST).write_text(text)
    assert load(package) == (None, NOT_BUILT)


def test_a_library_that_is_gone_is_told(package):
    directory(package).mkdir(parents=True)
    (directory(package) / MANIFEST).write_text(f"{compiled_kernel.FORMAT}\nbuilt kernel-1.so\n")
    assert load(package)[1].startswith("it does not load")


def test_a_wheel_carries_its_sources():
    made = {path.removeprefix("protocol/") for path in native_kernel.sources(kernel_cases.ROOT)}
    import tomllib

    project = tomllib.loads((kernel_cases.ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["headrace.protocol"]
    assert made <= {str(path.relative_to(kernel_cases.ROOT / "protocol"))
                    for pattern in patterns for path in (kernel_cases.ROOT / "protocol").glob(pattern)}  # fmt: skip


@pytest.mark.process
def test_the_version_says_whether_it_walks():
    command = [sys.executable, "-c", "from headrace import compiled_kernel; print(compiled_kernel.describe())"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env={"HEADRACE_PURE": "1"}).stdout
    assert said == "no record kernel: HEADRACE_PURE is set\n"
