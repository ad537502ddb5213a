"""The C compiler, and what both builds need: to find it, to run it, to say what they do, to write their manifests."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import source_hash
from pathlib import Path


class BuildFailed(Exception):
    """What a step of the build said."""


def c_compiler() -> list[str]:
    """Its command, tried with Python's headers. raises BuildFailed"""
    command = shlex.split(os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc"))
    if shutil.which(command[0]) is None:
        raise BuildFailed(f"there is no C compiler ({command[0]})")
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        raise BuildFailed(f"there is no {header}: Python's headers are not installed")
    with tempfile.TemporaryDirectory(prefix="headrace-native-") as temporary:
        source = Path(temporary, "probe.c")
        source.write_text("#include <Python.h>\n")
        if quiet([*command, "-c", "-fPIC", f"-I{header.parent}", str(source), "-o", str(source.with_suffix(".o"))]):
            raise BuildFailed(f"the C compiler does not work ({command[0]})")
    return command


def flags_of_environment() -> list[str]:
    """CFLAGS, which come last: they win."""
    return shlex.split(os.environ.get("CFLAGS", ""))


def run(command: list[str], directory: Path, environment: dict[str, str] | None = None) -> None:
    """raises   BuildFailed, with the end of what the command wrote"""
    done = subprocess.run(
        command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if "warning:" not in line]
        raise BuildFailed(f"{Path(command[0]).name} ended with {done.returncode}: {' / '.join(lines[-5:])}"[:2000])


def quiet(command: list[str]) -> int:
    """Run it, unheard; its exit code."""
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ).returncode


def file_line(root: Path, path: str, prefix: str) -> str:
    """A file as manifests have it: path from headrace/, size, time, hash.

    prefix   from headrace/ to the other folders: "../" in a checkout, "" in a wheel
    """
    inside = path.removeprefix("headrace/") if path.startswith("headrace/") else prefix + path
    found = os.stat(root / path)
    return f"{inside}\t{found.st_size}\t{found.st_mtime_ns}\t{hash_of(root, [path])}"


def hash_of(root: Path, paths: list[str]) -> str:
    """One for the bytes of all of them."""
    return source_hash(b"".join((root / path).read_bytes() for path in paths)).hex()


def replace(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    fresh.replace(path)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
