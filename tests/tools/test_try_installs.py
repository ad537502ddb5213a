"""What `make installs` tries: each combination once, and a failure that says which step it was."""

import sys

import pytest

from tools.try_installs import Failed, attempts, path_without, pythons, run


def test_each_python_is_tried_with_each_install_and_each_compiler():
    tried = list(attempts({"3.11": "a", "3.13": "b"}, ["wheel", "editable"], ["cc", "no-cc"]))
    assert len({one.title for one in tried}) == len(tried) == 8
    assert tried[0].title == "3.11 wheel cc"
    assert {one.python for one in tried if one.version == "3.13"} == {"b"}


def test_a_python_that_is_missing_is_not_made_up(tmp_path):
    (tmp_path / ".pyenv/versions/3.13.0/bin").mkdir(parents=True)
    (tmp_path / ".pyenv/versions/3.13.0/bin/python").touch()
    on_path = {"python3.12": "/bin/python3.12", "python3.13": "/shims/python3.13"}.get
    assert pythons(tmp_path, on_path) == {
        "3.12": "/bin/python3.12",
        "3.13": str(tmp_path / ".pyenv/versions/3.13.0/bin/python"),
    }


def test_a_path_without_a_program_keeps_the_other_folders(monkeypatch, tmp_path):
    (tmp_path / "java").touch()
    monkeypatch.setenv("PATH", f"/one:{tmp_path}:/two")
    assert path_without("java") == "/one:/two"


@pytest.mark.process
def test_a_step_that_fails_or_takes_too_long_is_named(tmp_path):
    with pytest.raises(Failed, match="ended with 3: wrong"):
        run([sys.executable, "-c", "import sys; sys.stderr.write('wrong'); sys.exit(3)"], tmp_path, {}, 60)
    with pytest.raises(Failed, match="not done after 0 s"):
        run([sys.executable, "-c", "input()"], tmp_path, {}, 0.0)
