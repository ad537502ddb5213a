"""Kernels compile where nothing can be cached, and where only a temporary directory can.

Holds: arrow/warm.py
"""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from headrace.arrow.compiled import private_directory
from headrace.arrow.warm import warm
from headrace.spark import register, scan, write_parquet

ADD = "from headrace.arrow.compiled import compiled\n@compiled()\ndef add(a, b):\n    return a + b\nprint(add(2, 3))\n"
REFUSE = """
import errno, os, tempfile
real = tempfile.TemporaryFile
def refuse(*args, dir=None, **kwargs):
    if dir is None or not str(dir).startswith(os.environ["WRITABLE"]):
        raise OSError(errno.EROFS, "read-only")
    return real(*args, dir=dir, **kwargs)
tempfile.TemporaryFile = refuse
"""


def test_warming_sends_a_record_of_each_kind_through_the_kernels():
    assert warm() == 2


def test_kernels_are_compiled_here_once_before_any_worker_needs_them(monkeypatch, tmp_path):
    nobody = {"bootstrap_servers": "127.0.0.1:1"}
    readers = {
        register: "datasource",
        lambda spark: scan(spark, "t", **nobody): "scan",
        lambda spark: write_parquet(spark, "t", tmp_path / "out", **nobody): "scan",
    }
    for read, module in readers.items():
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules[f"headrace.spark.{module}"], "warm", lambda: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                read(SimpleNamespace())


@pytest.mark.parametrize("has_temporary", [True, False])
def test_a_kernel_compiles_where_numba_can_cache_nothing(tmp_path, has_temporary):
    """As in a container with a random user id: no home, sources that belong to somebody else."""
    module = tmp_path / "add.py"
    module.write_text(REFUSE + ADD)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    if not has_temporary:
        (temporary / f"headrace-numba-{os.getuid()}").write_text("somebody else's")
    environment = {**os.environ, "HOME": str(module), "TMPDIR": str(temporary), "WRITABLE": str(temporary)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, str(module)], capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr
    assert bool(list(temporary.rglob("*.nbc"))) == has_temporary


def test_a_directory_that_others_may_write_is_not_used(tmp_path):
    found = private_directory(tmp_path)
    assert found == tmp_path / f"headrace-numba-{os.getuid()}"
    assert found.stat().st_mode & 0o777 == 0o700
    found.chmod(0o770)
    assert private_directory(tmp_path) is None
    found.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    found.symlink_to(tmp_path / "elsewhere")
    assert private_directory(tmp_path) is None
    assert private_directory(tmp_path / "nowhere") is None
