"""Where leader epochs ended, as Apache Kafka 3.9 answers it (`bench/probe_reference.py` asks both)."""

import pytest

from headrace.log.disk import Disk
from headrace.log.state.checkpoints import LEADER_EPOCH_FILE, BadCheckpoint, read_leader_epochs, write_leader_epochs
from headrace.log.state.leader_epochs import EpochWentBack, LeaderEpochs, end_offset_for

ENTRIES = [(2, 10), (4, 30), (5, 30), (9, 100)]
END = 120


@pytest.mark.parametrize(
    ("epoch", "found"),
    [
        (-1, (-1, -1)),
        (-5, (-5, 10)),
        (0, (0, 10)),
        (2, (2, 30)),
        (3, (2, 30)),
        (4, (4, 30)),
        (5, (5, 100)),
        (8, (5, 100)),
        (9, (9, END)),
        (10, (-1, -1)),
    ],
)
def test_an_epoch_ends_where_the_next_known_one_begins(epoch, found):
    assert end_offset_for(ENTRIES, epoch, END) == found


def test_nothing_is_known_of_a_log_without_epochs():
    assert end_offset_for([], 3, END) == (-1, -1)


def test_an_epoch_in_which_nothing_was_written_gives_way(tmp_path):
    epochs = LeaderEpochs(tmp_path, Disk())
    assert epochs.assign(1, 0)
    assert epochs.assign(2, 50)
    assert epochs.assign(3, 50)
    assert not epochs.assign(3, 60)
    with pytest.raises(EpochWentBack, match="leader epoch 2 is below 3"):
        epochs.assign(2, 60)
    assert epochs.entries == [(1, 0), (3, 50)]
    assert LeaderEpochs(tmp_path, Disk()).entries == [(1, 0), (3, 50)]


@pytest.mark.parametrize(("end", "kept"), [(1000, 4), (101, 4), (100, 3), (31, 3), (30, 1), (10, 0), (0, 0)])
def test_a_new_end_forgets_the_epochs_that_began_there_or_later(tmp_path, end, kept):
    epochs = LeaderEpochs(tmp_path, Disk())
    epochs.replace(ENTRIES)
    epochs.truncate_from_end(end)
    assert epochs.entries == ENTRIES[:kept]
    assert LeaderEpochs(tmp_path, Disk()).entries == ENTRIES[:kept]


def test_a_file_that_was_cut_short_is_never_taken_for_a_whole_one(tmp_path):
    """It is written without a sync: a power loss may leave any of its first bytes."""
    path = tmp_path / LEADER_EPOCH_FILE
    write_leader_epochs(path, [(8, 0), (9, 149)])
    data = path.read_bytes()
    for size in range(1, len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(BadCheckpoint):
            read_leader_epochs(path)
        assert LeaderEpochs(tmp_path, Disk()).is_lost
