"""An expiry, a deletion or a vacuum in a process of its own that dies at a step: for targets whose library does not survive a fork.

python -m tests.load.dying_upkeep TARGET STEP OPERATION ARGUMENT
"""

import os
import subprocess
import sys

from headrace.load.deleting import delete
from headrace.load.expiring import expire
from headrace.load.targets import open_target
from headrace.load.vacuuming import vacuum
from tests.load.loading import DIED
from tests.support.tree import ROOT

OPERATIONS = {
    "delete": delete,
    "expire": lambda target, seconds: expire(target, float(seconds)),
    "vacuum": lambda target, seconds: vacuum(target, float(seconds), force=True),
}


def upkeep_and_die(to, step, operation, argument, **environment):
    """Whether it came to the step, and died there without a last word."""
    command = [sys.executable, "-m", "tests.load.dying_upkeep", to, step, operation, str(argument)]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment).returncode == DIED


def main():
    to, step, operation, argument = sys.argv[1:]
    target = open_target(to, lambda name: os._exit(DIED) if name == step else None)
    OPERATIONS[operation](target, argument)


if __name__ == "__main__":
    main()
