"""Where the rings may run."""

import platform

import pytest

from headrace.errors import ConfigError
from headrace.shm import fence as fence_module
from headrace.shm.fence import check_machine, fence
from tests.support.altered import altered


def test_a_fence_may_be_taken_again_and_again():
    for _ in range(1_000):
        fence()


def test_this_machine_is_accepted():
    check_machine()


@pytest.mark.parametrize("machine", ["aarch64", "riscv64", "i686", "ppc64le", ""])
def test_other_machines_are_refused_with_their_name(machine, monkeypatch):
    monkeypatch.setattr(fence_module, "platform", altered(platform, machine=lambda: machine))
    with pytest.raises(ConfigError, match=rf"{machine}.*memory order of x86-64"):
        check_machine()
