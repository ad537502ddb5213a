"""What a Python suite said of its tests, and where its tests come from, without any suite."""

import subprocess

import pytest

from tests.foreign.python_suite import extract, outcomes
from tests.foreign.suite import FAILED, PASSED, SKIPPED, NotBrought

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a.TestA" name="test_passes"/>
<testcase classname="tests.test_a.TestA" name="test_fails"><failure message="no  such\ntopic"/></testcase>
<testcase classname="tests.test_a.TestA" name="test_fails"><error message="failed on teardown"/></testcase>
<testcase classname="tests.test_a.TestA" name="test_leaves"/>
<testcase classname="tests.test_a.TestA" name="test_leaves"><error message="failed on teardown"/></testcase>
<testcase classname="tests.test_b" name="test_skips[x]"><skipped message="needs a TLS listener"/></testcase>
</testsuite></testsuites>"""


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    folder = tmp_path / "someone+client" / "repo"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "conftest.py").write_text("# theirs\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "a release")
    git(folder, "tag", "v1")
    monkeypatch.setenv("FOREIGN_SOURCES", str(tmp_path))
    return folder


def test_each_test_of_a_report_has_one_outcome_and_the_first_reason():
    assert outcomes(REPORT, "tests.") == [
        ("test_a.TestA.test_passes", PASSED, ""),
        ("test_a.TestA.test_fails", FAILED, "no such topic"),
        ("test_a.TestA.test_leaves", FAILED, "failed on teardown"),
        ("test_b.test_skips[x]", SKIPPED, "needs a TLS listener"),
    ]


def test_tests_of_a_clone_are_those_of_the_tag(clone, tmp_path):
    (clone / "tests" / "conftest.py").write_text("# edited since\n")
    extract("someone/client", "v1", ("tests",), tmp_path / "source")
    assert (tmp_path / "source" / "tests" / "conftest.py").read_text() == "# theirs\n"


def test_a_tag_that_is_not_in_the_clone_is_named(clone, tmp_path):
    with pytest.raises(NotBrought, match=r"no tests at v2"):
        extract("someone/client", "v2", ("tests",), tmp_path / "source")


def test_where_there_is_no_clone_the_place_for_one_is_named(clone, tmp_path):
    with pytest.raises(NotBrought, match=r"put a clone of github\.com/someone/other at .*sources/other"):
        extract("someone/other", "v1", ("tests",), tmp_path / "source")
