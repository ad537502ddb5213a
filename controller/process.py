"""The controller process: the ZooKeeper session, requests of the other processes, the cluster view.

Runs in: one process, forked by the supervisor; it serves no client and no data, so its death costs no client a
record. A duty cycle, in which nothing waits for anything:

    replies and changes of ZooKeeper -> session lost or new -> areas that are due -> mailbox -> answers of other nodes
                        -> tasks, TASK_WORK_MS_MAX -> view -> deletions -> responses that wait for rows
                        -> requests to other nodes -> park on the doorbell

What talks to ZooKeeper is a task (`runtime/tasks.py`): following, joining, each request. Partition workers say when rows have
moved (FOLLOWED): only then, or where something changed here, or after IDLE_WAIT_MAX_MS, is looked at what a response or
a deletion waits for.

Whatever ZooKeeper does not answer is tried again later, for as long as it takes, at the node's start as well; meanwhile
the node serves by the last view. Exit code 78 (EX_CONFIG) means that a restart won't help: what a setting or a log
directory's meta.properties says. A broker id that another session holds ends the process with 1: it is started again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from headrace.clock import Clock, SystemClock
from headrace.controller.active.active_controller import ActiveController
from headrace.controller.active.broker_channel import Connection
from headrace.controller.active.broker_channels import BrokerChannels
from headrace.controller.active.peer_connection import PeerConnection
from headrace.controller.active.term import Term
from headrace.controller.admin import (
    a04_leader_and_isr,
    a05_stop_replica,
    a06_update_metadata,
    a07_controlled_shutdown,
    a08_offset_commit,
    a09_offset_fetch,
    a19_create_topics,
    a20_delete_topics,
    a22_init_producer_id,
    a33_alter_configs,
    a37_create_partitions,
    a43_elect_leaders,
    a44_incremental_alter_configs,
    a45_alter_partition_reassignments,
    a46_list_partition_reassignments,
    a56_alter_partition,
    a67_allocate_producer_ids,
)
from headrace.controller.admin.context import AdminContext
from headrace.controller.agent import meta_properties, registration
from headrace.controller.agent.agent import Agent
from headrace.controller.agent.holds import Holds
from headrace.controller.agent.isr_changes import IsrChanges
from headrace.controller.agent.isr_writer import IsrWriter
from headrace.controller.agent.log_dir_failures import LogDirFailures
from headrace.controller.agent.new_life import end_life_before
from headrace.controller.agent.new_replicas import NewReplicas, OnReply
from headrace.controller.agent.other_ends import Questions
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.agent.restored_states import RestoreComparison
from headrace.controller.controlled_shutdown import ControlledShutdown
from headrace.controller.controller_connection import ControllerConnection
from headrace.controller.log_ends import LogEnds
from headrace.controller.log_partings import LogPartings
from headrace.controller.own_connection import OwnConnection
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkError, ZkLost
from headrace.controller.zookeeper.outage import Outage
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.session_file import SessionFile
from headrace.controller.zookeeper.znodes import BadZnode, Registration
from headrace.errors import ConfigError, HeadraceError, NotAvailable
from headrace.limits import (
    CONTROLLER_REQUESTS_PER_CYCLE_MAX,
    IDLE_WAIT_MAX_MS,
    PENDING_RESPONSES_MAX,
    TASK_WORK_MS_MAX,
)
from headrace.log_rate_limit import GrowingInterval
from headrace.protocol.apis import ApiKey
from headrace.protocol.broker_versions import inter_broker
from headrace.runtime import duty_cycle
from headrace.runtime.failed_directory import report_failed
from headrace.runtime.mailbox import REFUSALS, Mailbox
from headrace.runtime.peers import Peers
from headrace.runtime.poller import Poller
from headrace.runtime.stop_flag import StopFlag
from headrace.runtime.tasks import Task, Tasks
from headrace.shm.counters import ZOOKEEPER_CONNECTIONS_LOST, ZOOKEEPER_SESSIONS_LOST
from headrace.shm.messages import VIEW_FOLLOWED, RequestKind
from headrace.shm.seat import Seat

RETRY_MS: Final = 200  # between two tries of what ZooKeeper did not answer
ID_WAIT_SESSIONS: Final = 3  # how many session timeouts a broker id is waited for
PAST: Final = "ZooKeeper's state is older than what this node has already seen"
PROBE_INTERVAL_S: Final = 2.0  # between two probes whether ZooKeeper refuses us, once our session must be over

Handler = Callable[[AdminContext, int, memoryview], Coroutine[Any, None, PendingResponse]]
HANDLERS: Final[dict[int, Handler]] = {
    ApiKey.LEADER_AND_ISR: a04_leader_and_isr.handle,
    ApiKey.STOP_REPLICA: a05_stop_replica.handle,
    ApiKey.UPDATE_METADATA: a06_update_metadata.handle,
    ApiKey.CONTROLLED_SHUTDOWN: a07_controlled_shutdown.handle,
    ApiKey.OFFSET_COMMIT: a08_offset_commit.handle,
    ApiKey.OFFSET_FETCH: a09_offset_fetch.handle,
    ApiKey.CREATE_TOPICS: a19_create_topics.handle,
    ApiKey.DELETE_TOPICS: a20_delete_topics.handle,
    ApiKey.INIT_PRODUCER_ID: a22_init_producer_id.handle,
    ApiKey.ALTER_CONFIGS: a33_alter_configs.handle,
    ApiKey.CREATE_PARTITIONS: a37_create_partitions.handle,
    ApiKey.ELECT_LEADERS: a43_elect_leaders.handle,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: a44_incremental_alter_configs.handle,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: a45_alter_partition_reassignments.handle,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: a46_list_partition_reassignments.handle,
    ApiKey.ALTER_PARTITION: a56_alter_partition.handle,
    ApiKey.ALLOCATE_PRODUCER_IDS: a67_allocate_producer_ids.handle,
}

_log: Final = logging.getLogger(__name__)


class AnyReply(Protocol):
    """The way back to who asked: another process (`mailbox.Reply`), or the active controller here (`own_connection.py`)."""

    @property
    def is_wanted(self) -> bool: ...

    def __call__(self, body: bytes) -> None: ...

    def refuse(self) -> None: ...


class ControllerProcess(duty_cycle.Process):
    """One controller process's state, and its part of the duty cycle."""

    def __init__(self, seat: Seat, clock: Clock, poller: Poller) -> None:
        settings = seat.wiring.settings
        self._seat = seat
        self._clock = clock
        self._settings = settings
        self._node_id: int = settings["broker.id"]
        self._log_dirs = [Path(log_dir) for log_dir in seat.wiring.log_dirs]
        self._tasks = Tasks(self._monotonic_ms, ZkLost)
        self._zk = ZkSession(
            settings["zookeeper.connect"],
            settings["zookeeper.session.timeout.ms"],
            SessionFile(self._log_dirs, life=seat.wiring.boot_id),
            self._tasks,
            seat.doorbell.force,
        )
        self._poller = poller
        self._peers = Peers(poller, clock, seat.doorbell.force)  # other nodes, regardless of the process that asks
        agent = self._agent = Agent(seat, self._zk, self._tasks, clock.now_ms, self._monotonic_ms)
        active = ActiveController(
            self._zk,
            self._tasks,
            agent.known,
            agent.room,
            agent.apply,
            settings,
            self._open_channels,
        )
        agent.tell = active.take
        self._failures = LogDirFailures(self._zk, self._tasks, agent.known, agent.rows, seat.offline_dirs)
        versions = inter_broker(settings["inter.broker.protocol.version"])
        self._connection = ControllerConnection(
            agent.known, self._peers, OwnConnection(self._ask_own), versions.alter_partition
        )
        self._isr_writer = IsrWriter(self._zk, self._tasks, self._monotonic_ms)
        self._leaders_write_isrs = versions.alter_partition < 0
        alter = self._isr_writer.alter if self._leaders_write_isrs else self._connection.alter
        self._isr_changes = IsrChanges(
            agent.known, self._zk, self._tasks, self._monotonic_ms, alter, self._isr_writer.fence
        )
        self._ends = LogEnds(agent.known, self._peers, self._tasks, versions.list_offsets)
        partings = LogPartings(
            seat, agent.known, self._peers, self._tasks, versions.offset_for_leader_epoch, self._ask_process
        )
        self._holds = Holds(
            agent.known,
            self._zk,
            self._tasks,
            self._monotonic_ms,
            Questions(self._ends.ask, partings.ask, partings.mark, partings.is_out, partings.is_open),
            partial(registration.register_again, self._zk, self._node_id),
            settings,
            has_new_directory=bool(seat.wiring.new_directories),
        )
        self._session_id = 0  # of the session in which we joined, 0: not joined
        self._losses = 0
        self._joining: Task[None] | None = None
        self._probing: Task[bool] | None = None
        self._restores = RestoreComparison(
            self._zk,
            self._tasks,
            agent.known,
            self._monotonic_ms,
            lambda: agent.controller_epoch,
            partial(self._leave, PAST),
            agent.producer_ids.compare,
        )
        self._outage = Outage(settings["zookeeper.connect"], seat.set_away_since, clock.monotonic_ns(), clock.now_ms())
        self._complaint = GrowingInterval()  # of what keeps us from joining
        self._next_probe_s = 0.0  # of an outage
        self._retry_ms = 0  # not before this
        self._mailbox = Mailbox(seat, {api: partial(self._take_request, handler) for api, handler in HANDLERS.items()})
        self._context = AdminContext(agent, active, NewReplicas(seat, self._tasks, self._mailbox.ask).tell)
        self._mailbox.serve(RequestKind.FOLLOWED, self._take_followed)
        self._mailbox.serve(RequestKind.ALTER_ISR, self._take_alter_isr)
        self._mailbox.serve(RequestKind.OPENED_LOG, self._take_opened)
        self._mailbox.serve(RequestKind.AHEAD_LOG, self._take_ahead)
        self._leaving = ControlledShutdown(seat, agent.known, self._tasks, self._connection)
        self._requests = 0  # that are being carried out
        self._pending: list[tuple[AnyReply, PendingResponse]] = []  # the way back, and the response in the making
        self._is_stirred = False  # what responses and deletions wait for may have come
        self._next_poll_ms = 0  # of what they wait for, where nothing said so

    def start(self) -> None:
        """Look for ZooKeeper; the duty cycle joins the cluster once it is found."""
        self._zk.begin()

    def do_work(self) -> int:
        """One cycle; 0 lets the process sleep."""
        done = self._zk.take_replies()
        done += self._follow_zookeeper()
        done += self._take_requests()
        done += self._poller.dispatch()
        self._connection.turn()
        self._leaving.turn(self.is_ready())
        done += self._isr_writer.tell() if self._session_id else 0
        done += self._holds.poll(self._monotonic_ms()) if self._session_id else 0
        done += self._tasks.run(TASK_WORK_MS_MAX)
        self._holds.follow()
        done += self._agent.publish()
        now_ms = self._monotonic_ms()
        if done or self._is_stirred or self._agent.is_stirred or now_ms >= self._next_poll_ms:
            self._next_poll_ms = now_ms + IDLE_WAIT_MAX_MS
            self._is_stirred = False
            done += self._agent.settle()
            done += self._poll_pending(now_ms)
        self._mailbox.flush()
        done += self._peers.turn()
        return done

    def peers_changed(self, process_ids: frozenset[int]) -> None:
        """Nothing waits any longer for answers to processes that died."""
        for process_id in process_ids:
            self._mailbox.forget(process_id)
        self._is_stirred = True

    def is_ready(self) -> bool:
        """Whether it has joined the cluster."""
        return self._session_id != 0

    def sleep_bound_ms(self) -> int:
        """Until something is due by itself: a task, an area, what a response waits for, though no message announces it."""
        due_ms = min(self._next_poll_ms, self._tasks.next_ms)
        agent_ms = self._agent.next_ms(self._zk.is_connected) if self._session_id else None
        if agent_ms is not None:
            due_ms = min(due_ms, agent_ms)
        for next_ms in (self._isr_writer.next_ms, self._holds.next_ms) if self._session_id else ():
            if next_ms is not None:
                due_ms = min(due_ms, next_ms)
        return self._peers.sleep_bound_ms(max(0, min(IDLE_WAIT_MAX_MS, due_ms - self._monotonic_ms())))

    def close(self) -> bool:
        """End the session; the node's ephemeral nodes go with it."""
        self._peers.close_all()
        self._zk.stop()
        return True

    def _monotonic_ms(self) -> int:
        return self._clock.monotonic_ns() // 1_000_000

    # ZooKeeper

    def _follow_zookeeper(self) -> int:
        """See what became of the session, join the cluster, start what is due."""
        self._agent.note(self._zk.take_changes())
        self._watch_connection()
        if self._agent.is_unregistered:
            self._agent.is_unregistered = False
            self._session_id = 0
        if not self._zk.is_connected:
            return 0
        if self._session_id:
            return self._agent.follow() + self._failures.poll(self._monotonic_ms())
        if self._joining is None and self._monotonic_ms() >= self._retry_ms:
            self._joining = self._tasks.start(self._join(), self._joined)
            return 1
        return 0

    async def _join(self) -> None:
        """Everything that a new session needs; can be run again from the start."""
        zk, wiring, settings, known = self._zk, self._seat.wiring, self._settings, self._agent.known
        zk.save_session()
        session_id = zk.session_id
        if not settings["headrace.testing.zookeeper"] and await zk.is_for_testing():
            raise ConfigError(
                "zookeeper.connect",
                settings["zookeeper.connect"],
                "is a testing-only ZooKeeper (headrace.testing.zookeeper); use an Apache ZooKeeper ensemble",
            )
        if known.cluster_id:
            await registration.cluster_id(zk, known.cluster_id)
        await zk.ensure_all(znodes.PERSISTENT_PATHS)
        cluster_id = known.cluster_id or await registration.cluster_id(zk)
        if not known.cluster_id:
            self._check_log_dirs(cluster_id)
        data = znodes.encode_broker(wiring.host, wiring.port, settings["broker.rack"], self._clock.now_ms())
        wait_s = settings["zookeeper.session.timeout.ms"] / 1000 * ID_WAIT_SESSIONS
        if zk.is_new_life:
            await end_life_before(zk, self._tasks, self._node_id)
            if zk.is_other_boot or wiring.suspect_directories or wiring.new_directories:  # its disk may be another one
                await self._holds.take_suspects(in_all_directories=zk.is_other_boot)
        is_resumed = await registration.register(zk, self._tasks, self._node_id, data, wait_s)
        if zk.is_new_life:
            zk.is_other_boot = zk.is_new_life = False
            zk.save_session()  # not before: a process that is killed while it waits waits again
        known.set_cluster_id(cluster_id)
        await registration.note_node(zk, self._node_id)
        await self._holds.load()
        await self._agent.load()
        self._holds.settle_loaded(is_resumed=is_resumed)
        await self._agent.producer_ids.compare()
        with suppress(BadZnode):  # which was reported
            await self._agent.producer_ids.prepare()
        if is_resumed and self._leaders_write_isrs:
            self._isr_writer.owe(known)
        self._session_id = session_id
        self._complaint.reset()
        _log.info(
            "joined cluster id=%s node=%d controller=%d topics=%d session=0x%x",
            cluster_id,
            self._node_id,
            known.controller_id,
            len(known.topics),
            session_id,
        )

    def _joined(self, task: Task[None]) -> None:
        """raises   what ends the process"""
        if self._joining is task:
            self._joining = None
        if task.failure is None:
            return
        if not isinstance(task.failure, (ZkError, BadZnode, NotAvailable)):
            raise task.failure
        self._retry_ms = self._monotonic_ms() + RETRY_MS
        if self._complaint.is_due(self._clock.monotonic_ns()):
            _log.warning("changes in ZooKeeper not read, retrying every %d ms reason=%s", RETRY_MS, task.failure)

    def _check_log_dirs(self, cluster_id: str) -> None:
        """Whether each log directory belongs here.

        Without room to say so one that is new is used all the same: the next start takes it for suspect, and says it then.

        raises   ConfigError; NotAvailable, where that can't be read for now
        """
        for log_dir in self._log_dirs:
            try:
                meta_properties.check_or_write(log_dir, cluster_id, self._node_id)
            except OSError as failure:
                if not report_failed(self._seat, log_dir, failure) and (log_dir / meta_properties.FILE).exists():
                    raise NotAvailable(f"{log_dir} can't be checked against its cluster yet: {failure}") from None

    def _watch_connection(self) -> None:
        """Say and count what became of connection and session."""
        zk, outage, counters = self._zk, self._outage, self._seat.counters
        now_ns = self._clock.monotonic_ns()
        drops = zk.drops
        counters.add(ZOOKEEPER_CONNECTIONS_LOST, drops - counters.get(ZOOKEEPER_CONNECTIONS_LOST))
        outage.look(zk.is_connected, drops, now_ns, self._clock.now_ms())
        if zk.losses != self._losses:
            self._losses = zk.losses
            self._leave("it expired")
        elif outage.is_on:
            self._probe(outage.away_s(now_ns))
        if not outage.is_on:
            self._next_probe_s = 0.0
        self._restores.look(drops, is_joined=self._session_id != 0, is_connected=zk.is_connected)

    def _probe(self, away_s: float) -> None:
        """A ZooKeeper whose data were put back to an earlier state hangs up on us for ever, as far as kazoo can tell."""
        session_s = self._settings["zookeeper.session.timeout.ms"] / 1000
        if self._probing is None and away_s >= max(session_s, self._next_probe_s):
            self._next_probe_s = away_s + PROBE_INTERVAL_S
            self._probing = self._tasks.start(self._zk.is_refused(), self._probed)

    def _probed(self, task: Task[bool]) -> None:
        self._probing = None
        if task.failure is not None or not task.result():
            return
        self._zk.forget_history()
        if self._session_id:
            self._leave(PAST)
        else:
            _log.warning("connected to ZooKeeper again after it refused the session reason=%s", PAST)

    def _leave(self, reason: str) -> None:
        """The session is over, and all that hung on it, every task too: what they know is of that session."""
        self._agent.leave()
        self._tasks.cancel(ZkLost("the session has ended"))
        if not self._session_id:
            return
        _log.warning(
            "ZooKeeper session lost, starting a new one; the node serves its last known state session=0x%x reason=%s",
            self._session_id,
            reason,
        )
        self._session_id = 0
        self._seat.counters.add(ZOOKEEPER_SESSIONS_LOST, 1)

    # Other nodes

    def _ask_process(self, process_id: int, kind: int, body: bytes, on_reply: OnReply) -> bool:
        """Another process of this node."""
        return self._mailbox.ask(process_id, kind, body, on_reply)

    def _open_channels(self, term: Term) -> BrokerChannels:
        versions = inter_broker(self._settings["inter.broker.protocol.version"])
        return BrokerChannels(term, versions, self._open_connection)

    def _open_connection(self, broker: Registration) -> Connection:
        if broker.node_id == self._node_id:
            return OwnConnection(self._ask_own)
        return PeerConnection(self._peers, self._node_id, broker.host, broker.port)

    def _ask_own(self, api_key: int, version: int, body: bytes, reply: AnyReply) -> None:
        handler = HANDLERS.get(api_key)
        if handler is not None:
            self._take_request(handler, version, memoryview(body), reply)

    # Requests

    def _take_requests(self) -> int:
        """What partition workers tell, always; requests of network workers, while not too many answers are in the making."""
        wiring = self._seat.wiring
        done = self._mailbox.poll(wiring.partition_ids, CONTROLLER_REQUESTS_PER_CYCLE_MAX)
        for process_id in wiring.network_ids:
            if self._requests + len(self._pending) >= PENDING_RESPONSES_MAX:
                break
            if process_id in self._mailbox.congested:
                continue
            done += self._mailbox.poll((process_id,), CONTROLLER_REQUESTS_PER_CYCLE_MAX)
        return done

    def _take_request(self, handler: Handler, version: int, body: memoryview, reply: AnyReply) -> None:
        """The body lies in the ring, and is gone before the task comes to it."""
        self._requests += 1
        procedure = handler(self._context, version, memoryview(bytes(body)))
        self._tasks.start(procedure, partial(self._request_ended, reply))

    def _request_ended(self, reply: AnyReply, task: Task[PendingResponse]) -> None:
        """What the request asked for is done; its response may wait. A failure costs the request, as in the mailbox."""
        self._requests -= 1
        failure = task.failure
        if failure is None:
            self._pending.append((reply, task.result()))
        elif isinstance(failure, (*REFUSALS, ZkError)):
            _log.warning("request refused reason=%s", failure)
            reply.refuse()
        elif isinstance(failure, HeadraceError):
            raise failure
        else:
            _log.error("request handler failed, request refused", exc_info=failure)
            reply.refuse()

    def _take_followed(self, _version: int, body: memoryview, _reply: AnyReply) -> None:
        """A partition worker has published rows: the cycle that took this looks at them.

        The version that it has followed is in the process table.
        """
        VIEW_FOLLOWED.unpack(body)

    def _take_alter_isr(self, _version: int, body: memoryview, reply: AnyReply) -> None:
        """Leaders want other in-sync replicas."""
        self._pending.append((reply, self._isr_changes.take(body)))

    def _take_opened(self, _version: int, body: memoryview, reply: AnyReply) -> None:
        """Owners have opened logs."""
        self._pending.append((reply, self._holds.take_opened(body)))

    def _take_ahead(self, _version: int, body: memoryview, reply: AnyReply) -> None:
        """Owners have logs that know more than the states in ZooKeeper."""
        self._pending.append((reply, self._holds.take_ahead(body)))

    def _poll_pending(self, now_ms: int) -> int:
        """Answer what is there, or too late; of askers that died, nothing."""
        done = 0
        still = []
        for reply, pending in self._pending:
            if not reply.is_wanted:
                continue
            try:
                response = pending.poll(now_ms)
            except HeadraceError:
                raise
            except Exception:  # as where the request was taken
                _log.exception("response handler failed, request refused")
                reply.refuse()
                done += 1
                continue
            if response is None:
                still.append((reply, pending))
                self._next_poll_ms = min(self._next_poll_ms, pending.deadline_ms)
                done += pending.is_halfway
            else:
                reply(response)
                done += 1
        self._pending = still
        return done


def run(seat: Seat, clock: Clock | None = None) -> int:
    """Work until SIGTERM."""
    clock = clock or SystemClock()

    def begin(poller: Poller, _stop: StopFlag) -> ControllerProcess:
        return ControllerProcess(seat, clock, poller)

    return duty_cycle.run(seat, clock, begin, restarts=(registration.IdHeld, ZkError, BadZnode))
