"""Which deaths were ours, which process ends by itself, which does so again and again."""

from tests.chaos.node_log import LOOP_DEATHS, NodeLog


def death(pid, role="partition-0", how="signal=9 (Killed)"):
    return f"2026-11-22 WARNING process died role={role} pid={pid} {how} lived_ms=12 restarts=1 generation=2 restart_in_ms=0"


def test_a_process_that_we_killed_is_no_fault_of_the_node(tmp_path):
    log = NodeLog(tmp_path / "node.log")
    log.killed.add(5)
    log.take(death(5))
    assert not log.deaths
    assert log.looping is None


def test_a_process_that_died_by_itself_is_told(tmp_path):
    log = NodeLog(tmp_path / "node.log")
    log.take(death(5, how="exit_code=1"))
    assert len(log.deaths) == 1
    assert log.looping is None


def test_deaths_in_a_row_are_a_crash_loop(tmp_path):
    log = NodeLog(tmp_path / "node.log")
    for pid in range(LOOP_DEATHS - 1):
        log.take(death(pid))
        log.take(death(100 + pid, role="controller"))
    log.killed.add(50)
    log.take(death(50))  # ours: the row begins anew
    log.take(death(51))
    assert log.looping is None
    log.take(death(200, role="controller"))
    assert log.looping == "controller"


def test_a_life_in_which_a_process_died_is_told_from_one_in_which_none_did(tmp_path):
    log = NodeLog(tmp_path / "node.log")
    serves = "2026-11-22 INFO [1] headrace.node.supervisor: serving bootstrap=127.0.0.1:9 processes=4"
    seen = []
    for line in (
        death(1),
        serves,
        "WARNING process did not stop cleanly role=hr-partition-0 exit_code=1",
        death(2),
        serves,
    ):
        log.take(line)
        seen.append(log.has_losses)
    log.take("WARNING process did not stop cleanly role=hr-network-0 signal=9 (Killed)")
    assert [*seen, log.has_losses] == [True, False, False, True, False, True]


def test_a_process_that_hung_is_told_once(tmp_path):
    log = NodeLog(tmp_path / "node.log")
    log.take("ERROR process hung, killed role=network-0 pid=7 timeout_ms=30000")
    log.take(death(7, role="network-0"))
    assert len(log.deaths) == 1


def test_a_log_is_read_on_from_where_it_was_left(tmp_path):
    log = NodeLog(tmp_path / "node.log")
    log.look()  # not there yet
    text = f"{death(1)}\n{death(2)}"
    log.path.write_text(text[:-10])
    log.look()
    assert len(log.deaths) == 1
    log.path.write_text(f"{text}\n")
    log.look()
    assert len(log.deaths) == 2


def test_a_traceback_is_told_by_its_last_line_and_its_place(tmp_path):
    log = NodeLog(tmp_path / "node.log")
    log.path.write_text(
        'INFO fine\nTraceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
        '  File "b.py", line 2, in g\n    raise KeyError(1)\nKeyError: 1\nINFO fine\n'
    )
    log.look()
    assert log.tracebacks == ['KeyError: 1 at File "b.py", line 2, in g']
