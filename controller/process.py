"""The controller process: the ZooKeeper session, the admin rings, the cluster view.

Runs in: one process, forked by the supervisor; it serves no client and no data, so its death costs nobody a
record. A duty cycle:

    ZooKeeper events -> admin rings -> answers that wait for rows -> deletions -> park on the doorbell

Exit code 78 (EX_CONFIG) means that a restart won't help: no ZooKeeper at the start, another cluster's log
directory, a taken broker id.
"""

from __future__ import annotations

import logging
import select
import signal
from collections.abc import Callable
from pathlib import Path

from headrace.clock import Clock, SystemClock
from headrace.controller import meta_properties, registration, znodes
from headrace.controller.admin import a19_create_topics, a20_delete_topics, a22_init_producer_id
from headrace.controller.cluster import Cluster
from headrace.controller.office import Office
from headrace.controller.waiting import Waiting
from headrace.controller.zk import (
    CHANGED,
    SESSION_BACK,
    SESSION_FILE,
    SESSION_LOST,
    ZkError,
    ZkLost,
    ZkSession,
)
from headrace.errors import BadFrame, ConfigError, Fenced, HeadraceError
from headrace.limits import IDLE_WAIT_MAX_MS
from headrace.protocol.apis import ApiKey
from headrace.shm.messages import ADMIN, ADMIN_HEADER, ADMIN_RESULT, ADMIN_RESULT_HEADER
from headrace.shm.process_table import ProcessState
from headrace.shm.seat import Seat

EXIT_CLEAN = 0
EXIT_FAILED = 1
EXIT_CONFIG = 78
REQUESTS_PER_CYCLE_MAX = 64
WAITING_MAX = 10_000
WAIT_LOOK_MS = 1  # between two looks at the rows an answer waits for

Handler = Callable[[Office, int, memoryview], Waiting]
HANDLERS: dict[int, Handler] = {
    ApiKey.CREATE_TOPICS: a19_create_topics.handle,
    ApiKey.DELETE_TOPICS: a20_delete_topics.handle,
    ApiKey.INIT_PRODUCER_ID: a22_init_producer_id.handle,
}

_log = logging.getLogger(__name__)


class ControllerProcess:
    """One controller process's state and its duty cycle."""

    def __init__(self, seat: Seat, clock: Clock) -> None:
        assert seat.view_writer is not None
        settings = seat.wiring.settings
        self._seat = seat
        self._clock = clock
        self._settings = settings
        self._node_id = settings["broker.id"]
        session_file = Path(settings["log.dirs"][0]) / SESSION_FILE
        self.zk = ZkSession(
            settings["zookeeper.connect"],
            settings["zookeeper.session.timeout.ms"],
            session_file,
            seat.doorbell.force,
        )
        self._cluster = Cluster(self._node_id, seat.view_writer, settings["headrace.partitions.max"])
        self._office = Office(seat, self.zk, self._cluster, clock.now_ms)
        # (process id of the network worker, its request id, answer in the making)
        self._waiting: list[tuple[int, int, Waiting]] = []
        self._answers: list[tuple[int, bytes, bytes]] = []  # that found their ring full
        self._session_id = 0

    def start(self) -> None:
        """Connect, compare the cluster, register, load, publish.

        raises   ConfigError or ZkLost, where the node can't be a part of the cluster
        """
        self._beat()
        self.zk.start(self._settings["zookeeper.connection.timeout.ms"] / 1000)
        self._join()
        self._seat.set_state(ProcessState.READY)

    def do_work(self) -> int:
        """One cycle; 0 lets the loop sleep."""
        self._beat()
        for process_id in self._seat.changed():
            self._waiting = [entry for entry in self._waiting if entry[0] != process_id]
            self._answers = [entry for entry in self._answers if entry[0] != process_id]
        done = self._take_events()
        done += self._take_requests()
        done += self._poll_waiting()
        try:
            if self._office.has_deletions:
                done += self._office.work_on_deletions()
        except ZkError as failure:
            _log.warning("deletion waits for ZooKeeper reason=%s", failure)
        return done + self._send_answers()

    def sleep_bound_ms(self) -> int:
        return WAIT_LOOK_MS if self._waiting or self._office.has_deletions or self._answers else IDLE_WAIT_MAX_MS

    def stop(self) -> None:
        """End the session; the node's ephemeral nodes go with it."""
        self.zk.stop()

    def _beat(self) -> None:
        self._seat.beat(self._clock.monotonic_ns())

    def _join(self) -> None:
        """Everything that a new session needs."""
        zk, wiring = self.zk, self._seat.wiring
        for path in znodes.PERSISTENT_PATHS:
            zk.ensure(path)
        cluster_id = registration.cluster_id(zk)
        for log_dir in self._settings["log.dirs"]:
            meta_properties.check_or_write(Path(log_dir), cluster_id, self._node_id)
        wait_s = self._settings["zookeeper.session.timeout.ms"] / 1000 + 2
        registration.register(zk, self._node_id, wiring.host, wiring.port, self._settings["broker.rack"], wait_s)
        self._session_id = zk.session_id
        self._cluster.cluster_id = cluster_id
        self._office.load()
        _log.info(
            "joined cluster id=%s node=%d controller=%d topics=%d session=0x%x",
            cluster_id,
            self._node_id,
            self._cluster.controller_id,
            len(self._cluster.topics),
            zk.session_id,
        )

    def _take_events(self) -> int:
        events = self.zk.events
        changed: dict[str, None] = {}
        done = 0
        while events:
            event = events.popleft()
            done += 1
            if event.kind == CHANGED:
                changed[event.path] = None
            elif event.kind == SESSION_LOST:
                _log.warning("ZooKeeper session lost session=0x%x", self._session_id)
                self._office.election.resign()
            elif event.kind == SESSION_BACK and self.zk.session_id != self._session_id:
                self._rejoin()
                changed.clear()
        for path in changed:
            try:
                self._office.react(path)
            except (ZkError, HeadraceError) as failure:
                _log.warning("change not followed path=%s reason=%s", path, failure)
        return done

    def _rejoin(self) -> None:
        """The session expired and a new one began: nothing of the old one counts."""
        try:
            self.zk.save_session()
            self._join()
        except ZkLost as failure:
            _log.warning("session began, but the cluster was not read reason=%s", failure)

    def _take_requests(self) -> int:
        done = 0
        for process_id, reader in self._seat.readers.items():
            if len(self._waiting) >= WAITING_MAX:
                return done
            messages = reader.poll(REQUESTS_PER_CYCLE_MAX)
            for kind, body in messages:
                assert kind == ADMIN, kind
                request_id, api_key, version = ADMIN_HEADER.unpack_from(body)
                try:
                    waiting = HANDLERS[api_key](self._office, version, body[ADMIN_HEADER.size :])
                    self._waiting.append((process_id, request_id, waiting))
                except (BadFrame, ZkError) as failure:
                    # no answer is right: an empty one makes the network worker close the connection
                    _log.warning("admin request failed api=%s reason=%s", ApiKey(api_key).name, failure)
                    self._answers.append((process_id, ADMIN_RESULT_HEADER.pack(request_id), b""))
            if messages:
                reader.release()
                done += len(messages)
        return done

    def _poll_waiting(self) -> int:
        if not self._waiting:
            return 0
        now_ms = self._clock.now_ms()
        still = []
        for process_id, request_id, waiting in self._waiting:
            response = waiting.poll(now_ms)
            if response is None:
                still.append((process_id, request_id, waiting))
            else:
                self._answers.append((process_id, ADMIN_RESULT_HEADER.pack(request_id), response))
        done = len(self._waiting) - len(still)
        self._waiting = still
        return done

    def _send_answers(self) -> int:
        done = 0
        while self._answers:
            process_id, header, response = self._answers[0]
            writer = self._seat.writers[process_id]
            if len(header) + len(response) > writer.message_bytes_max:
                response = b""
            if not writer.write(ADMIN_RESULT, header, response):
                break
            writer.commit()
            self._seat.ring(process_id)
            self._answers.pop(0)
            done += 1
        return done


def run(seat: Seat, clock: Clock | None = None) -> int:
    """Work until SIGTERM."""
    stopping = False

    def stop(_signal: int, _frame: object) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process = ControllerProcess(seat, clock or SystemClock())
    try:
        process.start()
    except (ConfigError, ZkLost) as failure:
        key = "" if isinstance(failure, ConfigError) else "zookeeper.connect: "
        _log.error("node can't start: %s%s", key, failure)
        return EXIT_CONFIG if isinstance(failure, ConfigError) or seat.generation <= 1 else EXIT_FAILED
    poll = select.poll()
    poll.register(seat.doorbell.fd, select.POLLIN)
    doorbell = seat.doorbell
    try:
        while not stopping:
            if process.do_work():
                continue
            doorbell.park()
            if not process.do_work() and not stopping:
                poll.poll(process.sleep_bound_ms())
            doorbell.unpark()
        seat.set_state(ProcessState.DRAINING)
        process.stop()
        seat.set_state(ProcessState.STOPPED)
        return EXIT_CLEAN
    except Fenced as reason:
        _log.warning("controller process fenced reason=%s", reason)
        return EXIT_FAILED
