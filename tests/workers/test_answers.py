"""Answers on their way to the rings: parts of what no message holds."""

import tracemalloc
from types import SimpleNamespace

from headrace.limits import ADMIN_RESPONSE_BYTES_MAX
from headrace.shm.messages import ADMIN_PART, ADMIN_RESULT, ADMIN_RESULT_HEADER
from headrace.workers.partition.answers import Answers

NETWORK_WORKER = 3
MESSAGE_BYTES_MAX = 32_768


class Ring:
    """Takes everything.

    written   (kind, request id, payload)
    """

    message_bytes_max = MESSAGE_BYTES_MAX

    def __init__(self):
        self.written = []

    def write(self, kind, header, payload):
        assert len(header) + len(payload) <= MESSAGE_BYTES_MAX
        self.written.append((kind, *ADMIN_RESULT_HEADER.unpack(header), bytes(payload)))
        return True

    def commit(self):
        pass


def answers_and_ring():
    ring = Ring()
    return Answers(SimpleNamespace(writers={NETWORK_WORKER: ring}, ring=lambda _process_id: None)), ring


def test_an_answer_that_no_message_holds_goes_in_parts_without_a_copy_of_the_rest_for_each():
    answers, ring = answers_and_ring()
    body = bytes(range(256)) * 20_000
    tracemalloc.start()
    answers.response(NETWORK_WORKER, 7, body)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < len(body) // 10
    answers.flush()
    kinds = [kind for kind, _request_id, _payload in ring.written]
    assert kinds == [ADMIN_PART] * (len(kinds) - 1) + [ADMIN_RESULT]
    assert {request_id for _kind, request_id, _payload in ring.written} == {7}
    assert b"".join(payload for _kind, _request_id, payload in ring.written) == body


def test_an_answer_above_the_largest_is_none():
    answers, ring = answers_and_ring()
    answers.response(NETWORK_WORKER, 7, bytes(ADMIN_RESPONSE_BYTES_MAX + 1))
    answers.flush()
    assert ring.written == [(ADMIN_RESULT, 7, b"")]
