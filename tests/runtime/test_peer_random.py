"""A peer and a node that do whatever comes by lot: what the peer says of a request is what the node knows of it."""

import random
from collections import Counter

import pytest

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peer_states import PeerState
from tests.runtime.fake_node import HEARTBEAT, response
from tests.support.scrambled import Scrambled

STEPS = 400


class Game:
    """Asks numbered requests; the node answers with their number."""

    def __init__(self, desk, draw, transform):
        self.desk = desk
        self.draw = draw
        self.node = desk.node(transform=transform, receive_buffer_bytes=draw.choice([0, 4096]))
        self.peer = desk.open(
            self.node,
            asks_versions=draw.random() < 0.5,
            requests_max=draw.choice([1, 5, 100]),
            send_buffer_bytes=draw.choice([-1, 4096]),
            transform=transform,
        )
        self.asked = 0
        self.answered = set()
        self.seen = Counter()  # by number, of requests that the node has read to their end
        self.is_listening = True
        self._counted = Counter()  # requests of each session that `seen` has
        self._next = Counter()  # the first one of each session that is not answered

    def ask(self):
        number = self.asked
        pad = self.draw.choice(["", "", "x" * 20_000])
        message = messages.HeartbeatRequest(group_id=str(number), member_id=pad)
        again = self.draw.random() < 0.1

        def on_reply(_outcome, _body):
            if again and self.asked < 2 * STEPS:
                self.ask()

        self.asked += self.desk.ask(
            self.peer, number, self.draw.choice([200, 5_000]), message, on_reply if again else None
        )

    def look(self):
        for session in self.node.sessions:
            while self._counted[session] < len(session.requests):
                header, body = session.requests[self._counted[session]]
                if header.api_key == HEARTBEAT:
                    self.seen[int(decode_request(HEARTBEAT, 0, memoryview(body)).group_id)] += 1
                self._counted[session] += 1

    def answer(self):
        """The next request of a session, whole or cut."""
        open_sessions = [session for session in self.node.sessions if not session.is_over]
        for session in open_sessions:
            index = self._next[session]
            if index >= len(session.requests):
                continue
            header, body = session.requests[index]
            self._next[session] += 1
            if header.api_key == ApiKey.API_VERSIONS:
                session.answer_versions(index, HEARTBEAT=(0, 4))
                continue
            number = int(decode_request(HEARTBEAT, 0, memoryview(body)).group_id)
            data = response(header.correlation_id, b"%d" % number)
            if self.draw.random() < 0.02:
                session.say(data[: self.draw.randrange(len(data))])
                session.close()
                continue
            self.answered.add(number)
            session.say(data)

    def end_sessions(self):
        for session in self.node.sessions:
            if not session.is_over:
                self.draw.choice([session.close, session.reset])()

    def toggle_listener(self):
        if self.is_listening:
            self.node.hang_up()
        else:
            self.node.listen()
        self.is_listening = not self.is_listening

    def toggle_reading(self):
        for session in self.node.sessions:
            session.reads = not session.reads

    def play(self):
        actions = [
            (self.ask, 40), (self.answer, 40), (self.desk.turn, 60), (lambda: self.desk.pass_ms(60), 8), (self.end_sessions, 2),
            (self.toggle_listener, 2), (self.toggle_reading, 3), (lambda: self.desk.pass_ms(6_000), 1),
        ]  # fmt: skip
        for act in self.draw.choices([act for act, _ in actions], [weight for _, weight in actions], k=STEPS):
            try:
                act()
            except ConnectionError:
                pass  # the node said something to a peer that had gone
            self.look()


@pytest.mark.slow
@pytest.mark.parametrize("transform", [None, Scrambled], ids=["plain", "scrambled"])
@pytest.mark.parametrize("_round", range(15))
def test_what_is_said_of_a_request_is_what_the_node_knows_of_it(desk, transform, _round):
    seed = random.randrange(1 << 30)
    game = Game(desk, random.Random(seed), transform)
    game.play()
    desk.peers.close(game.peer)
    for _ in range(3):
        desk.turn()
        game.look()
    assert game.peer.state is PeerState.CLOSED, f"seed {seed}"
    assert sorted(number for number, _, _ in desk.told) == list(range(game.asked)), f"each once, seed {seed}"
    for number, outcome, body in desk.told:
        if outcome is Outcome.ANSWERED:
            assert body == b"%d" % number, f"seed {seed}"
            assert number in game.answered, f"seed {seed}"
        elif outcome is Outcome.NOT_SENT:
            assert not game.seen[number], f"seed {seed}"
    assert max(game.seen.values(), default=0) <= 1, f"nothing is sent twice, seed {seed}"
    assert desk.peers._waiting == 0, f"seed {seed}"
    assert not desk.poller.has_sockets, f"seed {seed}"
