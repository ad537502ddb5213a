"""What the shipped unit promises, read from its text; `test_unit.py` tries it under a systemd."""

import configparser
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent.parent / "systemd"


@pytest.fixture
def unit():
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str
    parser.read(FOLDER / "headrace.service")
    return parser


def test_the_unit_says_what_the_world_may_do_to_it(unit):
    """It is started again for as long as it takes, but for a text that is wrong; one worker that was taken is not all of them."""
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    service = unit["Service"]
    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"] == "78"
    assert service["OOMPolicy"] == "continue"
    assert service["ExecReload"].endswith("-HUP $MAINPID")


def test_the_one_writable_place_has_a_drop_in_for_others(unit):
    assert unit["Service"]["ProtectSystem"] == "strict"
    assert "ReadWritePaths=" in (FOLDER / "headrace.service.d/data-disks.conf").read_text()
