"""The generated files are what the schema and the settings say, and one command makes them so again."""

import sys

import pytest

from tests.support.tree import SOURCES, is_generated
from tools import generate

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def made():
    return generate.generated()


def test_every_generated_file_is_what_the_schema_says(made):
    assert not generate.differing(made)


def test_a_generated_file_says_so_and_no_other_does(made):
    said = {
        path.relative_to(generate.ROOT).as_posix()
        for folder in SOURCES
        for path in (generate.ROOT / folder).rglob("*.py")
        if is_generated(path)
    }
    assert said == set(made)


def test_an_edited_a_missing_and_a_forgotten_file_are_found_and_mended(made, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "generated", lambda: made)
    monkeypatch.setattr(sys, "argv", ["generate"])
    for folder in ("protocol", "headrace"):
        (tmp_path / folder).mkdir()
    assert generate.main() == 0
    assert len(capsys.readouterr().out.splitlines()) == len(made)
    edited, missing = "protocol/messages/fetch_request.py", "protocol/encoders/fetch_response.py"
    forgotten, kept = "protocol/decoders/no_such_request.py", "protocol/decoders/__init__.py"
    (tmp_path / edited).write_text("")
    (tmp_path / missing).unlink()
    (tmp_path / forgotten).touch()
    (tmp_path / kept).touch()
    monkeypatch.setattr(sys, "argv", ["generate", "--check"])
    assert generate.main() == 1
    printed = capsys.readouterr().err
    assert all(f"{name} is not what the schema" in printed for name in (edited, missing, forgotten))
    assert len(printed.splitlines()) == 3
    monkeypatch.setattr(sys, "argv", ["generate"])
    assert generate.main() == 0
    monkeypatch.setattr(sys, "argv", ["generate", "--check"])
    assert generate.main() == 0
    assert not (tmp_path / forgotten).exists()
    assert (tmp_path / kept).exists()
