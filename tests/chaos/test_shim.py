"""What processes are shown of the machine: another date by pid, a slow disk; names that a crash may bring back."""

import os
import random
import subprocess
import sys
import time

import pytest

from tests.chaos.shim import EVERY, Shim, why_no_shim

pytestmark = [pytest.mark.process, pytest.mark.skipif(bool(why_no_shim()), reason=why_no_shim())]
OFFSET_S = -3600


class Always(random.Random):
    def random(self):
        return 0.0


@pytest.fixture
def shim(tmp_path):
    return Shim(tmp_path, tmp_path)


def run(shim, program):
    done = subprocess.run([sys.executable, "-c", program], env=shim.environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


def test_the_date_is_another_one_and_the_steady_clock_goes_on(shim):
    program = "import time; print(time.time(), time.monotonic())"
    for offsets, off_s in (({EVERY: OFFSET_S}, OFFSET_S), ({1: OFFSET_S}, 0), ({}, 0)):
        shim.step_clocks(offsets)
        date_s, steady_s = map(float, run(shim, program).split())
        assert abs(date_s - time.time() - off_s) < 60
        assert abs(steady_s - time.monotonic()) < 60


def test_a_process_that_was_forked_goes_by_its_own_row(shim):
    program = """import os, time, sys
here, there = os.pipe()
pid = os.fork()
if not pid:
    while not open(os.environ["CHAOS_TABLE"], "rb").read(8).strip(b"\\0"): time.sleep(0.01)
    os.write(there, str(time.time()).encode()); os._exit(0)
table = open(os.environ["CHAOS_TABLE"], "r+b"); table.write(pid.to_bytes(8, "little") + (5000).to_bytes(8, "little")); table.close()
print(float(os.read(here, 99)) - time.time()); os.waitpid(pid, 0)"""
    assert abs(float(run(shim, program)) - 5000) < 60


def test_files_of_a_word_open_and_are_written_slowly(shim, tmp_path):
    program = f"""import time
for name in ("fast", "slow"):
    began = time.monotonic(); file = open("{tmp_path}/" + name, "wb", buffering=0); opened = time.monotonic()
    file.write(b"x"); print(opened - began, time.monotonic() - opened)"""
    shim.slow_down(open_us=200_000, open_word="/slow", write_us=300_000, write_word="/slow")
    fast, slow = run(shim, program).splitlines()
    assert all(float(text) < 0.1 for text in fast.split())
    opened, wrote = map(float, slow.split())
    assert opened >= 0.2
    assert wrote >= 0.3


def test_a_name_that_nobody_synced_comes_back(shim, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / "x").mkdir(parents=True)
    program = f"""import os
for name in ("a", "b"):
    os.rename(f"{tmp_path}/{{name}}/x", f"{tmp_path}/{{name}}/x-delete")
directory = os.open("{tmp_path}/b", os.O_RDONLY); os.fsync(directory)"""
    run(shim, program)
    assert shim.unsynced_names() == [(tmp_path / "a" / "x", tmp_path / "a" / "x-delete")]
    assert shim.undo_names(Always()) == [tmp_path / "a" / "x"]
    assert (tmp_path / "a" / "x").is_dir()
    assert (tmp_path / "b" / "x-delete").is_dir()
    assert not shim.unsynced_names()


def test_a_name_that_was_taken_since_does_not_come_back(shim, tmp_path):
    (tmp_path / "x").mkdir()
    run(shim, f"import os; os.rename('{tmp_path}/x', '{tmp_path}/y'); os.mkdir('{tmp_path}/x')")
    assert not shim.undo_names(Always())
    assert os.listdir(tmp_path / "x") == []
