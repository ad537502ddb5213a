"""Stubs are written where type checkers look, and only when they change."""

import shutil
from pathlib import Path

from tests.support.write_stubs import STUBS, write_stubs

ROOT = Path(__file__).parent.parent


def test_stubs_that_are_right_are_not_written_again(tmp_path):
    for name in STUBS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / (name if "/" in name else f"headrace/{name}"), tmp_path / name)
    write_stubs(tmp_path)
    paths = sorted(tmp_path.rglob("*.pyi"))
    assert [path.name for path in paths] == ["codec.pyi", "messages.pyi", "settings.pyi"]
    texts = [path.read_text() for path in paths]
    before = [path.stat().st_mtime_ns for path in paths]
    paths[0].write_text("stale")
    write_stubs(tmp_path)
    assert [path.read_text() for path in paths] == texts
    assert [path.stat().st_mtime_ns for path in paths[1:]] == before[1:]
