"""A partition that is written to: the real `ProducerState` of one producer in one log, from a hashable state to a hashable state.

    producer      (epoch, coordinator epoch, whether a transaction is open, its batches' sequences), None: not known
    verification  (epoch, is valid), None: there is none

Which requests its open transaction has is the world's to know (`world.py`).
"""

from pathlib import Path
from typing import Any, NamedTuple

from headrace.log.disk import Disk
from headrace.log.state.producer import Appended, Producer
from headrace.log.state.producer_state import ProducerState, Verification


class Log(NamedTuple):
    producer: Any = None
    verification: Any = None


class Partitions:
    """Steps of one search, each done once."""

    def __init__(self):
        self._steps = {}
        self._state = ProducerState(Path("."), Disk())

    def append(self, log, producer_id, epoch, sequence):
        """A batch of one record, as `LeaderAppend` does it.

        returns   (log, error or 0, "appended", "repeated", "unverified" or "refused")
        """
        return self._do(("append", log, producer_id, epoch, sequence))

    def ask(self, log, producer_id, epoch):
        """A question to the coordinator begins."""
        return self._do(("ask", log, producer_id, epoch))

    def verify(self, log, producer_id, epoch):
        """Its answer is yes, and is still of now."""
        return self._do(("verify", log, producer_id, epoch))

    def forget(self, log, producer_id):
        """Its answer is no."""
        return self._do(("forget", log, producer_id))

    def marker(self, log, producer_id, epoch, coordinator_epoch, is_abort):
        """returns (log, error or 0, what has ended)"""
        return self._do(("marker", log, producer_id, epoch, coordinator_epoch, is_abort))

    def _do(self, key):
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._make(*key)
        return found

    def _make(self, kind, log, producer_id, *arguments):
        state = self._thaw(log, producer_id)
        error, what = 0, ""
        if kind == "append":
            epoch, sequence = arguments
            error, repeated = state.check(producer_id, epoch, sequence, 0, 1)
            if error or repeated:
                what = "refused" if error else "repeated"
            elif state.must_verify(producer_id, epoch):
                what = "unverified"
            else:
                what = "appended"
                state.update(producer_id, epoch, sequence, 0, 0, 0, 1)
        elif kind == "ask":
            state.begin_verification(producer_id, *arguments)
        elif kind == "verify":
            state.verifications[producer_id].is_valid = True
        elif kind == "forget":
            state.verifications.pop(producer_id, None)
        else:
            epoch, coordinator_epoch, is_abort = arguments
            error = state.check_marker(producer_id, epoch, coordinator_epoch)
            if not error:
                state.end_transaction(producer_id, epoch, coordinator_epoch, 0, is_abort, 0)
        return self._freeze(state, producer_id), error, what

    def _thaw(self, log, producer_id):
        state = self._state
        state.clear()
        if log.producer is not None:
            epoch, coordinator_epoch, is_open, sequences = log.producer
            producer = Producer(epoch)
            producer.coordinator_epoch = coordinator_epoch
            if is_open:
                producer.txn_first_offset = 0
                state._ongoing[0] = producer_id
            producer.batches = [Appended(one, one, 0, 0, 0) for one in sequences]
            state.producers[producer_id] = producer
        if log.verification is not None:
            verification = state.verifications[producer_id] = Verification(log.verification[0])
            verification.is_valid = log.verification[1]
        return state

    def _freeze(self, state, producer_id):
        producer, verification = state.producers.get(producer_id), state.verifications.get(producer_id)
        return Log(
            None
            if producer is None
            else (
                producer.epoch,
                producer.coordinator_epoch,
                producer.txn_first_offset >= 0,
                tuple([one.first_sequence for one in producer.batches]),
            ),
            None if verification is None else (verification.epoch, verification.is_valid),
        )
