"""A systemd of its own around the host's /usr: `systemd-nspawn --boot` over a tree of a few files.

Needs root and systemd-nspawn, no network and no image. The network is the host's, so that ZooKeeper and the ports are ours to
give and to take. /opt holds the Python that runs the tests, its packages and this repository, read-only:

    /opt/python     the interpreter              /opt/headrace   a virtual environment made by hand
    /opt/source     the repository               /data           where a second disk would be mounted

A bare machine has only the interpreter, and a fresh clone of the repository with the wheels that pip needs for it:

    ~/headrace      the clone                    ~/wheels        headrace's dependencies, built outside
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.support import children
from tests.support.waiting import wait_until

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# The interpreter's own library may lie where it was built, which the machine does not have.
PROGRAM = """#!/bin/sh
LD_LIBRARY_PATH=/opt/python/lib exec /opt/headrace/bin/python /opt/headrace/bin/headrace.py "$@"
"""
SCRIPT = """import sys
sys.path.insert(0, "/opt/source/build/typing")
from headrace.cli.main import main
sys.exit(main())
"""
HOME = "/root"
CLONE = f"{HOME}/headrace"
WHEELS = f"{HOME}/wheels"
MASKED = ("systemd-firstboot.service", "systemd-logind.service", "systemd-resolved.service", "systemd-networkd.service")


def why_not():
    """Why no machine can run here; '' where one can be tried."""
    if os.geteuid():
        return "needs root"
    missing = [name for name in ("systemd-nspawn", "nsenter", "java") if shutil.which(name) is None]
    if missing or not Path("/usr/lib/systemd/systemd").exists():
        return f"not installed: {' '.join(missing) or 'systemd'}"
    return ""


class Machine:
    """One booted systemd; `run` is a command inside of it."""

    def __init__(self, directory):
        self.root = directory / "root"
        self._log = directory / "boot.log"
        self._directory = directory
        self._process = None
        self._leader = 0

    def prepare(self):
        """A tree with what takes the place of an installation."""
        self._plant()
        subprocess.run(["make", "--no-print-directory", "links"], cwd=REPOSITORY, check=True)
        headrace = self.root / "opt/headrace"
        (headrace / "bin").mkdir(parents=True)
        (headrace / "bin/python").symlink_to(f"/opt/python/bin/{_python()}")
        (headrace / "bin/headrace").write_text(PROGRAM)
        (headrace / "bin/headrace").chmod(0o755)
        (headrace / "bin/headrace.py").write_text(SCRIPT)
        (headrace / "pyvenv.cfg").write_text("home = /opt/python/bin\n")
        packages = headrace / "lib" / _python() / "site-packages"
        packages.mkdir(parents=True)
        self._bind(sysconfig.get_path("purelib"), f"/{packages.relative_to(self.root)}")
        self._bind(REPOSITORY, "/opt/source")

    def prepare_bare(self):
        """A tree with nothing of ours but a fresh clone, and wheels: pip in there needs no network and no configuration."""
        self._plant()
        subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(self.root / CLONE[1:])], check=True)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "-w", str(self.root / WHEELS[1:])]
        subprocess.run([*pip, "-c", "constraints.txt", ".", "setuptools"], cwd=self.root / CLONE[1:], check=True)
        (self.root / "etc/ld.so.conf").write_text("/opt/python/lib\n")

    def walker(self):
        """A command that runs what follows it inside, in the clone, with the environment of a login."""
        environment = [f"HOME={HOME}", "PATH=/opt/python/bin:/usr/sbin:/usr/bin", "LANG=C.UTF-8"]
        pip = ["PIP_NO_INDEX=1", f"PIP_FIND_LINKS={WHEELS}"]
        return [*self._enter(), "env", "--ignore-environment", f"--chdir={CLONE}", *environment, *pip]

    def _plant(self):
        """A tree in which systemd boots, with the host's /usr and the interpreter."""
        self._binds = []
        for name in ("etc/systemd/system", "var", "run", "root", "tmp", "dev", "proc", "sys", "usr", "data"):
            (self.root / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64", "sbin"):
            (self.root / name).symlink_to(f"usr/{name}")
        shutil.copy("/etc/os-release", self.root / "etc/os-release")
        for name in MASKED:
            (self.root / "etc/systemd/system" / name).symlink_to("/dev/null")
        self._bind("/usr", "/usr")
        self._bind(sys.base_prefix, "/opt/python")

    def _bind(self, source, target):
        (self.root / target[1:]).mkdir(parents=True, exist_ok=True)
        self._binds.append(f"--bind-ro={source}:{target}")

    def boots(self):
        """Whether systemd comes up, whatever of it fails in so small a tree."""
        command = ["systemd-nspawn", "--boot", "--quiet", "--register=no", "--keep-unit", "--console=pipe"]
        with open(self._log, "ab") as log:
            self._process = children.start(
                [*command, "--directory", str(self.root), *self._binds],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(lambda: self._find_leader() or self._process.poll() is not None, self.boot_log)
        if self._process.poll() is not None:
            return False
        wait_until(self._is_up, self.boot_log)
        return True

    def run(self, *command):
        return subprocess.run([*self._enter(), *command], capture_output=True, text=True)

    def check(self, *command):
        done = self.run(*command)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}\n{self.journal()}"
        return done.stdout

    def show(self, prop, unit="headrace"):
        return self.run("systemctl", "show", "--value", "--property", prop, unit).stdout.strip()

    def journal(self, unit="headrace"):
        return self.run("journalctl", "--unit", unit, "--no-pager", "--output", "cat").stdout

    def write(self, path, text, mode=0o644):
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def stop(self):
        """An orderly end, and a hard one where that does not help; nothing of it outlives this call."""
        if self._process is not None:
            children.end(self._process)
            self._process = None

    def boot_log(self):
        return self._log.read_text(errors="replace")[-3000:]

    def _enter(self):
        return ["nsenter", "--target", str(self._leader), "--all"]

    def _is_up(self):
        return self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")

    def _find_leader(self):
        for thread in Path(f"/proc/{self._process.pid}/task").iterdir():
            for pid in (thread / "children").read_text().split():
                if Path(f"/proc/{pid}/comm").read_text().strip() == "systemd":
                    self._leader = int(pid)
        return self._leader


def _python():
    return f"python{sys.version_info.major}.{sys.version_info.minor}"
