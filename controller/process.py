"""The controller process: the ZooKeeper session, the admin rings, the cluster view.

Runs in: one process, forked by the supervisor; it serves no client and no data, so its death costs nobody a
record. A duty cycle:

    session lost or new -> what changed in ZooKeeper -> admin rings -> answers that wait for rows -> deletions
    -> park on the doorbell

Whatever ZooKeeper does not answer is tried again later; meanwhile the node serves by the last view. Exit code
78 (EX_CONFIG) means that a restart won't help: no ZooKeeper at the node's first start, another cluster's log
directory, a taken broker id.
"""

from __future__ import annotations

import logging
import select
from collections.abc import Callable
from pathlib import Path

from headrace.clock import Clock, SystemClock
from headrace.controller import meta_properties, registration, znodes
from headrace.controller.admin import (
    a08_offset_commit,
    a09_offset_fetch,
    a19_create_topics,
    a20_delete_topics,
    a22_init_producer_id,
    a33_alter_configs,
    a37_create_partitions,
    a44_incremental_alter_configs,
)
from headrace.controller.cluster import Cluster
from headrace.controller.office import Office
from headrace.controller.waiting import Waiting
from headrace.controller.zk import SESSION_FILE, ZkError, ZkLost, ZkSession
from headrace.controller.znodes import BadZnode
from headrace.errors import BadFrame, ConfigError, Fenced, HeadraceError
from headrace.limits import ADMIN_RESPONSE_BYTES_MAX, IDLE_WAIT_MAX_MS
from headrace.protocol.apis import ApiKey
from headrace.shm.messages import ADMIN, ADMIN_HEADER, ADMIN_PART, ADMIN_RESULT, ADMIN_RESULT_HEADER
from headrace.shm.process_table import ProcessState
from headrace.shm.seat import Seat
from headrace.stop_flag import StopFlag

EXIT_CLEAN = 0
EXIT_FAILED = 1
EXIT_CONFIG = 78
REQUESTS_PER_CYCLE_MAX = 64
WAITING_MAX = 10_000
ANSWER_LOOK_MS = 1  # between two looks at the rows an answer waits for
DELETION_LOOK_MS = 20  # the same, where nobody waits
RETRY_MS = 200  # between two tries of what ZooKeeper did not answer
STALE_SESSION_EXTRA_S = 2  # ZooKeeper notices an expired session a tick late

assert ANSWER_LOOK_MS <= DELETION_LOOK_MS <= IDLE_WAIT_MAX_MS

Handler = Callable[[Office, int, memoryview], Waiting]
HANDLERS: dict[int, Handler] = {
    ApiKey.OFFSET_COMMIT: a08_offset_commit.handle,
    ApiKey.OFFSET_FETCH: a09_offset_fetch.handle,
    ApiKey.CREATE_TOPICS: a19_create_topics.handle,
    ApiKey.DELETE_TOPICS: a20_delete_topics.handle,
    ApiKey.INIT_PRODUCER_ID: a22_init_producer_id.handle,
    ApiKey.ALTER_CONFIGS: a33_alter_configs.handle,
    ApiKey.CREATE_PARTITIONS: a37_create_partitions.handle,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: a44_incremental_alter_configs.handle,
}

_log = logging.getLogger(__name__)


class Stopped(Exception):
    """SIGTERM came while the start waited for ZooKeeper."""


class ControllerProcess:
    """One controller process's state and its duty cycle.

    alive   called where something takes long; may raise Stopped
    """

    def __init__(self, seat: Seat, clock: Clock, alive: Callable[[], None]) -> None:
        assert seat.view_writer is not None
        settings = seat.wiring.settings
        self._seat = seat
        self._clock = clock
        self._alive = alive
        self._settings = settings
        self._node_id: int = settings["broker.id"]
        self._log_dirs = [Path(log_dir) for log_dir in seat.wiring.log_dirs]
        self._zk = ZkSession(
            settings["zookeeper.connect"],
            settings["zookeeper.session.timeout.ms"],
            self._log_dirs[0] / SESSION_FILE,
            seat.doorbell.force,
            self._beat,
        )
        self._cluster = Cluster(self._node_id, seat.view_writer, settings["headrace.partitions.max"])
        self._office = Office(seat, self._zk, self._cluster, clock.now_ms, self._monotonic_ms)
        self._session_id = 0  # of the session in which we joined, 0: not joined
        self._losses = 0
        self._changed: dict[str, None] = {}  # paths to look at
        self._retry_ns = 0  # not before this
        # (process id of the network worker, its request id, answer in the making)
        self._waiting: list[tuple[int, int, Waiting]] = []
        # (process id, kind, header, body); what found its ring full stays
        self._answers: list[tuple[int, int, bytes, bytes | memoryview]] = []

    def start(self) -> None:
        """Connect, and join the cluster.

        raises   ConfigError, where a restart won't help; ZkError, where ZooKeeper does not answer in time
        """
        timeout_ms = self._settings["zookeeper.connection.timeout.ms"]
        deadline_ns = self._clock.monotonic_ns() + timeout_ms * 1_000_000
        self._beat()
        self._zk.start(timeout_ms / 1000, self._beat)
        self._losses = self._zk.losses  # a session that could not be resumed counts as one
        while True:
            try:
                self._join()
                break
            except ZkError:
                if self._clock.monotonic_ns() > deadline_ns:
                    raise
                select.select((), (), (), RETRY_MS / 1000)
        self._seat.set_state(ProcessState.READY)

    def do_work(self) -> int:
        """One cycle; 0 lets the loop sleep."""
        self._beat()
        for process_id in self._seat.changed():
            self._waiting = [entry for entry in self._waiting if entry[0] != process_id]
            self._answers = [entry for entry in self._answers if entry[0] != process_id]
        done = self._follow_zookeeper()
        done += self._take_requests()
        done += self._work_on_deletions()
        done += self._poll_waiting()
        return done + self._send_answers()

    def sleep_bound_ms(self) -> int:
        """How long the loop may sleep when there was nothing to do."""
        if self._waiting or self._answers:
            return ANSWER_LOOK_MS
        return DELETION_LOOK_MS if self._office.has_deletions else IDLE_WAIT_MAX_MS

    def stop(self) -> None:
        """End the session; the node's ephemeral nodes go with it."""
        self._zk.stop()

    def _monotonic_ms(self) -> int:
        return self._clock.monotonic_ns() // 1_000_000

    def _beat(self) -> None:
        self._seat.beat(self._clock.monotonic_ns())
        self._alive()

    # ZooKeeper

    def _join(self) -> None:
        """Everything that a new session needs; can be run again from the start."""
        zk, wiring, settings = self._zk, self._seat.wiring, self._settings
        zk.save_session()
        session_id = zk.session_id
        for path in znodes.PERSISTENT_PATHS:
            zk.ensure(path)
        cluster_id = registration.cluster_id(zk)
        for log_dir in self._log_dirs:
            try:
                meta_properties.check_or_write(log_dir, cluster_id, self._node_id)
            except OSError as failure:
                _log.error("log directory offline path=%s reason=%s", log_dir, failure)
                self._seat.report_offline_dirs(wiring.log_dir_bit(str(log_dir)))
        data = znodes.encode_broker(wiring.host, wiring.port, settings["broker.rack"], self._clock.now_ms())
        wait_s = settings["zookeeper.session.timeout.ms"] / 1000 + STALE_SESSION_EXTRA_S
        registration.register(zk, self._node_id, data, wait_s, self._beat)
        self._cluster.cluster_id = cluster_id
        self._office.load()
        self._session_id = session_id
        _log.info(
            "joined cluster id=%s node=%d controller=%d topics=%d session=0x%x",
            cluster_id,
            self._node_id,
            self._cluster.controller_id,
            len(self._cluster.topics),
            session_id,
        )

    def _follow_zookeeper(self) -> int:
        """Look at what changed; what fails is looked at again."""
        for path in self._zk.take_changes():
            self._changed[path] = None
        if self._zk.losses != self._losses:
            self._losses = self._zk.losses
            self._session_id = 0
            self._office.resign()
            _log.warning("ZooKeeper session lost, the node serves by the last view")
        if not self._zk.is_connected or self._clock.monotonic_ns() < self._retry_ns:
            return 0
        try:
            if not self._session_id:
                self._changed.clear()
                self._join()
                return 1
            return self._react()
        except (ZkError, BadZnode) as failure:
            self._retry_ns = self._clock.monotonic_ns() + RETRY_MS * 1_000_000
            _log.warning("ZooKeeper not followed, again in %d ms reason=%s", RETRY_MS, failure)
            return 0

    def _react(self) -> int:
        done = 0
        for path in list(self._changed):
            self._beat()
            self._office.react(path)
            del self._changed[path]
            done += 1
        return done

    def _work_on_deletions(self) -> int:
        if not self._office.has_deletions:
            return 0
        try:
            return self._office.work_on_deletions()
        except ZkError as failure:
            _log.debug("deletion goes on later reason=%s", failure)
            return 0

    # Requests

    def _take_requests(self) -> int:
        done = 0
        for process_id, reader in self._seat.readers.items():
            if len(self._waiting) >= WAITING_MAX:
                return done
            messages = reader.poll(REQUESTS_PER_CYCLE_MAX)
            for kind, body in messages:
                assert kind == ADMIN, kind
                self._take_request(process_id, body)
            if messages:
                reader.release()
                done += len(messages)
        return done

    def _take_request(self, process_id: int, body: memoryview) -> None:
        request_id, api_key, version = ADMIN_HEADER.unpack_from(body)
        try:
            waiting = HANDLERS[api_key](self._office, version, body[ADMIN_HEADER.size :])
        except BadFrame as failure:
            # no answer is right: an empty one makes the network worker close the connection
            _log.warning("admin request refused api=%s reason=%s", ApiKey(api_key).name, failure)
            waiting = Waiting.done(b"")
        except (HeadraceError, Stopped):
            raise
        except Exception:  # a client that asks again must not kill the process again and again
            _log.exception("a handler failed, its connection is closed api=%s", ApiKey(api_key).name)
            waiting = Waiting.done(b"")
        self._waiting.append((process_id, request_id, waiting))

    def _poll_waiting(self) -> int:
        if not self._waiting:
            return 0
        now_ms = self._monotonic_ms()
        still = []
        for process_id, request_id, waiting in self._waiting:
            try:
                response = waiting.poll(now_ms)
            except HeadraceError:
                raise
            except Exception:  # as where the request was taken
                _log.exception("an answer failed, its connection is closed")
                response = b""
            if response is None:
                still.append((process_id, request_id, waiting))
            else:
                self._owe(process_id, ADMIN_RESULT_HEADER.pack(request_id), response)
        done = len(self._waiting) - len(still)
        self._waiting = still
        return done

    def _owe(self, process_id: int, header: bytes, response: bytes) -> None:
        """An answer, in parts where no message holds it."""
        room = self._seat.writers[process_id].message_bytes_max - len(header)
        rest = memoryview(response if len(response) <= ADMIN_RESPONSE_BYTES_MAX else b"")
        while len(rest) > room:
            self._answers.append((process_id, ADMIN_PART, header, rest[:room]))
            rest = rest[room:]
        self._answers.append((process_id, ADMIN_RESULT, header, rest))

    def _send_answers(self) -> int:
        if not self._answers:
            return 0
        kept, full, rung = [], set(), set()
        for answer in self._answers:
            process_id, kind, header, response = answer
            if process_id in full or not self._seat.writers[process_id].write(kind, header, response):
                full.add(process_id)
                kept.append(answer)
            else:
                rung.add(process_id)
        for process_id in rung:
            self._seat.writers[process_id].commit()
            self._seat.ring(process_id)
        done = len(self._answers) - len(kept)
        self._answers = kept
        return done


def run(seat: Seat, clock: Clock | None = None) -> int:
    """Work until SIGTERM."""
    stop = StopFlag()

    def alive() -> None:
        if stop.is_set:
            raise Stopped

    process = None
    try:
        process = ControllerProcess(seat, clock or SystemClock(), alive)
        process.start()
        _work(seat, process)
    except Stopped:
        pass
    except (ConfigError, ZkError, BadZnode) as failure:
        return _exit_code_of(failure, seat)
    except Fenced as reason:
        _log.warning("controller process fenced reason=%s", reason)
        return EXIT_FAILED
    seat.set_state(ProcessState.DRAINING)
    if process is not None:
        process.stop()
    seat.set_state(ProcessState.STOPPED)
    return EXIT_CLEAN


def _work(seat: Seat, process: ControllerProcess) -> None:
    """Duty cycles, until one of them raises Stopped."""
    doorbell = seat.doorbell
    poll = select.poll()
    poll.register(doorbell.fd, select.POLLIN)
    while True:
        if process.do_work():
            continue
        doorbell.park()
        if not process.do_work():
            poll.poll(process.sleep_bound_ms())
        doorbell.unpark()


def _exit_code_of(failure: HeadraceError, seat: Seat) -> int:
    """A node that served before waits for its ZooKeeper; one that never did is told that it does not work."""
    if isinstance(failure, ZkLost):
        _log.error("node can't start: zookeeper.connect: %s", failure)
    else:
        _log.error("node can't start: %s", failure)
    return EXIT_CONFIG if isinstance(failure, ConfigError) or seat.generation <= 1 else EXIT_FAILED
