"""A node without processes: the controller's parts over a fake ZooKeeper and real shared memory."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from headrace.controller.active.active_controller import ActiveController
from headrace.controller.active.term import Term
from headrace.controller.admin.context import AdminContext
from headrace.controller.agent import registration
from headrace.controller.agent.agent import Agent
from headrace.controller.agent.new_replicas import NewReplicas, OnReply
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.runtime.tasks import Task, Tasks
from headrace.settings import Settings
from headrace.shm.messages import NEW_REPLICA, ReplyStatus, RequestKind
from headrace.shm.seat import Seat
from tests.controller.fake_channels import FakeChannels
from tests.controller.fake_owner import FakeOwner
from tests.controller.fake_zk import FakeZk

T = TypeVar("T")
STEPS_MAX = 10_000


def settings_of(log_dir: Path, **changes: str) -> Settings:
    """Small ones; `broker_id="1"` stands for broker.id=1."""
    return Settings(
        {
            "log.dirs": str(log_dir),
            "headrace.network.workers": "1",
            "headrace.partition.workers": "1",
            "headrace.request.ring.bytes": "65536",
            "message.max.bytes": "16384",
            "headrace.partitions.max": "64",
            "headrace.testing.zookeeper": "true",
            "auto.leader.rebalance.enable": "false",  # a task of it never ends
            **{key.replace("_", "."): value for key, value in changes.items()},
        }
    )


class Node:
    """One node's controller parts over a fake ZooKeeper, without a process. Its clock moves where somebody waits for it.

    made   those of the test that runs: processes that were killed leave procedures behind, which `close` ends
    """

    made: ClassVar[list[Node]] = []

    def __init__(self, seat: Seat, zk: FakeZk, owner: FakeOwner) -> None:
        self.made.append(self)
        self.seat = seat
        self.zk = zk
        self.owner = owner
        self.now_ms = 0
        settings = seat.wiring.settings
        self.tasks = Tasks(lambda: self.now_ms, ZkLost)
        self.agent = Agent(seat, zk, self.tasks, lambda: self.now_ms)
        self.known = self.agent.known
        self.channels: FakeChannels  # of the last term
        self.is_answering = True  # whether brokers answer LeaderAndIsr
        self.active = ActiveController(
            zk, self.tasks, self.known, self.agent.room, self.agent.apply, settings, self.open_channels
        )
        self.agent.tell = self.active.take
        self.context = AdminContext(self.agent, self.active, NewReplicas(seat, self.tasks, self.ask_owner).tell)

    def ask_owner(self, _owner: int, kind: int, body: bytes, on_reply: OnReply) -> bool:
        """As the mailbox does; a deaf owner does not reply."""
        assert kind == RequestKind.NEW_REPLICAS
        if not self.owner.is_deaf:
            self.owner.take_new([key for (key,) in NEW_REPLICA.iter_unpack(body)])
            on_reply(ReplyStatus.ANSWERED, memoryview(b""))
        return True

    def close(self) -> None:
        """Nothing of it goes on."""
        for task in list(self.tasks._open):
            task._coroutine.close()

    def open_channels(self, term: Term) -> FakeChannels:
        self.channels = FakeChannels(term, lambda: self.is_answering)
        return self.channels

    def run(self, coroutine: Coroutine[Any, None, T]) -> T:
        """Wait for what a procedure brings; raises what it raises."""
        task = self.tasks.start(coroutine, lambda _task: None)
        self.settle(task)
        return task.result()

    def settle(self, task: Task[Any] | None = None) -> None:
        """Let tasks go on until this one ended; all of them, where none is named."""
        for _ in range(STEPS_MAX):
            if task.is_done if task is not None else not len(self.tasks):
                return
            if not self.tasks.run(1_000):
                self.now_ms = max(self.now_ms, self.tasks.next_ms)
        raise AssertionError("a task never ends")

    async def joining(self) -> None:
        """What a new session does."""
        await self.zk.ensure_all(znodes.PERSISTENT_PATHS)
        self.known.set_cluster_id(await registration.cluster_id(self.zk))
        data = znodes.encode_broker("127.0.0.1", 9092, None, 0)
        await registration.register(self.zk, self.tasks, self.known.node_id, data, 0)
        await self.agent.load()

    def join(self) -> None:
        self.run(self.joining())
        self.settle()
        self.publish()

    def leave(self) -> None:
        """The session was lost."""
        self.agent.leave()
        self.tasks.cancel(ZkLost("the session has ended"))
        self.settle()

    def rejoin(self) -> None:
        """In another session of the same process."""
        self.zk.session_id += 1000
        self.zk.ensemble.sessions[self.zk.session_id] = self.zk
        self.join()

    def publish(self) -> None:
        """All that is known, however it is paced."""
        while self.agent.publish() or self.known.added:
            before = len(self.known.added)
            self.agent._publisher.hurry()
            if not self.agent.publish() and len(self.known.added) == before:
                return

    def follow(self) -> None:
        """Follow all that has changed, until nothing changes any more."""
        for _ in range(50):
            self.agent.note(self.zk.take_changes())
            self.now_ms = max(self.now_ms, self.agent.next_ms(True) or 0)
            if not self.agent.follow() and not len(self.tasks) and not self.zk.changes:
                return
            self.settle()

    def react(self, path: str) -> None:
        """A watched node changed."""
        self.agent.note([path])
        self.follow()

    def turn(self, cycles: int = 5) -> None:
        """Some duty cycles of the controller process and of the owner."""
        for _ in range(cycles):
            self.follow()
            self.publish()
            self.owner.follow()
            self.agent.settle()
            self.settle()
            self.publish()

    def answer(self, pending: PendingResponse) -> bytes | None:
        """What a response says by now."""
        return pending.poll(self.now_ms)

    def restarted(self) -> Node:
        """The controller process was killed; its successor resumed the session."""
        node = Node(self.seat, self.zk.successor(), self.owner)
        node.join()
        return node

    # Requests

    def handle(self, handler: Any, version: int, body: memoryview) -> PendingResponse:
        """Carry a request out; what it made is published, as at the end of a cycle."""
        pending = self.run(handler(self.context, version, body))
        self.publish()
        return pending

    def create(
        self, name: str, replicas: tuple[tuple[int, ...], ...] | None = None, configs: dict[str, str] | None = None
    ) -> str:
        """A topic, one partition on this node where nothing else is said; returns its id."""
        topic_id = self.run(self.active.create(name, replicas or ((self.known.node_id,),), configs or {}))
        self.settle()
        self.publish()
        return topic_id

    @property
    def view(self):
        return self.seat.view.read()
