"""A process of a node that holds peers: its duty cycle sleeps on the doorbell and on them, and works for whichever comes."""

import logging
import os
import signal

import pytest

from headrace import exit_codes
from headrace.clock import SystemClock
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.runtime.duty_cycle import Process, run
from headrace.runtime.mailbox import Mailbox
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peers import Peers
from headrace.shm.messages import ReplyStatus
from tests.runtime.fake_node import FakeNode
from tests.support.seats import CONTROLLER, PARTITION, Asker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.process

PASS_ON = -98  # ask the node, reply with the outcome and what it says


class Forwarder(Process):
    """What another process asks it, it asks a node: as the owner of a fetcher, or of a controller's channel, would."""

    def __init__(self, seat, poller, port, host):
        self._poller = poller
        self._seat = seat
        self._peers = Peers(poller, SystemClock(), seat.doorbell.force)
        self._peer = self._peers.open(host, port, PeerOptions(backoff_first_ms=5, backoff_max_ms=20))
        self._mailbox = Mailbox(seat, {PASS_ON: self._pass_on})

    def do_work(self):
        done = self._poller.dispatch() + self._mailbox.poll(self._seat.readers)
        done += self._peers.turn()
        self._mailbox.flush()
        return done

    def sleep_bound_ms(self):
        return self._peers.sleep_bound_ms(super().sleep_bound_ms())

    def peers_changed(self, process_ids):
        for process_id in process_ids:
            self._mailbox.forget(process_id)

    def close(self):
        self._peers.close_all()
        self._mailbox.flush()
        return True

    def _pass_on(self, _version, body, reply):
        request = messages.HeartbeatRequest(group_id=str(body, "utf-8"))
        if not self._peer.ask(
            ApiKey.HEARTBEAT, 0, request, lambda outcome, body: reply(bytes([outcome]) + bytes(body)), 60_000
        ):
            reply.refuse()


@pytest.fixture(params=["127.0.0.1", "localhost"])
def stage(seats, request):
    """A node, a process that speaks to it, and another that asks this one."""
    node = FakeNode()

    def act():
        logging.disable(logging.CRITICAL)
        node.hang_up()  # the child's copy
        seat = seats.seat(PARTITION)
        os._exit(run(seat, SystemClock(), lambda poller, _stop: Forwarder(seat, poller, node.port, request.param)))

    pid = seats.fork(act)
    asker = Asker(seats.seat(CONTROLLER))
    yield node, asker, pid
    node.close()


def turn_until(node, asker, is_so):
    def turned():
        asker.turn()
        node.pump()
        return is_so()

    wait_until(turned)


def test_a_request_goes_through_a_process_to_a_node_and_back_until_the_node_dies(seats, stage):
    node, asker, pid = stage
    for number in range(50):
        assert asker.ask(PARTITION, PASS_ON, b"%d" % number)
    turn_until(node, asker, lambda: len(node.requests) == 50)
    for number in range(30):
        node.session.answer(number, b"body %d" % number)
    turn_until(node, asker, lambda: len(asker.replies) == 30)
    assert asker.replies == [(ReplyStatus.ANSWERED, b"\0body %d" % number) for number in range(30)]
    node.hang_up()
    node.session.reset()
    turn_until(node, asker, lambda: len(asker.replies) == 50)
    assert {body for _status, body in asker.replies[30:]} == {b"\x03"}, "lost"
    asker.replies.clear()
    asker.ask(PARTITION, PASS_ON, b"away")
    turn_until(node, asker, lambda: asker.replies)
    assert asker.replies == [(ReplyStatus.ANSWERED, b"\x01")], "not sent"
    node.sessions.clear()
    node.listen()
    asker.ask(PARTITION, PASS_ON, b"back")
    turn_until(node, asker, lambda: node.requests)
    node.session.answer(0, b"again")
    turn_until(node, asker, lambda: len(asker.replies) == 2)
    assert asker.replies[1] == (ReplyStatus.ANSWERED, b"\0again")
    os.kill(pid, signal.SIGTERM)
    assert seats.reap(pid) == exit_codes.CLEAN
    turn_until(node, asker, lambda: node.session.is_over)


def test_the_process_is_killed_while_a_node_owes_it_answers(seats, stage):
    node, asker, pid = stage
    for number in range(5):
        asker.ask(PARTITION, PASS_ON, b"%d" % number)
    turn_until(node, asker, lambda: len(node.requests) == 5)
    seats.kill(pid, PARTITION)
    asker.turn()
    assert asker.replies == [(ReplyStatus.PEER_DIED, b"")] * 5
    turn_until(node, asker, lambda: node.session.is_over)
