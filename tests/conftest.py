"""What all tests share: a node that is started as a user would, and stopped by pid."""

from tests.support import pure_form  # isort: skip  # noqa: F401 - before anything of headrace

import contextlib
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest

from tests.support import children
from tests.support.process_watch import FOLDERS, WATCH
from tests.support.spark_python import JVM
from tests.support.waiting import wait_until

# Spark's JVMs live for a minute or two: a third of their CPU time went into code of the optimizing compiler
for _options in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ.setdefault(_options, JVM)

TESTS = Path(__file__).resolve().parent
SLOW_FOLDERS = ("load/",)  # tables of PyIceberg and deltalake, some tenths of a second an operation
# They take one session, and its JVM, which starts for ten seconds and is slow for twenty more: so they run in one shard
OF_ONE_SESSION = (
    "spark/test_datasource.py",
    "spark/test_examples.py",
    "spark/test_stream_reader.py",
    "spark/test_executor_python.py",
    "spark/test_stream.py",
    "spark/test_scan.py",
    "spark/test_sink.py",
    "spark/test_sink_attempt.py",
    "spark/test_batch_sink.py",
    "spark/test_query_progress.py",
    "spark/test_aggregate.py",
    "spark/test_decoding.py",
    "spark/test_guide.py",
    "spark/test_parquet.py",
    "spark/decoding/test_ddl.py",
    "load/test_spark_table.py",
)
LONG_FILES = (  # the longest first
    *OF_ONE_SESSION,
    "chaos/test_sink_campaign.py",
    "spark/test_job_script.py",
    "chaos/test_cluster_campaign.py",
    "e2e/test_compaction_under_load.py",
    "e2e/test_faults.py",
    "controller/test_process.py",
    "e2e/test_heavy_requests.py",
    "e2e/test_three_nodes.py",
    "e2e/test_verify_running.py",
    "e2e/test_log_directories.py",
    "e2e/test_record_deletion.py",
    "e2e/test_followers.py",
    "log/writing/test_truncation.py",
    "log/writing/test_disk_faults.py",
    "e2e/test_whole_stops.py",
    "chaos/test_load_campaign.py",
    "e2e/test_hostile_frames.py",
    "e2e/test_restored_zookeeper.py",
    "log/compaction/test_compaction.py",
    "e2e/test_clients.py",
    "e2e/test_old_clients.py",
    "e2e/test_our_client.py",
    "e2e/test_connection_churn.py",
    "e2e/test_group_clients.py",
    "e2e/test_set_clock.py",
    "log/compaction/test_million_keys.py",
    "log/recovery/test_damage.py",
    "e2e/test_group_faults.py",
    "e2e/test_old_inter_broker.py",
    "protocol/test_record_kernel.py",
    "arrow/test_pushdown.py",
)
CAMPAIGNS = (
    "interop",
    "chaos",
    "scenario",
    "systemd",
    "heavy",
)  # markers of what `make test` leaves out: all start processes

hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")


def pytest_configure():
    WATCH.install()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """A test without the marker `process` starts none: `make test-quick` runs it."""
    WATCH.watch(item.nodeid if item.get_closest_marker("process") is None else None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    result = yield
    assert WATCH.complaint() is None, WATCH.complaint()
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown():
    WATCH.watch(None)


def pytest_sessionstart(session):
    """SIGTERM is a Ctrl-C: fixtures are taken down, and nodes and regions go with them."""
    tests = os.getpid()

    def interrupt(_number, _frame):
        if os.getpid() != tests:
            os._exit(128 + signal.SIGTERM)  # a fork that has no handler of its own
        session.shouldstop = "SIGTERM"  # a client's callback may swallow what is raised
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    for number in (signal.SIGINT, signal.SIGHUP):  # a shell's `&` and nohup ignore them, in what we start as well
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules and items stay to the end: the collector need not look at them, neither while they come nor ever after."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what is marked by folder, and put files that take tens of seconds first.

    Shards take whole files, and none shall begin a long one at the end.
    """
    for item in items:
        path = item.path.relative_to(TESTS).as_posix()
        is_marked = any(item.get_closest_marker(name) for name in CAMPAIGNS)
        if is_marked or path.startswith(FOLDERS) or path in OF_ONE_SESSION:
            item.add_marker("process")
        if path.startswith(SLOW_FOLDERS):
            item.add_marker("slow")
    places = {TESTS / name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Whole files to a shard, and to one of them all that share a Spark session."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "one Spark session" if file.removeprefix("tests/") in OF_ONE_SESSION else file

    return Scheduling(config, log)


@pytest.fixture(scope="module", autouse=True)
def _no_thread_outlives_its_module():
    """What one test leaves running another one meets: in a patched name, in a count of descriptors, in a fork."""
    before = set(threading.enumerate())
    yield

    def left():
        return [one for one in threading.enumerate() if one not in before and not _is_of_others(one)]

    wait_until(lambda: not left(), lambda: f"threads left: {left()}")


def _is_of_others(thread):
    """A session of Spark is for all tests, and its gateway's threads for the rest of the process. Threads of native code (Polars) that
    called Python once are known as dummies from then on."""
    if isinstance(thread, threading._DummyThread):
        return True
    target = getattr(thread, "_target", None)
    modules = (type(thread).__module__, type(getattr(target, "__self__", None)).__module__)
    return any(name.partition(".")[0] in ("py4j", "pyspark") for name in modules)


@dataclass
class RunningNode:
    """A `headrace dev` in a directory of its own."""

    bootstrap: str
    zookeeper: str
    log_dir: Path
    directory: Path
    process: subprocess.Popen

    @property
    def address(self):
        host, _, port = self.bootstrap.rpartition(":")
        return host, int(port)

    def pids(self):
        """Pids of the node's processes by name (hr-network-0, ...), but for those that are just coming or going."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = {}
        for pid in path.read_text().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found[Path(f"/proc/{pid}/comm").read_text().strip()] = int(pid)
        return found

    def pid(self, name):
        """The pid of a process, which may be starting again."""
        return wait_until(lambda: self.pids().get(name), f"there is no {name}")

    def kill(self, name):
        os.kill(self.pid(name), signal.SIGKILL)

    def stop(self):
        code = children.end(self.process)
        self.process.stdout.close()
        return code


def start_node(directory, *settings, nodes=None, port=0):
    """Start a node, or `nodes` of them; their log is `node.log` in the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "headrace.cli.main", "dev", "--dir", str(directory), "--port", str(port)]
    if nodes is not None:
        command += ["--nodes", str(nodes)]
    for setting in settings:
        command += ["--set", setting]
    with open(directory / "node.log", "a") as log:
        process = children.start(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("ready "), f"node did not start: {(directory / 'node.log').read_text()[-3000:]}"
    except BaseException:
        children.end(process)
        raise
    words = dict(word.split("=", 1) for word in line.split()[1:])
    return RunningNode(words["bootstrap"], words["zookeeper"], Path(words["dir"]) / "logs", directory, process)


@pytest.fixture(scope="session")
def node(tmp_path_factory):
    """One node for all tests that only need some node."""
    running = start_node(
        tmp_path_factory.mktemp("node"),
        "headrace.network.workers=2",
        "headrace.partition.workers=2",
        "group.initial.rebalance.delay.ms=100",
        "offsets.topic.num.partitions=4",
        f"log.retention.check.interval.ms={24 * 3_600_000}",  # many a test writes records of 2023
    )
    yield running
    running.stop()


@pytest.fixture
def node_factory(tmp_path):
    """Start nodes of one's own: `node_factory("a", "log.segment.bytes=100000")`."""
    running = []

    def start(name="node", *settings):
        running.append(start_node(tmp_path / name, *settings))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture(scope="session", params=["headrace", pytest.param("kafka", marks=pytest.mark.interop)])
def group_server(request):
    """host:port of what coordinates groups: the node of all tests, and Apache Kafka."""
    if request.param == "headrace":
        yield request.getfixturevalue("node").bootstrap
        return
    from bench.nodes import Kafka

    directory = request.getfixturevalue("tmp_path_factory").mktemp("group-server")
    server = Kafka(directory / "kafka", {"offsets.topic.num.partitions": "3"})
    try:
        server.start()
        yield server.bootstrap
    finally:
        server.stop()


@pytest.fixture
def root_logger_as_before():
    """For tests that set logging up: handlers and level come back behind them."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
