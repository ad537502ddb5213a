"""kazoo's own suite, from its source distribution, on the ZooKeeper in Python and on Apache's: both fail the same tests.

The suite runs in a virtual environment of its own in the user's cache, made once. Left out are the tests of gevent, eventlet and SASL,
which are not about a server.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

from tests.support.tree import ROOT

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1800)]

VERSION = "2.11.0"
PACKAGES = ("pytest", "pytest-timeout", "objgraph", "pyopenssl", "pyjks")
LEFT_OUT = ("test_gevent_handler.py", "test_eventlet_handler.py", "test_sasl.py")
INSTALL_S, SUITE_S = 600, 1500
SERVERS = {
    "python": ("headrace.testing.zookeeper", "--ticks-max", "60", "--dir", "{directory}", "--port", "{port}"),
    "apache": ("tests.interop.apache_zookeeper", "{directory}", "{port}"),
}
# Tests that fail, the server on which they do (None: both, started as one server without TLS), and why
DIFFERENCES = {
    "test_client.py::TestClient::test_update_host_list": (None, "moves to a second server of an ensemble"),
    "test_connection.py::TestReadOnlyMode::test_read_only": (None, "stops two servers of an ensemble of three"),
    "test_client.py::TestSSLClient::test_create": (None, "TLS"),
    "test_client.py::TestReconfig::test_add_remove_observer": (None, "an ensemble is reconfigured"),
    "test_client.py::TestReconfig::test_bad_input": (None, "an ensemble is reconfigured"),
    "test_client.py::TestReconfig::test_no_super_auth": (None, "reconfiguration is not enabled"),
}


@pytest.fixture(scope="module")
def suite():
    """(interpreter, directory of the sources)."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = hashlib.blake2b(f"{VERSION} {PACKAGES} {sys.version}".encode(), digest_size=4).hexdigest()
    home = cache / "headrace" / f"kazoo-suite-{name}"
    python, sources = home / "bin" / "python", home / f"kazoo-{VERSION}"
    if not (home / "installed").exists():
        venv.create(home, clear=True, with_pip=True)
        pip = [python, "-m", "pip", "-q"]
        download = ["download", "--no-binary", "kazoo", "--no-deps", "-d", str(home), f"kazoo=={VERSION}"]
        subprocess.run([*pip, *download], check=True, timeout=INSTALL_S)
        archive = home / f"kazoo-{VERSION}.tar.gz"
        subprocess.run([*pip, "install", archive, *PACKAGES], check=True, timeout=INSTALL_S)
        with tarfile.open(archive) as packed:
            packed.extractall(home, filter="data")
        (home / "installed").touch()
    return python, sources


@pytest.mark.parametrize("server", list(SERVERS))
def test_kazoo_s_suite_fails_where_it_is_known_to(suite, server, tmp_path):
    if server == "apache" and shutil.which("java") is None:
        pytest.skip("no java on the PATH: Apache's ZooKeeper can't run")
    python, sources = suite
    shutil.copy(Path(__file__).parent / "kazoo_harness.py", tmp_path)
    # from the root, since `tests.interop` is imported from there
    command = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", *SERVERS[server]]
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "ZOOKEEPER_COMMAND": json.dumps(command),
        "ZOOKEEPER_VERSION": "3.9.3",
    }
    options = ["-q", "-o", "addopts=", "-o", "log_cli=false", "-p", "no:cacheprovider", "--color=no", "-rfE", "--tb=no"]
    ignored = [f"--ignore=kazoo/tests/{name}" for name in LEFT_OUT]
    done = subprocess.run(
        [python, "-m", "pytest", *options, "-p", "kazoo_harness", "--timeout=60", "kazoo/tests", *ignored],
        cwd=sources,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SUITE_S,
    )
    failed = set(re.findall(r"^(?:FAILED|ERROR) kazoo/tests/(\S+)", done.stdout, re.MULTILINE))
    known = {name for name, (where, _why) in DIFFERENCES.items() if where in (None, server)}
    assert " passed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
    assert failed == known
