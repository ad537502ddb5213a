"""A lost page is one that was not synced; what lies below the recovery point stays."""

import random

import pytest

from headrace.log.state.checkpoints import RECOVERY_POINT_FILE
from headrace.protocol.record_batch import build_batch
from tests.chaos.lossy_disk import lose_names, lose_unsynced
from tests.chaos.machine_crash import PAGE_BYTES, position_of

BATCHES = 60


@pytest.fixture
def log_dir(tmp_path):
    directory = tmp_path / "t-0"
    directory.mkdir()
    for base in (0, BATCHES):
        batches = [build_batch([(None, bytes(1000))], base_offset=base + number) for number in range(BATCHES)]
        (directory / f"{base:020d}.log").write_bytes(b"".join(batches))
    return tmp_path


@pytest.mark.parametrize("seed", range(20))
def test_only_what_was_not_synced_is_lost(log_dir, seed):
    point = BATCHES + 20
    (log_dir / RECOVERY_POINT_FILE).write_text(f"0\n1\nt 0 {point}\n")
    files = sorted((log_dir / "t-0").iterdir())
    before = [path.read_bytes() for path in files]
    synced = position_of(files[1], point)
    damaged = lose_unsynced([log_dir], random.Random(seed))
    assert all(path.exists() for path in files), "their names are older than the recovery point"
    after = [path.read_bytes() for path in files]
    assert after[0] == before[0]
    assert after[1][:synced] == before[1][:synced]
    assert damaged == (after[1] != before[1])
    for number in range(0, len(before[1]), PAGE_BYTES):
        was, page = (one[1][number : number + PAGE_BYTES] for one in (before, after))
        assert page == was or not any(page)  # zeroes, or nothing


def test_without_a_checkpoint_any_file_may_lose_something(log_dir):
    files = sorted((log_dir / "t-0").iterdir())
    before = [path.read_bytes() for path in files]
    hit = set()
    for seed in range(30):
        lose_unsynced([log_dir], random.Random(seed))
        for path, kept in zip(files, before, strict=True):
            hit |= {path} if not path.exists() or path.read_bytes() != kept else set()
            path.write_bytes(kept)
    assert hit == set(files)


@pytest.mark.parametrize("seed", range(10))
def test_what_is_known_to_be_synced_stays_whatever_the_checkpoint_says(log_dir, seed):
    files = sorted((log_dir / "t-0").iterdir())
    before = [path.read_bytes() for path in files]
    lose_unsynced([log_dir], random.Random(seed), {"t-0": 2 * BATCHES})
    assert [path.read_bytes() for path in files] == before


def test_a_log_that_was_not_opened_since_the_last_loss_stays_as_it_is(log_dir):
    path = min((log_dir / "t-0").iterdir())
    path.write_bytes(bytes(PAGE_BYTES) + path.read_bytes()[PAGE_BYTES:])
    kept = path.read_bytes()
    for seed in range(10):
        lose_unsynced([log_dir], random.Random(seed))
        assert path.read_bytes() == kept


def test_names_that_came_after_the_recovery_point_may_be_gone_the_last_ones_first(log_dir):
    directory = log_dir / "t-0"
    bases = [base * BATCHES for base in range(5)]
    seen = set()
    for seed in range(60):
        for base in bases:
            for suffix in (".log", ".index"):
                (directory / f"{base:020d}{suffix}").write_bytes(b"x")
        (directory / f"{4 * BATCHES:020d}.snapshot").write_bytes(b"x")
        lose_names(directory, 2 * BATCHES, random.Random(seed))
        left = [int(path.stem) for path in sorted(directory.glob("*.log"))]
        assert left == bases[: len(left)]
        assert len(left) >= 3
        indexes = {int(path.stem) for path in directory.glob("*.index")}
        assert set(bases[:3]) <= indexes <= set(left)
        seen.add((len(left), indexes == set(left), any(directory.glob("*.snapshot"))))
    assert {count for count, _, _ in seen} == {3, 4, 5}
    assert len(seen) > 6
