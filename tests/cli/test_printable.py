"""What others chose as names reaches no terminal as it is; what people read stays readable."""

import pytest

from headrace.cli.printable import print_line, printable
from headrace.cli.table import print_table
from headrace.cli.topics import report
from headrace.errors import ErrorCode, KafkaError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("billing", "billing"),
        ("größe 東京", "größe 東京"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("größe\x07", "größe\\x07"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\x9b31m\x7f\0", "\\x9b31m\\x7f\\x00"),
        ("\udc80", "\\udc80"),
    ],
)
def test_a_name_is_one_line_that_moves_no_cursor(text, shown, capsys):
    assert printable(text) == shown
    print_line(f"group {text}")
    print_line(text, is_error=True)
    assert capsys.readouterr() == (f"group {shown}\n", f"{shown}\n")


def test_columns_and_outcomes_are_escaped(capsys):
    print_table(["GROUP"], [["evil\x1b]0;title\x07\nsecond"]])
    report(
        {"evil\n\x1b[31m": None, "other": KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, "group \x1b[0m\n is missing")},
        "deleted",
    )
    out, error = capsys.readouterr()
    assert out == "GROUP\nevil\\x1b]0;title\\x07\\nsecond\ndeleted evil\\n\\x1b[31m\n"
    assert "\x1b" not in error
    assert "\\x1b[0m\\n is missing" in error
