import json
import stat

import pytest

from headrace.controller.zookeeper.session_file import SESSION_FILE, SessionFile, is_new, is_suspect, note_boot

FIRST, SECOND = (5, b"one"), (-7, b"two")


@pytest.fixture
def dirs(tmp_path):
    made = [tmp_path / "a", tmp_path / "b"]
    for one in made:
        one.mkdir()
    return made


def block(log_dir):
    """Nothing can be written there, not by root either: a directory stands where the temporary file would."""
    (log_dir / SESSION_FILE).with_suffix(".tmp").mkdir()


def test_a_session_is_kept_for_its_owner_alone_in_each_directory(dirs):
    assert SessionFile(dirs).read() is None
    assert SessionFile(dirs).write(FIRST)
    for one in dirs:
        assert stat.S_IMODE((one / SESSION_FILE).stat().st_mode) == 0o600
        assert SessionFile([one]).read() == FIRST


def test_a_directory_that_refuses_is_a_warning_and_another_one_is_used(dirs, caplog):
    file = SessionFile(dirs)
    file.write(FIRST)
    block(dirs[0])
    assert file.write(SECOND)
    assert file.write(FIRST)
    assert caplog.text.count("ZooKeeper session not saved") == 1
    assert SessionFile(dirs).read() == FIRST, "the latest, not the one in the first directory"
    successor = SessionFile(dirs)
    successor.read()
    assert successor.write(SECOND)
    assert SessionFile(dirs).read() == SECOND


@pytest.mark.parametrize("lost", ["blocked", "removed"])
def test_where_no_directory_takes_it_nothing_ends(dirs, caplog, lost):
    for one in dirs:
        block(one) if lost == "blocked" else one.rmdir()
    file = SessionFile(dirs)
    assert not file.write(FIRST)
    assert "WARNING" in caplog.text
    file.remove()


def test_a_session_that_is_over_is_forgotten_in_every_directory(dirs):
    for one in dirs:
        SessionFile([one]).write(FIRST)
    file = SessionFile(dirs)
    file.read()
    file.remove()
    assert SessionFile(dirs).read() is None
    block(dirs[0])
    file = SessionFile(dirs)
    file.read()
    file.write(SECOND)
    (dirs[0] / SESSION_FILE).with_suffix(".tmp").rmdir()
    block(dirs[1])
    file.remove()
    assert SessionFile(dirs).read() is None, "the file that could not be written is the older one"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"id": 5}',
        '{"id": 5, "password": "zz"}',
        "[" * 100_000,
        '{"id": 1e999, "password": ""}',
        "\xff",
        json.dumps({"id": 2**63, "password": "00"}),
        json.dumps({"id": 5, "password": "00" * 100}),
    ],
    ids=range(10),
)
def test_a_damaged_file_is_no_session(dirs, text):
    (dirs[0] / SESSION_FILE).write_bytes(text.encode("latin-1"))
    assert SessionFile(dirs).read() is None
    SessionFile(dirs[1:]).write(FIRST)
    assert SessionFile(dirs).read() == FIRST


def test_a_session_of_another_boot_is_told_apart(dirs):
    first = SessionFile(dirs, "boot-1")
    assert not first.is_of_this_boot
    first.write(FIRST)
    same, other, unknown = (SessionFile(dirs, boot) for boot in ("boot-1", "boot-2", ""))
    assert [one.read() for one in (same, other, unknown)] == [FIRST] * 3  # it was ours: what it left can be removed
    assert [one.is_of_this_boot for one in (same, other, unknown)] == [True, False, False]
    SessionFile(dirs, "").write(SECOND)
    nowhere = SessionFile(dirs, "")
    assert nowhere.read() == SECOND
    assert not nowhere.is_of_this_boot


def test_the_kernels_boot_id_is_the_default(dirs):
    SessionFile(dirs).write(FIRST)
    again = SessionFile(dirs)
    again.read()
    assert again.is_of_this_boot


def test_a_session_of_another_life_is_told_apart_until_that_life_has_begun(dirs):
    first = SessionFile(dirs, life="one")
    first.write(FIRST, has_begun=False)
    for life, has_begun, is_of_this_life in (("one", False, False), ("one", True, True), ("two", True, False)):
        first.write(FIRST, has_begun)
        again = SessionFile(dirs, life=life)
        assert again.read() == FIRST
        assert again.is_of_this_life is is_of_this_life


def boot_of(log_dir):
    return json.loads((log_dir / SESSION_FILE).read_text())["boot"]


def test_logs_that_were_not_closed_are_suspect_unless_they_are_of_this_boot(dirs):
    one = dirs[0]
    assert not is_suspect(one, False, "boot-1")  # there are none
    (one / "t-0").mkdir()
    assert is_suspect(one, False, "boot-1")
    assert not is_suspect(one, True, "boot-1")
    SessionFile(dirs, "boot-1").write(FIRST)
    assert [is_suspect(one, False, boot) for boot in ("boot-1", "boot-2", "")] == [False, True, True]


def test_a_suspect_directory_stays_so_until_the_life_has_begun(dirs):
    one, other = dirs
    for path in dirs:
        (path / "t-0").mkdir()
    file = SessionFile(dirs, "boot-1", life="one")
    file.write(FIRST)
    note_boot(one, is_suspect=True)
    assert (boot_of(one), boot_of(other)) == ("", "boot-1")
    assert SessionFile(dirs, "boot-1").read() == FIRST
    file.write(SECOND, has_begun=False)
    assert (boot_of(one), boot_of(other)) == ("", "boot-1")
    file.remove(has_begun=False)
    assert is_suspect(one, False, "boot-1")
    file.write(SECOND)
    assert not is_suspect(one, False, "boot-1")


def test_a_directory_is_new_as_long_as_it_never_had_logs(dirs):
    one = dirs[0]
    assert is_new(one)
    note_boot(one, is_suspect=False)
    assert is_new(one)
    (one / "t-0").mkdir()
    assert not is_new(one)
    SessionFile(dirs).write(FIRST)
    (one / "t-0").rmdir()
    assert not is_new(one)
