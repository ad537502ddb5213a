"""Ring messages keep their payloads aligned and their kinds within the ring's range."""

from headrace.shm import layout, messages


def test_kinds_differ_and_are_none_of_the_rings_own():
    kinds = [
        messages.PRODUCE,
        messages.RESULT,
        messages.RESULT_TEXT,
        messages.ADVANCED,
        messages.REQUEST,
        messages.REPLY,
        messages.REPLY_PART,
        messages.PRODUCE_PART,
        messages.REQUEST_PART,
    ]
    assert len(set(kinds)) == len(kinds)
    assert all(layout.KIND_PADDING < kind <= layout.KIND_MAX for kind in kinds)


def test_a_batch_after_its_header_stays_aligned():
    assert messages.PRODUCE_HEADER.size % layout.WORD == 0
    assert messages.RESULT_ENTRY.size % layout.WORD == 0


def test_the_widest_values_survive():
    fields = (2**64 - 1, 2**32 - 1, 2**32 - 1, 2**32 - 1, -(2**31), -1, 2**16 - 1, 2**32 - 1)
    assert messages.PRODUCE_HEADER.unpack(messages.PRODUCE_HEADER.pack(*fields)) == fields
    result = (2**64 - 1, 7, -1, 2**63 - 1, -1, -(2**63))
    assert messages.RESULT_ENTRY.unpack(messages.RESULT_ENTRY.pack(*result)) == result
