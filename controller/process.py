"""The controller process: the ZooKeeper session, the admin rings, the cluster view.

Runs in: one process, forked by the supervisor; it serves no client and no data, so its death costs nobody a
record. A duty cycle:

    session lost or new -> what changed in ZooKeeper -> admin rings -> answers that wait for rows -> deletions
    -> park on the doorbell

Whatever ZooKeeper does not answer is tried again later, for as long as it takes, at the node's start as well; meanwhile
the node serves by the last view. Exit code 78 (EX_CONFIG) means that a restart won't help: what a setting or a log
directory's meta.properties says. A broker id that another session holds ends the process with 1: it is started again.
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
from headrace.controller.outage import Outage, Reminder
from headrace.controller.session_file import SessionFile
from headrace.controller.waiting import Waiting
from headrace.controller.zk import ZkConflict, ZkError, ZkSession
from headrace.controller.znodes import BadZnode
from headrace.errors import BadFrame, ConfigError, Fenced, HeadraceError
from headrace.limits import ADMIN_RESPONSE_BYTES_MAX, IDLE_WAIT_MAX_MS
from headrace.protocol.apis import ApiKey
from headrace.shm.counters import ZOOKEEPER_CONNECTIONS_LOST, ZOOKEEPER_SESSIONS_LOST
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
ID_WAIT_SESSIONS = 3  # how many session timeouts a broker id is waited for
PROBE_INTERVAL_S = 2.0  # between two looks whether ZooKeeper refuses us, once our session must be over

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
    """SIGTERM came."""


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
            SessionFile(self._log_dirs),
            seat.doorbell.force,
            self._beat,
        )
        self._cluster = Cluster(self._node_id, seat.view_writer, settings["headrace.partitions.max"])
        self._office = Office(seat, self._zk, self._cluster, clock.now_ms, self._monotonic_ms)
        self._session_id = 0  # of the session in which we joined, 0: not joined
        self._losses = 0
        self._changed: dict[str, None] = {}  # paths to look at
        self._outage = Outage(settings["zookeeper.connect"], seat.set_away_since, clock.monotonic_ns(), clock.now_ms())
        self._complaint = Reminder()  # of what ZooKeeper has and we can't follow
        self._next_probe_s = 0.0  # of an outage
        self._retry_ns = 0  # not before this
        # (process id of the network worker, its request id, answer in the making)
        self._waiting: list[tuple[int, int, Waiting]] = []
        # (process id, kind, header, body); what found its ring full stays
        self._answers: list[tuple[int, int, bytes, bytes | memoryview]] = []

    def start(self) -> None:
        """Look for ZooKeeper; the duty cycle joins the cluster once it is found."""
        self._beat()
        self._zk.begin()

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
        known = self._cluster.cluster_id
        if known:
            registration.cluster_id(zk, known)
        for path in znodes.PERSISTENT_PATHS:
            zk.ensure(path)
        cluster_id = known or registration.cluster_id(zk)
        if not known:
            self._check_log_dirs(cluster_id)
        data = znodes.encode_broker(wiring.host, wiring.port, settings["broker.rack"], self._clock.now_ms())
        wait_s = settings["zookeeper.session.timeout.ms"] / 1000 * ID_WAIT_SESSIONS
        registration.register(zk, self._node_id, data, wait_s, self._beat)
        self._cluster.cluster_id = cluster_id
        self._office.load()
        self._office.producer_ids.prepare()
        self._session_id = session_id
        self._complaint.reset()
        self._seat.set_state(ProcessState.READY)
        _log.info(
            "joined cluster id=%s node=%d controller=%d topics=%d session=0x%x",
            cluster_id,
            self._node_id,
            self._cluster.controller_id,
            len(self._cluster.topics),
            session_id,
        )

    def _check_log_dirs(self, cluster_id: str) -> None:
        """Whether each log directory belongs here. raises ConfigError"""
        for log_dir in self._log_dirs:
            try:
                meta_properties.check_or_write(log_dir, cluster_id, self._node_id)
            except OSError as failure:
                _log.error("log directory offline path=%s reason=%s", log_dir, failure)
                self._seat.report_offline_dirs(self._seat.wiring.log_dir_bit(str(log_dir)))

    def _follow_zookeeper(self) -> int:
        """Look at what changed; what fails is looked at again."""
        for path in self._zk.take_changes():
            self._changed[path] = None
        self._watch_connection()
        if not self._zk.is_connected or self._clock.monotonic_ns() < self._retry_ns:
            return 0
        try:
            if not self._session_id:
                self._changed.clear()
                self._join()
                return 1
            done = self._react()
            self._complaint.reset()
            return done
        except registration.Unregistered as failure:
            _log.warning("registered again reason=%s", failure)
            self._session_id = 0
            return 1
        except (ZkError, BadZnode) as failure:
            now_ns = self._clock.monotonic_ns()
            self._retry_ns = now_ns + RETRY_MS * 1_000_000
            if self._complaint.is_due(now_ns):
                _log.warning("ZooKeeper not followed, again every %d ms reason=%s", RETRY_MS, failure)
            return 0

    def _watch_connection(self) -> None:
        """Say and count what became of connection and session."""
        zk, outage, counters = self._zk, self._outage, self._seat.counters
        now_ns = self._clock.monotonic_ns()
        outage.look(zk.is_connected, zk.drops, now_ns, self._clock.now_ms())
        if zk.losses != self._losses:
            self._losses = zk.losses
            if self._session_id:
                self._leave("it expired")
        elif outage.is_on:
            self._probe(outage.away_s(now_ns))
        if not outage.is_on:
            self._next_probe_s = 0.0
        counters.add(ZOOKEEPER_CONNECTIONS_LOST, outage.count - counters.get(ZOOKEEPER_CONNECTIONS_LOST))

    def _probe(self, away_s: float) -> None:
        """A ZooKeeper whose data were put back to an earlier state hangs up on us for ever, as far as kazoo can tell."""
        session_s = self._settings["zookeeper.session.timeout.ms"] / 1000
        if away_s < max(session_s, self._next_probe_s):
            return
        self._next_probe_s = away_s + PROBE_INTERVAL_S
        if not self._zk.is_refused():
            return
        self._zk.forget_history()
        reason = "ZooKeeper's state is older than what this node has seen of it"
        if self._session_id:
            self._leave(reason)
        else:
            _log.warning("ZooKeeper refused us, that is over reason=%s", reason)

    def _leave(self, reason: str) -> None:
        """The session is over, and all that hung on it."""
        _log.warning(
            "ZooKeeper session lost, another one begins; the node serves by what it knows session=0x%x reason=%s",
            self._session_id,
            reason,
        )
        self._session_id = 0
        self._office.resign()
        self._seat.counters.add(ZOOKEEPER_SESSIONS_LOST, 1)

    def _react(self) -> int:
        """What can't be followed for now holds up nothing else. raises ZkError, BadZnode"""
        done = 0
        failure: ZkConflict | BadZnode | None = None
        for path in list(self._changed):
            self._beat()
            try:
                self._office.react(path)
            except (ZkConflict, BadZnode) as reason:
                failure = reason
                continue
            del self._changed[path]
            done += 1
        if failure is not None:
            raise failure
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
    except ConfigError as failure:
        _log.error("node can't start: %s", failure)
        return EXIT_CONFIG
    except (registration.IdHeld, ZkError, BadZnode) as failure:
        _log.error("controller process ends, another one begins reason=%s", failure)
        return EXIT_FAILED
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
