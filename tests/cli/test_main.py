"""The command line from outside: what it prints, how it ends, what it costs to start."""

import gc
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headrace import __version__
from headrace.cli import main as cli_main
from headrace.node.log_dirs import LogDirs

pytestmark = pytest.mark.process

COMMANDS = [
    "dev",
    "start",
    "demo",
    "dump-log",
    "verify",
    "import-07",
    "produce",
    "consume",
    "settings",
    "systemd-files",
    "version",
    *(f"topics {name}" for name in ("create", "list", "describe", "alter", "delete")),
    "load",
    *(f"load {name}" for name in ("audit", "compact", "rewind")),
    *(f"groups {name}" for name in ("list", "describe", "reset-offsets", "delete")),
]
HEAVY = (
    "asyncio", "confluent_kafka", "kazoo", "msgspec", "numpy", "pyarrow", "pyspark",
    "headrace.client", "headrace.protocol", "headrace.shm.fabric", "headrace.spark",
)  # fmt: skip


def headrace(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli.main", *arguments],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "120", "NO_COLOR": "1", **environment},
    )


def test_help_names_every_command():
    done = headrace("--help")
    assert done.returncode == 0
    assert all(f" {command} " in done.stdout for command in {name.split()[0] for name in COMMANDS})


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_an_example(command):
    done = headrace(*command.split(), "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert f"headrace {command}" in done.stdout.partition("Example")[2]


def test_help_imports_nothing_heavy():
    program = (
        "import sys; sys.argv = ['headrace', '--help']\n"
        "from headrace.cli.main import main\n"
        "main()\n"
        f"print('heavy', *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == "heavy\n"


@pytest.mark.parametrize("arguments", [("groups", "describe", b"g\xff"), ("produce", "t", "-H", b"a=\xff")])
def test_an_argument_that_is_not_utf8_is_named(arguments):
    done = headrace(*arguments, LC_ALL="C.UTF-8")
    assert (done.returncode, done.stdout) == (2, "")
    assert "\\udcff' is neither UTF-8 nor an existing file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_version_is_the_packages():
    done = headrace("version")
    assert done.returncode == 0
    assert done.stdout.startswith(f"headrace {__version__} (Python 3.")


def test_what_everybody_tries_first_works():
    assert headrace("-h").stdout == headrace("--help").stdout
    assert "Usage: headrace topics" in headrace("topics", "-h").stdout
    assert headrace("--version").stdout == headrace("version").stdout


def test_the_environment_says_where_the_brokers_are_and_the_option_wins():
    environment = {"HEADRACE_BOOTSTRAP_SERVERS": "elsewhere:0"}
    assert "'elsewhere:0'" in headrace("topics", "list", **environment).stderr
    for option in ("-b", "--bootstrap-server", "--bootstrap-servers"):
        assert "'here:0'" in headrace("topics", "list", option, "here:0", **environment).stderr
    help_text = headrace("topics", "list", "--help").stdout
    assert "HEADRACE_BOOTSTRAP_SERVERS" in help_text


def test_the_shell_completes():
    done = headrace(_HEADRACE_COMPLETE="complete_bash", COMP_WORDS="headrace gr", COMP_CWORD="1")
    assert done.stdout.strip() == "groups"


@pytest.mark.parametrize(
    ("closing", "arguments", "exit_code", "stdout", "stderr"),
    [
        (">&-", "version", 1, "", "headrace: standard output is closed"),
        (">&-", "bogus", 2, "", "bogus"),
        ("2>&-", "bogus", 2, "", ""),
        ("2>&-", "version", 0, "headrace ", ""),
        ("<&- 2>&-", "topics list -b 127.0.0.1:1", 1, "", ""),
        ("<&- >&- 2>&-", "version", 1, "", ""),
        (">/dev/full", "version", 1, "", "No space left"),
    ],
)
def test_a_closed_stream_is_no_traceback_and_nothing_takes_its_place(closing, arguments, exit_code, stdout, stderr):
    command = f"{shlex.quote(sys.executable)} -m headrace.cli.main {arguments} {closing}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == exit_code
    assert done.stdout.startswith(stdout)
    assert bool(done.stdout) == bool(stdout)
    assert stderr in done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) == bool(stderr)


@pytest.mark.parametrize(
    ("arguments", "exit_code", "complaint"),
    [
        (["start", "nowhere.properties"], 78, "headrace: invalid value 'nowhere.properties' for FILE: No such file"),
        (["dev", "--set", "broker.id=x"], 78, "headrace: invalid value 'x' for broker.id: must be a whole number"),
        (
            ["dev", "--set", "nonsense"],
            78,
            "headrace: invalid value 'nonsense' for --set: must have the form key=value",
        ),
        (["dev", "--port", "99999"], 2, "--port"),
        (["topics", "list", "-b", "127.0.0.1:99999"], 2, "'127.0.0.1:99999': ports are 1 to 65535"),
        (["produce", "t", "-K", ""], 2, "is empty"),
        (["dev", "--bogus"], 2, "--bogus"),
        (["bogus"], 2, "bogus"),
        (["start"], 2, "FILE.properties"),
    ],
)
def test_errors_go_to_standard_error_with_their_code(arguments, exit_code, complaint):
    done = headrace(*arguments)
    assert done.returncode == exit_code
    assert complaint in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_log_level_that_does_not_exist_is_refused(tmp_path):
    done = headrace("dev", "--dir", str(tmp_path), HEADRACE_LOG_LEVEL="LOUD")
    assert done.returncode == 78
    assert "HEADRACE_LOG_LEVEL" in done.stderr


def test_what_is_missing_is_named_without_a_value_that_nobody_gave(tmp_path):
    (tmp_path / "zookeeper" / "data").mkdir(parents=True)  # of Apache's: the small one in Python does not read it
    done = headrace("dev", "--dir", str(tmp_path), "--port", "0", PATH="/nowhere")
    assert "java: the embedded ZooKeeper needs Java" in done.stderr
    assert "None" not in done.stderr


@pytest.mark.usefixtures("root_logger_as_before")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_file_that_may_not_be_read_is_a_setting_that_cannot_be_used(monkeypatch, capfd):
    """As one that is missing: the unit does not start it again."""
    monkeypatch.setattr(sys, "argv", ["headrace", "start", "nowhere.properties"])
    assert cli_main.main() == 78, "and everything is imported: nobody else may be able to read it"
    assert gc.isenabled(), "a process that did not become a node collects its garbage again"
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        file = Path(directory) / "server.properties"
        file.touch(mode=0)
        monkeypatch.setattr(sys, "argv", ["headrace", "start", str(file)])
        pid = os.fork()
        if not pid:
            code = 99
            try:
                os.setresuid(65534, 65534, 65534)
                code = cli_main.main()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 78
    assert f"'{file}' for FILE: Permission denied" in capfd.readouterr().err


def test_what_somebody_else_holds_ends_with_1_and_a_text_with_78(tmp_path):
    """The unit starts a node again that ended with 1, and leaves one with 78 alone."""
    file = tmp_path / "server.properties"
    file.write_text(f"broker.id=1\nlog.dirs={tmp_path / 'logs'}\n")
    predecessor = LogDirs([tmp_path / "logs"])
    predecessor.lock()
    try:
        done = headrace("start", str(file))
    finally:
        predecessor.unlock()
    assert (done.returncode, done.stdout) == (1, "")
    assert f"in use by pid {os.getpid()}: stop it first" in done.stderr
    file.write_text("broker.id=1\nlog.dirs=\n")
    assert headrace("start", str(file)).returncode == 78


def test_a_demo_without_its_libraries_says_what_to_install_and_starts_nothing():
    program = "import sys; sys.modules['confluent_kafka'] = None; from headrace.cli.main import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program, "demo"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("headrace: the demo needs confluent_kafka: pip install 'headrace[spark,demo]'")
