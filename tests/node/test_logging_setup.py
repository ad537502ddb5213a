"""Log lines as they arrive."""

import io
import logging
import os
import sys

import pytest

from headrace.errors import ConfigError
from headrace.node.logging_setup import JournalFormatter, set_up_logging

pytestmark = pytest.mark.usefixtures("root_logger_as_before")


def test_a_record_is_one_line_whatever_is_in_it():
    stream = io.StringIO()
    set_up_logging(stream=stream)
    logging.getLogger("headrace.x").warning("frame refused peer=%s", "evil\nERROR forged\r\n")
    assert stream.getvalue().count("\n") == 1
    expected = f"WARNING [{os.getpid()}] headrace.x: frame refused peer=evil\\nERROR forged\\r\\n\n"
    assert stream.getvalue().endswith(expected)


def test_the_level_comes_from_the_environment_unless_it_is_given(monkeypatch):
    monkeypatch.setenv("HEADRACE_LOG_LEVEL", "warning")
    set_up_logging(stream=io.StringIO())
    assert logging.getLogger().level == logging.WARNING
    set_up_logging("debug", stream=io.StringIO())
    assert logging.getLogger().level == logging.DEBUG


def test_a_level_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("HEADRACE_LOG_LEVEL", "LOUD")
    with pytest.raises(ConfigError, match="invalid value 'LOUD' for HEADRACE_LOG_LEVEL: must be one of DEBUG"):
        set_up_logging()


def test_the_journal_gets_priorities_and_no_time(tmp_path, monkeypatch):
    with open(tmp_path / "journal", "w") as stream:
        found = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{found.st_dev}:{found.st_ino}")
        set_up_logging(stream=stream)
        logging.getLogger("headrace.x").error("disk failed path=%s", "d")
    assert (tmp_path / "journal").read_text() == "<3>headrace.x: disk failed path=d\n"


def test_a_stream_that_is_not_the_journal_gets_the_time(tmp_path, monkeypatch):
    monkeypatch.setenv("JOURNAL_STREAM", "1:1")
    with open(tmp_path / "terminal", "w") as stream:
        set_up_logging(stream=stream)
        logging.getLogger("headrace.x").info("served")
    assert " INFO [" in (tmp_path / "terminal").read_text()


def test_every_line_of_a_traceback_has_the_priority():
    try:
        raise ValueError("why")
    except ValueError:
        record = logging.LogRecord("headrace.x", logging.ERROR, "", 1, "it failed", (), sys.exc_info())
    lines = JournalFormatter("%(message)s").format(record).splitlines()
    assert len(lines) > 2
    assert all(line.startswith("<3>") for line in lines)


def test_what_unicode_takes_for_the_end_of_a_line_is_none_of_the_journals():
    group = "g\x0b\x0c\x1c\x85\u2028<0>forged"
    record = logging.LogRecord("headrace.x", logging.INFO, "", 1, "rebalance group=%s", (group,), None)
    assert JournalFormatter("%(message)s").format(record) == f"<6>rebalance group={group}"
