"""What `tools.draw_texts` finds in a source, and that a seed draws the same texts again."""

import subprocess
import sys

import pytest

from tools import draw_texts

SOURCE = '''"""Not a text: a docstring."""

import logging

_log = logging.getLogger(__name__)
app = None


@app.command()
def move(path):
    """Move a log directory."""
    _log.warning("log directory moved path=%s", path)
    if not path:
        raise ValueError(f"path {path!r}: expected an absolute path")
    parser.add_argument("--to", help="where to move it")
    return "a longer sentence of output" if path else "too short"
'''


@pytest.fixture
def found(tmp_path, monkeypatch):
    monkeypatch.setattr(draw_texts, "ROOT", tmp_path)
    (tmp_path / "source.py").write_text(SOURCE)
    return draw_texts.texts(["source.py"])


def test_every_kind_of_text_is_found_with_its_place(found):
    assert found == [
        ("source.py:11", "help", "Move a log directory."),
        ("source.py:12", "log", "log directory moved path=%s"),
        ("source.py:14", "error", "path {path}: expected an absolute path"),
        ("source.py:15", "help", "where to move it"),
        ("source.py:16", "text", "a longer sentence of output"),
    ]


@pytest.mark.process
def test_a_seed_draws_the_same_texts_again():
    def drawn(seed):
        command = [sys.executable, "-m", "tools.draw_texts", "--count", "5", "--seed", seed, "--kind", "help"]
        return subprocess.run(command, cwd=draw_texts.ROOT, check=True, capture_output=True, text=True).stdout

    first = drawn("1")
    assert first.count("  help\n") == 5
    assert first == drawn("1") != drawn("2")
