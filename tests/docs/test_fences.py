"""The pages' fenced blocks: each says what it is, and the walk through them sees a command that fails."""

import subprocess
from pathlib import Path

import pytest

from tests.docs.fences import BadFence, Fence, Walk, fences

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("page", ["README.md", "systemd/README.md", "docs/operations.md"])
def test_every_fence_of_a_page_says_what_it_is(page):
    assert fences((ROOT / page).read_text())


def test_a_fence_that_says_nothing_is_refused():
    with pytest.raises(BadFence, match="line 2"):
        fences("words\n```\nls\n```\n")


def test_fences_come_in_order_with_their_lines():
    page = "a\n```sh\nls\necho b\n```\nc\n```text\nd\n```\n"
    assert fences(page) == [Fence(2, ("sh",), "ls\necho b\n"), Fence(7, ("text",), "d\n")]


@pytest.mark.process
def test_a_command_that_fails_ends_the_walk_whatever_follows_it(tmp_path):
    with pytest.raises(BadFence, match="exit 1"):
        Walk(tmp_path).run(Fence(1, ("sh",), "false\ntrue\n"))


@pytest.mark.process
def test_a_server_is_waited_for_and_ended(tmp_path):
    walk = Walk(tmp_path)
    walk.run(Fence(1, ("sh", "server"), "echo $$ > pid; echo ready here; exec sleep 1000\n"))
    walk.run(Fence(2, ("sh",), "kill -0 $(cat pid)\n"))
    walk.close()
    assert subprocess.run(["kill", "-0", (tmp_path / "pid").read_text().strip()], stderr=subprocess.DEVNULL).returncode


@pytest.mark.process
def test_a_server_that_never_serves_is_a_failure(tmp_path):
    walk = Walk(tmp_path)
    with pytest.raises(BadFence, match="ready"):
        walk.run(Fence(1, ("sh", "server"), "echo nothing\n"))
    walk.close()
