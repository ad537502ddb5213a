"""Try installs: `python -m tools.try_installs` (`make installs`), a line for each.

    for each Python         3.11, 3.12, 3.13: of pyenv, or on the PATH; `--pythons` names others
    `wheel`, `editable`     pip install ., pip install -e .
    `cc`, `no-cc`           with the C compiler, and with CC=/nonexistent

Each is a fresh virtual environment over a copy of the checkout. It ends with `headrace version`, which says the form that runs, and with
`headrace dev` without Java, which takes a record by `headrace produce` and gives it back by `headrace consume`. No extras are installed.
`--cflags=-O0` takes half the time. Exit code 1: one of them failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
VERSIONS: Final = ("3.11", "3.12", "3.13")
INSTALLS: Final = {"wheel": ["."], "editable": ["-e", "."]}
COMPILERS: Final = ("cc", "no-cc")
NO_COMPILER: Final = "/nonexistent"
INSTALL_MAX_S: Final = 3600.0
STEP_MAX_S: Final = 120.0
STOP_MAX_S: Final = 120.0  # a node that is killed leaves its shared memory
RECORD: Final = "a record"
TOPIC: Final = "tried"


class Failed(Exception):
    """What a step said at its end."""


class Attempt(NamedTuple):
    """One install.

    python     the interpreter
    version    of it, 3.11
    """

    python: str
    version: str
    install: str
    compiler: str

    @property
    def title(self) -> str:
        return f"{self.version} {self.install} {self.compiler}"


def pythons(home: Path, which: Callable[[str], str | None] = shutil.which) -> dict[str, str]:
    """Interpreters by version: the newest of pyenv, whose commands on the PATH may be no interpreters; else the PATH's."""
    found = {}
    for version in VERSIONS:
        of_pyenv = sorted(home.glob(f".pyenv/versions/{version}.*/bin/python"))
        path = str(of_pyenv[-1]) if of_pyenv else which(f"python{version}")
        if path is not None:
            found[version] = path
    return found


def attempts(known: dict[str, str], installs: list[str], compilers: list[str]) -> Iterator[Attempt]:
    for (version, python), install, compiler in product(known.items(), installs, compilers):
        yield Attempt(python, version, install, compiler)


def attempt(one: Attempt, directory: Path, cflags: str) -> str:
    """Install and try; returns what `headrace version` says. raises Failed"""
    source, venv = directory / "source", directory / "venv"
    copy_checkout(source)
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for name in ("HEADRACE_PURE", "PYTHONPATH", "CC"):
        environment.pop(name, None)
    if cflags:
        environment["CFLAGS"] = cflags
    if one.compiler == "no-cc":
        environment["CC"] = NO_COMPILER
    run([one.python, "-m", "venv", str(venv)], source, environment, STEP_MAX_S)
    python = str(venv / "bin" / "python")
    constraints = str(source / "constraints.txt")
    install = [python, "-m", "pip", "install", "--quiet", "-c", constraints, *INSTALLS[one.install]]
    run(install, source, environment, INSTALL_MAX_S)
    environment["PATH"] = f"{venv / 'bin'}:{path_without('java')}"
    said = run([str(venv / "bin" / "headrace"), "version"], directory, environment, STEP_MAX_S).splitlines()[-1]
    take_a_record(str(venv / "bin" / "headrace"), directory, environment)
    return said


def copy_checkout(target: Path) -> None:
    """The files that git knows, as they are."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    for name in listed.stdout.decode().split("\0"):
        if name and not name.startswith(("tests/", "bench/results/")) and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def path_without(program: str) -> str:
    """The PATH without the folders of a program."""
    folders = os.environ.get("PATH", os.defpath).split(":")
    return ":".join(folder for folder in folders if not Path(folder, program).exists())


def take_a_record(headrace: str, directory: Path, environment: dict[str, str]) -> None:
    """A node starts, takes a record, and gives it back. raises Failed"""
    with open(directory / "dev.log", "w") as log:
        node = subprocess.Popen(
            [headrace, "dev", "--port", "0", "--dir", str(directory / "dev")],
            cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        try:
            assert node.stdout is not None
            ready = node.stdout.readline()
            if not ready.startswith("ready "):
                raise Failed(f"headrace dev: {ready}{(directory / 'dev.log').read_text()[-1000:]}")
            bootstrap = ready.split("bootstrap=")[1].split()[0]
            server = ["-b", bootstrap]
            run([headrace, "topics", "create", TOPIC, *server], directory, environment, STEP_MAX_S)
            run([headrace, "produce", TOPIC, *server], directory, environment, STEP_MAX_S, RECORD + "\n")
            said = run([headrace, "consume", TOPIC, *server], directory, environment, STEP_MAX_S)
            if RECORD not in said.splitlines():
                raise Failed(f"headrace consume printed {said!r}")
        finally:
            node.send_signal(signal.SIGTERM)
            try:
                node.wait(STOP_MAX_S)
            except subprocess.TimeoutExpired:
                node.kill()
                node.wait()


def run(command: list[str], directory: Path, environment: dict[str, str], max_s: float, text: str = "") -> str:
    """What it prints. raises Failed"""
    try:
        done = subprocess.run(
            command, cwd=directory, env=environment, input=text, capture_output=True, text=True, timeout=max_s
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command)}: not done after {max_s:.0f} s") from None
    if done.returncode:
        raise Failed(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-1000:]}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pythons", nargs="+", metavar="VERSION=PATH", help="interpreters; default: those that are found"
    )
    parser.add_argument("--installs", nargs="+", choices=list(INSTALLS), default=list(INSTALLS))
    parser.add_argument("--compilers", nargs="+", choices=COMPILERS, default=list(COMPILERS))
    parser.add_argument("--cflags", default="")
    given = parser.parse_args()
    known = dict(one.split("=", 1) for one in given.pythons) if given.pythons else pythons(Path.home())
    for version in VERSIONS if not given.pythons else ():
        if version not in known:
            print(f"{version}: there is no such Python here", flush=True)
    failed = False
    for one in attempts(known, given.installs, given.compilers):
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="headrace-install-") as directory:
            try:
                said = attempt(one, Path(directory), given.cflags)
            except Failed as failure:
                said, failed = f"FAILED: {failure}", True
        print(f"{one.title}: {said}, in {time.monotonic() - started:.0f} s", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
