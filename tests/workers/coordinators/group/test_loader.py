"""The offsets log into memory: the last word on every key, transactions, and what can't be read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.protocol import messages
from headrace.protocol.codec import encode_struct
from headrace.protocol.record_batch import (
    CONTROL_BIT,
    TRANSACTIONAL_BIT,
    Record,
    build_batch,
    iterate_batches,
    iterate_records,
    parse_header,
)
from headrace.workers.coordinators.group.loader import Loader
from headrace.workers.coordinators.group.records import (
    decode_offset,
    encode_group,
    encode_offset,
    group_key,
    offset_key_prefix,
    suffix_of,
)
from headrace.workers.coordinators.group.state import GroupState
from headrace.workers.partition.coordination.coordinator_batch import build_coordinator_batch, size_of

PRODUCER = 55


def offset_key(group, partition=0, topic="t"):
    return offset_key_prefix(group) + suffix_of(topic, partition)


def offset_record(group, offset, partition=0):
    return offset_key(group, partition), encode_offset(offset, 0, b"", 1_000)


def marker(base_offset, is_commit):
    key, value = b"\0\0" + (b"\0\1" if is_commit else b"\0\0"), b"\0\0\0\0\0\0"
    return build_batch(
        [(key, value)], base_offset=base_offset, producer_id=PRODUCER, producer_epoch=0,
        attributes=TRANSACTIONAL_BIT | CONTROL_BIT,
    )  # fmt: skip


def transactional(base_offset, *records):
    return build_batch(
        records, base_offset=base_offset, producer_id=PRODUCER, producer_epoch=0, attributes=TRANSACTIONAL_BIT
    )


def load(*batches):
    loader = Loader("__consumer_offsets-0")
    for batch in batches:
        loader.take(parse_header(batch), memoryview(batch))
    return loader, loader.finish(2_000)


def offsets_of(groups, group="g"):
    return {suffix: decode_offset(value).offset for suffix, value in groups[group].offsets.items()}


@pytest.mark.parametrize("codec", range(5))
def test_the_last_record_of_a_key_wins_and_a_tombstone_takes_it_away(codec):
    loader, groups = load(
        build_batch([offset_record("g", 1), offset_record("g", 1, 1), offset_record("h", 1)], codec=codec),
        build_batch([offset_record("g", 2), (offset_key("g", 1), None), (offset_key("h"), None)], base_offset=3),
    )
    assert offsets_of(groups) == {suffix_of("t", 0): 2}
    assert "h" not in groups
    assert (loader.records, loader.faults) == (6, 0)


def a_group(members=1):
    row = messages.GroupMetadataValue.MemberMetadata
    subscription = b"\0\0" + encode_struct(
        "ConsumerProtocolSubscription", 0, messages.ConsumerProtocolSubscription(topics=["t"])
    )
    return messages.GroupMetadataValue(
        protocol_type="consumer",
        generation=4,
        protocol="range",
        leader="m0" if members else None,
        current_state_timestamp=77,
        members=[
            row(
                member_id=f"m{number}", group_instance_id=f"i{number}", client_id="c", client_host="/h",
                rebalance_timeout=60_000, session_timeout=10_000, subscription=subscription, assignment=b"a",
            )
            for number in range(members)
        ],
    )  # fmt: skip


def test_a_group_is_stable_with_members_and_empty_without():
    _, groups = load(
        build_batch([(group_key("g"), encode_group(a_group(2))), (group_key("e"), encode_group(a_group(0)))])
    )
    group = groups["g"]
    assert (group.state, group.generation, group.leader, group.protocol) == (GroupState.STABLE, 4, "m0", "range")
    assert group.static == {"i0": "m0", "i1": "m1"}
    assert group.topics == {"t"}
    assert group.to_message() == a_group(2), "what is stored again is the same"
    assert (groups["e"].state, groups["e"].since_ms) == (GroupState.EMPTY, 77)


def test_a_transaction_counts_from_its_marker_on():
    _, groups = load(
        build_batch([offset_record("g", 1), offset_record("g", 1, 1)]),
        transactional(2, offset_record("g", 9)),
        marker(3, True),
        transactional(4, offset_record("g", 99)),
        marker(5, False),
    )
    assert offsets_of(groups) == {suffix_of("t", 0): 9, suffix_of("t", 1): 1}


def test_a_transaction_without_a_producer_is_no_transaction():
    """No marker ends it: its offsets were unstable at each load."""
    one = build_batch([offset_record("g", 9)], base_offset=0, producer_id=-1, attributes=TRANSACTIONAL_BIT)
    _loader, groups = load(one)
    assert not groups["g"].transactions
    assert [decode_offset(value).offset for value in groups["g"].offsets.values()] == [9]


def test_a_plain_commit_behind_the_transactional_one_wins_over_the_marker():
    _, groups = load(
        transactional(0, offset_record("g", 9), offset_record("g", 9, 1)),
        build_batch([offset_record("g", 5)], base_offset=2),
        marker(3, True),
    )
    assert offsets_of(groups) == {suffix_of("t", 0): 5, suffix_of("t", 1): 9}


def test_a_transaction_without_a_marker_is_still_open():
    _, groups = load(
        build_batch([offset_record("g", 1)]),
        transactional(1, offset_record("g", 9)),
        build_batch([offset_record("g", 3, 2)], base_offset=2),
    )
    group = groups["g"]
    assert offsets_of(groups) == {suffix_of("t", 0): 1, suffix_of("t", 2): 3}
    assert group.is_unstable(suffix_of("t", 0))
    group.end_transaction(PRODUCER, True)
    assert offsets_of(groups)[suffix_of("t", 0)] == 9


def test_what_cannot_be_read_is_left_out_and_the_rest_is_there(caplog):
    bad_crc = bytearray(build_batch([offset_record("g", 66)]))
    bad_crc[-1] ^= 1
    loader, groups = load(
        bytes(bad_crc),
        build_batch(
            [
                offset_record("g", 5),
                (None, b"x"),
                (b"", b"x"),
                (b"\0\1\0\x7fg", b"x"),
                (b"\0\2\0\x09g", b"x"),
                (b"\0\3\0\1g", b"a newer coordinator's"),
                (offset_key("g", 1), b"\0\3short"),
                (offset_key("g", 2), b"\0\x63unknown version"),
                (group_key("h"), b"\0\3rubbish"),
                (group_key("k"), b"\0\x63unknown version"),
                offset_record("g", 6, 3),
            ]
        ),
    )
    assert offsets_of(groups) == {suffix_of("t", 0): 5, suffix_of("t", 3): 6}
    assert set(groups) == {"g"}
    assert loader.faults == 10
    assert "corrupt data in the offsets log" in caplog.text


def test_reports_are_bounded(caplog):
    loader, _ = load(build_batch([(b"\0\x09rubbish", b"x")] * 500))
    assert loader.faults == 500
    assert len(caplog.records) == 20


@settings(deadline=None)
@given(st.binary(min_size=61, max_size=300))
def test_no_bytes_break_the_loader(data):
    whole = bytearray(build_batch([offset_record("g", 1)]))
    whole[61 : 61 + len(data) - 61] = data[61:]
    header = parse_header(whole)._replace(record_count=int.from_bytes(data[:2], "big"))
    fixed = header._replace(crc=__import__("crc32c").crc32c(bytes(whole[21:])))
    loader = Loader("x")
    loader.take(fixed, memoryview(whole))
    loader.finish(0)


KEYS = st.tuples(st.sampled_from(["g", "gé", "h" * 70]), st.integers(0, 3))
STEPS = st.lists(
    st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers(0, 2**40))), min_size=1, max_size=90), max_size=8
)


@settings(deadline=None)
@given(STEPS, st.integers(0, 4))
def test_any_history_loads_as_its_last_words(steps, codec):
    wanted, batches, position = {}, [], 0
    for step in steps:
        records = []
        for (group, partition), offset in step:
            value = None if offset is None else encode_offset(offset, 1, b"meta" * (offset % 40), 5)
            records.append((offset_key(group, partition), value))
            wanted[group, partition] = offset
        batches.append(build_batch(records, base_offset=position, codec=codec))
        position += len(step)
    loader, groups = load(*batches)
    found = {
        (group_id, partition): decode_offset(value).offset
        for group_id, group in groups.items()
        for partition in range(4)
        if (value := group.offsets.get(suffix_of("t", partition))) is not None
    }
    assert found == {key: offset for key, offset in wanted.items() if offset is not None}
    assert (loader.records, loader.faults) == (position, 0)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.binary(min_size=1, max_size=200), st.one_of(st.none(), st.binary(max_size=9_000))),
        min_size=1,
        max_size=80,
    ),
    st.integers(0, 4),
    st.one_of(st.none(), st.just((9, 2))),
)
def test_our_batches_are_batches(records, codec, producer):
    batch = build_coordinator_batch(records, 123, codec, producer)
    ((_, header, whole),) = iterate_batches(batch)
    assert whole == batch
    found = [(record.key, record.value) for record in iterate_records(batch)]
    assert found == records
    assert [record.offset for record in iterate_records(batch)] == list(range(len(records)))
    assert header.is_transactional == (producer is not None)
    if producer is None:
        whole = build_batch([Record(n, 123, *one) for n, one in enumerate(records)], codec=codec)
        assert bytes(batch) == whole
    if codec == 0:
        assert len(batch) - 61 <= size_of(records)
