"""Topics that a client's request makes on the way: `__consumer_offsets`, and those of a Metadata request.

Runs in: a network worker. Only the active controller creates topics: where this node is, its controller process is asked; else the
node that is, over a connection of this worker's own, which is opened by the first such topic. What comes back is a response to
CreateTopics, or None where there is no telling. This node's view may follow some milliseconds later: its client is notified
to ask again until then.

Source: Kafka `AutoTopicCreationManager.sendCreateTopicRequest`.
"""

from __future__ import annotations

from typing import Final

from headrace.ids import BrokerId
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_request
from headrace.runtime.peer import Peer
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peers import Peers
from headrace.shm.cluster_view import BrokerView, ClusterView
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.forwarding.forwarder import Forwarder, OnResult

CREATE_VERSION: Final = 4  # the version of CreateTopics that nodes speak to a controller
CREATE_TIMEOUT_MS: Final = 10_000
ANSWER_EXTRA_MS: Final = 5_000  # for the way there and back


class TopicCreations:
    """One per network worker."""

    def __init__(self, forwarder: Forwarder, node_id: BrokerId) -> None:
        self._forwarder = forwarder
        self._node_id = node_id
        self._peers: Peers | None = None
        self._controller: tuple[str, int] | None = None  # whose connection it is
        self._peer: Peer | None = None

    def use(self, peers: Peers) -> None:
        """The connections of this worker; without them only this node's controller process is asked."""
        self._peers = peers

    def ask(
        self, view: ClusterView, exchange: Exchange, request: messages.CreateTopicsRequest, on_result: OnResult
    ) -> None:
        """Have topics made on behalf of `exchange`; `on_result` may be called at once."""
        holder = view.brokers.get(view.controller_id)
        if self._peers is None or holder is None or holder.node_id == self._node_id:
            body = encode_request(ApiKey.CREATE_TOPICS, CREATE_VERSION, request)
            self._forwarder.ask(exchange, ApiKey.CREATE_TOPICS, CREATE_VERSION, body, on_result)
            return

        def on_reply(outcome: Outcome, response: memoryview) -> None:
            try:
                on_result(response if outcome is Outcome.ANSWERED else None)
            except Exception as failure:
                exchange.connection.contain(failure)

        peer = self._connection(self._peers, holder)
        timeout_ms = CREATE_TIMEOUT_MS + ANSWER_EXTRA_MS
        if peer is None or not peer.ask(ApiKey.CREATE_TOPICS, CREATE_VERSION, request, on_reply, timeout_ms):
            on_result(None)  # too many wait already

    def turn(self) -> int:
        """The end of a cycle; returns the work done."""
        return 0 if self._peer is None or self._peers is None else self._peers.turn()

    def sleep_bound_ms(self, most_ms: int) -> int:
        """How long the worker may sleep before something is due here."""
        return most_ms if self._peer is None or self._peers is None else self._peers.sleep_bound_ms(most_ms)

    def close(self) -> None:
        """Give up what was asked: the asker is notified."""
        if self._peers is not None:
            self._peers.close_all()
        self._peer = self._controller = None

    def _connection(self, peers: Peers, holder: BrokerView) -> Peer | None:
        """The connection to the active controller; that to an earlier one is closed."""
        if self._peer is not None and self._controller == (holder.host, holder.port):
            return self._peer
        before, self._peer = self._peer, peers.open(holder.host, holder.port)
        self._controller = (holder.host, holder.port)
        if before is not None:
            peers.close(before)
        return self._peer
