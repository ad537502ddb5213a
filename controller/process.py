"""The controller process: the ZooKeeper session, requests of the other processes, the cluster view.

Runs in: one process, forked by the supervisor; it serves no client and no data, so its death costs nobody a
record. A duty cycle:

    session lost or new -> what changed in ZooKeeper -> mailbox -> deletions -> answers that wait for rows
                        -> park on the doorbell

Partition workers say when rows have moved (FOLLOWED): only then, or where something changed here, or after
IDLE_WAIT_MAX_MS, is looked at what an answer or a deletion waits for.

Whatever ZooKeeper does not answer is tried again later, for as long as it takes, at the node's start as well; meanwhile
the node serves by the last view. Exit code 78 (EX_CONFIG) means that a restart won't help: what a setting or a log
directory's meta.properties says. A broker id that another session holds ends the process with 1: it is started again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
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
from headrace.errors import HeadraceError
from headrace.limits import CONTROLLER_REQUESTS_PER_CYCLE_MAX, IDLE_WAIT_MAX_MS, PENDING_RESPONSES_MAX
from headrace.protocol.apis import ApiKey
from headrace.runtime import duty_cycle
from headrace.runtime.mailbox import Mailbox, Reply
from headrace.runtime.poller import Poller
from headrace.runtime.stop_flag import StopFlag
from headrace.shm.counters import ZOOKEEPER_CONNECTIONS_LOST, ZOOKEEPER_SESSIONS_LOST
from headrace.shm.messages import VIEW_FOLLOWED, RequestKind
from headrace.shm.seat import Seat

RETRY_MS = 200  # between two tries of what ZooKeeper did not answer
ID_WAIT_SESSIONS = 3  # how many session timeouts a broker id is waited for
PROBE_INTERVAL_S = 2.0  # between two looks whether ZooKeeper refuses us, once our session must be over

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


class ControllerProcess(duty_cycle.Process):
    """One controller process's state, and its part of the duty cycle.

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
        self._mailbox = Mailbox(seat, {api: partial(self._take_request, handler) for api, handler in HANDLERS.items()})
        self._mailbox.serve(RequestKind.FOLLOWED, self._take_followed)
        self._waiting: list[tuple[Reply, Waiting]] = []  # the way back, and the answer in the making
        self._is_stirred = False  # what answers and deletions wait for may have come
        self._next_poll_ms = 0  # of what they wait for, where nothing said so

    def start(self) -> None:
        """Look for ZooKeeper; the duty cycle joins the cluster once it is found."""
        self._beat()
        self._zk.begin()

    def do_work(self) -> int:
        """One cycle; 0 lets the process sleep."""
        done = self._follow_zookeeper()
        done += self._take_requests()
        now_ms = self._monotonic_ms()
        if done or self._is_stirred or now_ms >= self._next_poll_ms:
            self._next_poll_ms = now_ms + IDLE_WAIT_MAX_MS
            deleted = self._work_on_deletions()
            self._is_stirred = deleted > 0
            done += deleted + self._poll_waiting(now_ms)
        self._mailbox.flush()
        return done

    def peers_changed(self, process_ids: frozenset[int]) -> None:
        """Nobody waits any more for answers to processes that died."""
        for process_id in process_ids:
            self._mailbox.forget(process_id)
        self._is_stirred = True

    def is_ready(self) -> bool:
        """Whether it has joined the cluster."""
        return self._session_id != 0

    def sleep_bound_ms(self) -> int:
        """Until what an answer or a deletion waits for is looked at, though nobody said that it came."""
        return max(0, min(IDLE_WAIT_MAX_MS, self._next_poll_ms - self._monotonic_ms()))

    def close(self) -> bool:
        """End the session; the node's ephemeral nodes go with it."""
        self._zk.stop()
        return True

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
        """What partition workers tell, always; requests of network workers, while not too many answers are in the making."""
        wiring = self._seat.wiring
        done = self._mailbox.poll(wiring.partition_ids, CONTROLLER_REQUESTS_PER_CYCLE_MAX)
        for process_id in wiring.network_ids:
            if len(self._waiting) >= PENDING_RESPONSES_MAX:
                break
            if process_id in self._mailbox.congested:
                continue
            done += self._mailbox.poll((process_id,), CONTROLLER_REQUESTS_PER_CYCLE_MAX)
        return done

    def _take_request(self, handler: Handler, version: int, body: memoryview, reply: Reply) -> None:
        self._waiting.append((reply, handler(self._office, version, body)))

    def _take_followed(self, _version: int, body: memoryview, _reply: Reply) -> None:
        """A partition worker has published rows: the cycle that took this looks at them.

        The version that it has followed stands in the process table.
        """
        VIEW_FOLLOWED.unpack(body)

    def _poll_waiting(self, now_ms: int) -> int:
        """Answer what is there, or too late; of askers that died, nothing."""
        done = 0
        still = []
        for reply, waiting in self._waiting:
            if not reply.is_wanted:
                continue
            try:
                response = waiting.poll(now_ms)
            except HeadraceError:
                raise
            except Exception:  # as where the request was taken
                _log.exception("an answer failed, its request is refused")
                reply.refuse()
                done += 1
                continue
            if response is None:
                still.append((reply, waiting))
                self._next_poll_ms = min(self._next_poll_ms, waiting.deadline_ms)
            else:
                reply(response)
                done += 1
        self._waiting = still
        return done


def run(seat: Seat, clock: Clock | None = None) -> int:
    """Work until SIGTERM."""
    clock = clock or SystemClock()

    def begin(_poller: Poller, stop: StopFlag) -> ControllerProcess:
        return ControllerProcess(seat, clock, stop.check)

    return duty_cycle.run(seat, clock, begin, restarts=(registration.IdHeld, ZkError, BadZnode))
