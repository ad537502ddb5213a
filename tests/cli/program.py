"""The program against a node: run inside of the test's process, as fast as that is, or as a process of its own."""

import io
import os
import subprocess
import sys
import tempfile
from types import SimpleNamespace
from unittest import mock

from headrace.cli.main import main
from tests.support import children


class Program:
    """`headrace` with a node's address in its arguments; none for commands that talk to no node."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self._started = []

    def __call__(self, *arguments, stdin=b"", exit_code=0):
        """standard output of a run that ends as expected"""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == exit_code, (done.stdout[-1000:], done.stderr.decode()[-2000:])
        return done.stdout

    def fails(self, *arguments, stdin=b"", exit_code=1):
        """standard error of a run that fails as expected"""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == exit_code, (done.stdout[-1000:], done.stderr.decode()[-2000:])
        return " ".join(done.stderr.decode().replace("│", " ").split())

    def run(self, *arguments, stdin=b""):
        """Standard streams are replaced, everything else is the program's own."""
        streams = [io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2)]
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            with (
                mock.patch.object(sys, "argv", ["headrace", *arguments, *self._servers()]),
                mock.patch.object(sys, "stdin", io.TextIOWrapper(file)),
                mock.patch.object(sys, "stdout", streams[0]),
                mock.patch.object(sys, "stderr", streams[1]),
                mock.patch.dict(os.environ, COLUMNS="200", NO_COLOR="1"),
            ):
                code = main()
        stdout, stderr = (stream.buffer.getvalue() for stream in streams)
        return SimpleNamespace(returncode=code, stdout=stdout, stderr=stderr)

    def _servers(self):
        return ["--bootstrap-servers", self.bootstrap] if self.bootstrap else []

    def command(self, *arguments):
        return [sys.executable, "-m", "headrace.cli.main", *arguments, "--bootstrap-servers", self.bootstrap]

    def start(self, *arguments, stdout=subprocess.PIPE):
        """A process that goes on: for signals, and for what comes and goes meanwhile."""
        pipe = subprocess.PIPE
        self._started.append(children.start(self.command(*arguments), stdin=pipe, stdout=stdout, stderr=pipe))
        return self._started[-1]

    def close(self):
        """End what still runs of the processes that were started."""
        for process in self._started:
            children.end(process)
