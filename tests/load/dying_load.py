"""A load in a process of its own that dies at a step: for targets whose library does not survive a fork.

python -m tests.load.dying_load BROKER TARGET STEP
"""

import os
import subprocess
import sys
from types import SimpleNamespace

from headrace.load.targets import open_target
from tests.load.loading import DIED, load_inline
from tests.support.tree import ROOT


def load_and_die(broker, to, step):
    """Whether it came to the step, and died there without a last word."""
    command = [sys.executable, "-m", "tests.load.dying_load", broker.address, to, step]
    return subprocess.run(command, cwd=ROOT).returncode == DIED


def main():
    address, to, step = sys.argv[1:]
    target = open_target(to, lambda name: os._exit(DIED) if name == step else None)
    load_inline(SimpleNamespace(address=address), target)


if __name__ == "__main__":
    main()
