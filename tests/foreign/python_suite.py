"""A suite of a Python client, in a virtual environment of its own, with Headrace installed beside it as a user installs it.

    build/foreign/SUITE/venv       the suite's own pins, and Headrace (editable, pins of constraints.txt)
    build/foreign/SUITE/source     the suite; one line at the end of its conftest.py takes our fixtures in the place of its own

The suite's fixtures start Docker containers. Ours (`fixtures/foreign_fixtures/`) start nodes by `headrace.testing` (PEER=testing), or take
the addresses of brokers that run already. They also leave out tests that need no broker.

Where a source distribution has no tests, they come from a clone of the repository at the same version: `build/foreign/sources/NAME`, or
NAME or OWNER+NAME/repo in the folder that FOREIGN_SOURCES names. Only `git archive` reads it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from subprocess import run
from typing import ClassVar

from tests.foreign.suite import (
    BUILD,
    FAILED,
    PASSED,
    ROOT,
    SKIPPED,
    TESTING,
    Broker,
    NotBrought,
    Outcome,
    Suite,
    brought,
    shortened,
    watched,
)

FIXTURES = Path(__file__).with_name("fixtures")
TEST_S = 300  # of one test; the suites' own waits end before
INSTALLED = ".installed"  # what the virtual environment was made of


class PythonSuite(Suite):
    """One suite that pytest runs."""

    peers: ClassVar[tuple[str, ...]] = ("headrace", TESTING, "kafka")
    packages: ClassVar[tuple[str, ...]] = ()  # with their versions
    tests = "tests"  # what pytest is given
    options: ClassVar[tuple[str, ...]] = ()
    fixtures = ""  # our module, taken in by the suite's conftest.py
    prefix = "tests."  # of modules, not shown

    @property
    def source(self) -> Path:
        return self.folder / "source"

    def bring(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.source / self.tests).is_dir():
            self.bring_source()
            conftest = self.source / self.tests / "conftest.py"
            conftest.write_text(f"{conftest.read_text()}\n\nfrom {self.fixtures} import *  # noqa\n")
        self._install()

    @abstractmethod
    def bring_source(self) -> None:
        """Make `source`. raises NotBrought"""

    def run(self, broker: Broker, output: Path) -> list[Outcome]:
        report = output.with_suffix(".xml")
        report.unlink(missing_ok=True)
        command = [str(self._python), "-m", "pytest", self.tests, "-p", "no:cacheprovider", *self.options]
        command += [f"--timeout={TEST_S}", "--timeout-method=signal", f"--junitxml={report}"]
        watched(command, self.source, output, self.deadline_s, self.environment(broker))
        return outcomes(report.read_text(), self.prefix) if report.exists() else [Outcome("all", FAILED, "no report")]

    def environment(self, broker: Broker) -> Mapping[str, str]:
        """What our fixtures and the suite read."""
        return {
            "FOREIGN_PEER": broker.peer,
            "FOREIGN_BOOTSTRAP": " ".join(filter(None, (broker.bootstrap, *broker.apart))),
            "FOREIGN_NODES": str(broker.count),
            "FOREIGN_SETTINGS": json.dumps(broker.settings),
            "PYTHONPATH": os.pathsep.join((str(FIXTURES), str(self.source))),
        }

    @property
    def _python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def _install(self) -> None:
        """raises   NotBrought"""
        mark, wanted = self.folder / "venv" / INSTALLED, f"{ROOT}\n{' '.join(self.packages)}\n"
        if mark.exists() and mark.read_text() == wanted:
            return
        brought([sys.executable, "-m", "venv", "--clear", "venv"], self.folder)
        pip = [str(self._python), "-m", "pip", "install", "--quiet"]
        brought([*pip, "--constraint", str(ROOT / "constraints.txt"), "--editable", str(ROOT)], self.folder)
        brought([*pip, *self.packages], self.folder)
        mark.write_text(wanted)


def unpack(package: str, version: str, target: Path) -> None:
    """A source distribution from PyPI. raises NotBrought"""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        brought([*command, f"{package}=={version}"], Path(folder))
        [path] = Path(folder).glob("*.tar.gz")
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
        shutil.rmtree(target, ignore_errors=True)
        Path(folder, path.name.removesuffix(".tar.gz")).rename(target)


def extract(repository: str, tag: str, paths: tuple[str, ...], target: Path) -> None:
    """Some paths of a clone at a tag.

    repository   OWNER/NAME
    raises       NotBrought, where there is no clone, or no such tag or path in it
    """
    owner, name = repository.split("/")
    folders = [BUILD / "sources" / name]
    if given := os.environ.get("FOREIGN_SOURCES"):
        folders += [Path(given) / name, Path(given) / f"{owner}+{name}" / "repo"]
    clone = next((folder for folder in folders if folder.is_dir()), None)
    if clone is None:
        raise NotBrought(
            f"its source distribution has no tests: put a clone of github.com/{repository} at {folders[0]}"
        )
    done = run(["git", "-C", str(clone), "archive", tag, *paths], capture_output=True)
    if done.returncode:
        raise NotBrought(f"{clone}: no {' '.join(paths)} at {tag}: {shortened(done.stderr.decode(errors='replace'))}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(target, filter="data")


def outcomes(report: str, prefix: str) -> list[Outcome]:
    """What a JUnit report says. A test that passed and could not be torn down has failed."""
    found: dict[str, Outcome] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        test = f"{(case.get('classname') or '').removeprefix(prefix)}.{case.get('name')}"
        failure = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        if failure is not None:
            if test in found and found[test].result == FAILED:
                continue  # it could not be torn down either
            found[test] = Outcome(test, FAILED, shortened(failure.get("message") or failure.text or ""))
        elif skipped is not None:
            found.setdefault(test, Outcome(test, SKIPPED, shortened(skipped.get("message") or "")))
        else:
            found.setdefault(test, Outcome(test, PASSED))
    return list(found.values())
