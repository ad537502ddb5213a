"""The connections of one process to other nodes: their one heap of deadlines, and their place in its cycle.

Runs in: any process. A role with peers does this in its `do_work`, and asks `sleep_bound_ms` before it sleeps:

    poller.dispatch()   replies -> on_reply, which may ask further
    ...                 its own work, which may ask
    peers.turn()        what is late, names that were found, connects, and one send for all that was asked of a node

Nothing else is needed to be awake in time: a socket ends the sleep by the poller, a name by the doorbell, a deadline by the
bound. `look_again` has nothing to look for here: no peer rings the doorbell by the parked word.

Bounds: PEERS_MAX, PEER_REQUESTS_TOTAL_MAX over all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from headrace.clock import Clock
from headrace.limits import PEER_REQUESTS_TOTAL_MAX, PEERS_MAX
from headrace.runtime.deadlines import NEVER, Deadlines
from headrace.runtime.peer import Peer
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import PeerRequest
from headrace.runtime.peer_states import PeerState
from headrace.runtime.poller import Poller
from headrace.runtime.resolver import Resolver


class Peers:
    """One process's connections to other nodes.

    wake      rings the process's doorbell, whatever it does (`Doorbell.force`)
    chance    0 to 1, for the jitter of back-offs; Python's where None
    """

    def __init__(
        self,
        poller: Poller,
        clock: Clock,
        wake: Callable[[], None],
        chance: Callable[[], float] | None = None,
        requests_max: int = PEER_REQUESTS_TOTAL_MAX,
    ) -> None:
        self.poller = poller
        self.chance = chance or random.random
        self.resolver = Resolver(wake)
        self.deadlines: Deadlines[Peer, PeerRequest | None] = Deadlines(requests_max + PEERS_MAX)
        self._clock = clock
        self._requests_max = requests_max
        self._waiting = 0  # requests of all peers that are not reported yet
        self._peers: set[Peer] = set()
        self._marked: dict[Peer, None] = {}  # were asked something in this cycle
        self._resolving: dict[Peer, None] = {}

    def __len__(self) -> int:
        return len(self._peers)

    def open(self, host: str, port: int, options: PeerOptions | None = None) -> Peer | None:
        """A node to ask; it is connected when it is asked something. None: there are too many.

        An owner that is done with it calls `close` with it.
        """
        if len(self._peers) >= PEERS_MAX:
            return None
        peer = Peer(self, host, port, options or PeerOptions())
        self._peers.add(peer)
        return peer

    def close(self, peer: Peer) -> None:
        """Give a node up: what it was asked is reported, from within this call."""
        self._peers.discard(peer)
        self._marked.pop(peer, None)
        self._resolving.pop(peer, None)
        peer.shut()

    def close_all(self) -> None:
        for peer in list(self._peers):
            self.close(peer)

    def turn(self) -> int:
        """The end of a cycle; returns the work done."""
        done = 0
        if self.deadlines.next_ms != NEVER:
            now_ms = self._now_ms()
            while (due := self.deadlines.pop_due(now_ms)) is not None:
                _deadline_ms, serial, peer, request = due
                peer.expire(serial, request)
                done += 1
        for peer in list(self._resolving):
            if peer.state is not PeerState.RESOLVING or peer.resolve():
                self._resolving.pop(peer, None)
                done += 1
        if self._marked:
            marked, self._marked = self._marked, {}
            for peer in marked:
                peer.turn()
            done += len(marked)
        return done

    def sleep_bound_ms(self, most_ms: int) -> int:
        """How long the process may sleep before something is due here; asked after `turn`."""
        if self._marked:
            return 0
        next_ms = self.deadlines.next_ms
        return most_ms if next_ms == NEVER else max(0, min(most_ms, next_ms - self._now_ms()))

    # For `Peer`

    def schedule_request(self, timeout_ms: int, peer: Peer, request: PeerRequest) -> int:
        """Serial of a request's deadline; 0, where too many were asked."""
        if self._waiting >= self._requests_max:
            return 0
        return self.deadlines.schedule(self._now_ms() + timeout_ms, peer, request)

    def schedule_state(self, timeout_ms: int, peer: Peer) -> int:
        """The same of a state's deadline, of which each peer has one: there is room."""
        serial = self.deadlines.schedule(self._now_ms() + timeout_ms, peer, None)
        assert serial, "one a peer, and requests leave room for them"
        return serial

    def asked(self, peer: Peer) -> None:
        """Something was asked of it."""
        self._waiting += 1
        self._marked[peer] = None

    def settled(self, request: PeerRequest) -> None:
        """It is told now."""
        self._waiting -= 1
        self.deadlines.cancel(request.timer)

    def wait_for_name(self, peer: Peer) -> None:
        self._resolving[peer] = None

    def _now_ms(self) -> int:
        return self._clock.monotonic_ns() // 1_000_000
