"""The roles of a node as the wake-up checks see them: the real class's look before a sleep, over the model's memory.

A role's work is one load of each word that a peer stores before it rings.
"""

from types import SimpleNamespace
from typing import Any

from headrace.controller.process import ControllerProcess
from headrace.runtime.duty_cycle import Process
from headrace.workers.housekeeper.worker import Housekeeper
from headrace.workers.network.loop import NetworkLoop
from headrace.workers.partition.worker import PartitionWorker
from tests.shm.memory_model import Port
from tests.shm.order_checks import TAIL, VIEW, looked


def shape_of(role: type[Process]) -> type[Process]:
    """A role that looks at everything in its `do_work`."""

    class Shape(role):  # type: ignore[misc, valid-type]
        has_sockets = False

        def __init__(self, port: Port) -> None:
            self.port = port

        def start(self) -> None:
            pass

        def do_work(self) -> int:
            return looked(self.port, TAIL) + looked(self.port, VIEW)

        def sleep_bound_ms(self) -> int:
            return 100

        def is_ready(self) -> bool:
            return True

    return Shape


def network_shape_of(role: type[Any]) -> type[Process]:
    """A network worker: sockets, and a look of its own."""

    class Shape(shape_of(role)):  # type: ignore[misc]
        has_sockets = True

        def __init__(self, port: Port) -> None:
            super().__init__(port)
            self._seat = SimpleNamespace(view=SimpleNamespace(version=lambda: port.load(VIEW)))
            self._context = SimpleNamespace(view_version=0)

        def take_answers(self) -> int:
            return self.port.load(TAIL)

    return Shape


def peers_shape() -> type[Process]:
    """Any role that holds peers: sockets in its poller, and the look that every role has. Peers ring for nothing themselves."""

    class Shape(shape_of(Process)):  # type: ignore[misc]
        has_sockets = True

    return Shape


SHAPES = {
    "network": network_shape_of(NetworkLoop),
    "partition": shape_of(PartitionWorker),
    "controller": shape_of(ControllerProcess),
    "housekeeper": shape_of(Housekeeper),
    "holder of peers": peers_shape(),
}
