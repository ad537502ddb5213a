"""What the rings bring to a partition worker: produces go to the appender, everything else to the mailbox.

Runs in: a partition worker. The rings of the network workers are polled in each cycle; those of the controller, the
housekeeper and the other partition workers in a cycle that found nothing there, and in each OTHERS_CYCLES_MAX-th of the
others, so that a produce does not pay for rings that are nearly always empty. A worker that goes to sleep has polled all.

    poll -> Appender.gather (PRODUCE, PRODUCE_PART) | IsrKeeper.take (FOLLOWER_FETCHED) | Mailbox.take (the rest)
         -> Appender.append -> release

A network worker for which many answers wait is left out until it has taken them. Batches that lie in an arena are not seen in the
bytes of a ring: of these as many messages are taken as were, in the cycle before, REQUEST_BYTES_PER_CYCLE_MAX of batches.
"""

from __future__ import annotations

from headrace.limits import (
    APPENDS_PER_CYCLE_MAX,
    GROUP_REQUESTS_PER_CYCLE_MAX,
    OTHERS_CYCLES_MAX,
    REQUEST_BYTES_PER_CYCLE_MAX,
)
from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import FOLLOWER_FETCHED
from headrace.shm.seat import Seat
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.append import Appender
from headrace.workers.partition.replication.isr import IsrKeeper


class Intake:
    """The reading ends of one partition worker's rings."""

    def __init__(self, seat: Seat, answers: Answers, appender: Appender, mailbox: Mailbox, isr: IsrKeeper) -> None:
        self._seat = seat
        self._answers = answers
        self._appender = appender
        self._isr = isr
        self._mailbox = mailbox
        self._network_ids = tuple(seat.wiring.network_ids)
        self._others = tuple(peer for peer in seat.wiring.targets(seat.process_id) if peer not in self._network_ids)
        # Of a ring in this cycle: fewer after one in which groups asked, or batches came that lie in an arena.
        self._messages_max = APPENDS_PER_CYCLE_MAX
        self._busy_cycles = 0  # since the others' rings were polled

    def do_work(self, now_ms: int, monotonic_ms: int) -> int:
        """Take what the rings hold: of each `_messages_max` messages, REQUEST_BYTES_PER_CYCLE_MAX at most.

        now_ms         the date, for the records
        monotonic_ms   for the deadlines of requests that wait
        returns        number of messages taken
        """
        taken = self._take_from_network(now_ms, monotonic_ms)
        self._busy_cycles += 1
        if not taken or self._busy_cycles >= OTHERS_CYCLES_MAX:
            self._busy_cycles = 0
            taken += self._mailbox.poll(self._others)
        return taken

    def _take_from_network(self, now_ms: int, monotonic_ms: int) -> int:
        answers, appender, mailbox = self._answers, self._appender, self._mailbox
        readers, congested = self._seat.readers, mailbox.congested
        polled = []
        taken = others = 0
        for process_id in self._network_ids:
            if process_id in congested or answers.is_congested(process_id):
                continue
            reader = readers[process_id]
            messages = reader.poll(self._messages_max, REQUEST_BYTES_PER_CYCLE_MAX)
            if not messages:
                continue
            polled.append((process_id, reader))
            taken += len(messages)
            for kind, body in appender.gather(process_id, messages, monotonic_ms):
                if kind == FOLLOWER_FETCHED:
                    self._isr.take(body)
                    continue
                others += 1
                mailbox.take(process_id, kind, body)
        if not taken:
            return 0
        placed_bytes = appender.placed_bytes
        appender.append(now_ms, monotonic_ms)
        for process_id, reader in polled:
            if reader.release():
                self._seat.ring(process_id)
        self._messages_max = GROUP_REQUESTS_PER_CYCLE_MAX if others else APPENDS_PER_CYCLE_MAX
        if placed_bytes:
            self._messages_max = max(1, min(self._messages_max, taken * REQUEST_BYTES_PER_CYCLE_MAX // placed_bytes))
        return taken
