"""A Python that has Spark Connect's packages beside this project: a virtual environment in the user's cache, made once.

The project's own environment goes without them: nothing of it needs Connect.
"""

import hashlib
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

PACKAGES = ("grpcio>=1.76", "grpcio-status>=1.76", "googleapis-common-protos>=1.71", "zstandard>=0.25")
PROJECT = "zz_headrace.pth"
INSTALL_S = 600


def connect_python() -> Path:
    """Its interpreter. raises   CalledProcessError, TimeoutExpired, where it can't be made"""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "headrace" / f"spark-connect-{hashlib.blake2b(sys.prefix.encode(), digest_size=4).hexdigest()}"
    python, done = home / "bin" / "python", home / "installed"
    if not done.exists():
        venv.create(home, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True, timeout=INSTALL_S)
        own = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
        (own / PROJECT).write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        done.write_text("\n".join(PACKAGES))
    return python
