"""A log of `__consumer_offsets` that an enemy wrote: whatever stands there, the load ends, and the worker goes on to serve.

Whoever calls itself `__admin_client` may write that log, as Kafka's tools do.
"""

import random

import pytest

from headrace.log.names import LOG_SUFFIX, path_of
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT, Record, build_batch, compute_crc
from headrace.workers.coordinators.group import loader as loading
from headrace.workers.coordinators.group.records import (
    encode_group,
    encode_offset,
    group_key,
    offset_key_prefix,
    suffix_of,
)
from tests.workers.partition.host_rig import join

GENERATION_MAX = 2**31 - 1
SEEDS = range(12)
BATCHES = 60

OFFSET = offset_key_prefix("g") + suffix_of("t", 0)
OTHER = offset_key_prefix("g") + suffix_of("t", 2)
VALUE = encode_offset(5, -1, b"", 1)


def group_value(generation=3, members=1, **fields):
    row = messages.GroupMetadataValue.MemberMetadata
    rows = [
        row(
            member_id=f"m{number}",
            client_id="c",
            client_host="/h",
            rebalance_timeout=10_000,
            session_timeout=10_000,
            subscription=b"",
            assignment=b"",
        )._replace(**fields)
        for number in range(members)
    ]
    return encode_group(
        messages.GroupMetadataValue(
            protocol_type="consumer", generation=generation, protocol="range", leader="m0", members=rows
        )
    )


def put(rig, *records, attributes=0, codec=0):
    """Records into the log as they are, beside one that is sound."""
    whole = build_batch(records, attributes=attributes, codec=codec, timestamp_ms=rig.logs.clock.ms)
    put_raw(rig, whole)


def put_raw(rig, data):
    """A batch into the segment itself: what is refused today may stand there from before."""
    log = rig.log
    clean = build_batch([(OFFSET, VALUE)], timestamp_ms=rig.logs.clock.ms)
    segment = path_of(log.directory, log.end_segment, LOG_SUFFIX)
    base = log.log_end_offset
    log.append_as_leader([memoryview(bytearray(clean))], 1, rig.logs.clock.ms)
    if data:
        raw = bytearray(segment.read_bytes())[: log.segments.active.size_bytes]
        raw += base.to_bytes(8, "big") + data[8:]
        segment.write_bytes(raw)
        log.segments.active.size_bytes = len(raw)


def use(rig):
    """Ask for everything that a loaded group can be asked for; every answer is encoded."""
    rig.load()
    rig.host.clock.now_ms += 1_000
    rig.host.do_work()
    groups = list(rig.host.by_partition[0].coordinator.groups)
    for group in groups:
        rig.ask(ApiKey.DESCRIBE_GROUPS, 4, messages.DescribeGroupsRequest(groups=[group]))
        for version in (2, 7):
            rig.ask(ApiKey.OFFSET_FETCH, version, messages.OffsetFetchRequest(group_id=group, topics=None))
        join(rig, group)
        member = messages.LeaveGroupRequest.MemberIdentity(member_id="m0")
        rig.ask(ApiKey.LEAVE_GROUP, 3, messages.LeaveGroupRequest(group_id=group, members=[member]))
        rig.host.do_work()
    rig.ask(ApiKey.LIST_GROUPS, 3, messages.ListGroupsRequest(states_filter=[], types_filter=[]))
    for _ in range(30):
        rig.host.clock.now_ms += 2**23
        rig.host.do_work()
    return groups


def test_an_offset_of_a_partition_below_0_ends_no_worker_and_has_no_lag_row(rig):
    put(rig, (offset_key_prefix("g") + suffix_of("t", -1), VALUE))
    put(rig)
    use(rig)
    assert [row.partition for row in rig.lags.rows()] == [0]


def test_a_group_of_the_last_generation_goes_on_with_the_first_one(rig):
    put(rig, (group_key("g"), group_value(GENERATION_MAX)))
    rig.load()
    got = join(rig)
    rig.host.clock.now_ms += 20_000
    rig.host.do_work()
    rig.host.clock.now_ms += 1
    rig.host.do_work()
    assert [answer.generation_id for answer in got] == [1]


HOSTILE = {
    "a name that is no text": (offset_key_prefix("g").replace(b"g", b"\xff") + suffix_of("t", 0), VALUE),
    "a name above 32767 bytes": (b"\0\1\xc3\x50" + b"a" * 50_000 + suffix_of("t", 0), VALUE),
    "a topic of another length than it says": (offset_key_prefix("g") + b"\0\7t\0\0\0\1", VALUE),
    "metadata that is no text": (OTHER, encode_offset(5, -1, b"\xff" * 30_000, 1)),
    "metadata of a negative length": (OTHER, VALUE[:14] + b"\xff\xf0" + VALUE[16:]),
    "a value of two bytes": (OTHER, b"\0\0"),
    "a value of another version": (OTHER, b"\0\x63" + VALUE[2:]),
    "a group whose value ends early": (group_key("g"), group_value()[:-3]),
    "a member that stands there twice": (group_key("g"), group_value(members=2, member_id="m")),
    "an instance that stands there twice": (group_key("g"), group_value(members=2, group_instance_id="i")),
    "an instance id without room for a member id": (group_key("g"), group_value(group_instance_id="i" * 32_760)),
    "a group's name that is no text": (group_key("g").replace(b"g", b"\xff"), group_value()),
    "an empty group key": (b"\0\2", group_value()),
    "no key": (None, VALUE),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("attributes", [0, TRANSACTIONAL_BIT, TRANSACTIONAL_BIT | CONTROL_BIT])
def test_a_hostile_record_is_left_out_and_its_neighbours_are_not(rig, what, attributes, caplog):
    put(rig, HOSTILE[what], attributes=attributes)
    put(rig)
    use(rig)
    assert rig.committed() == 5
    if not attributes:
        assert "corrupt data in the offsets log" in caplog.text


def test_what_is_left_out_is_told_in_so_many_lines_of_a_bounded_length(rig, caplog):
    put(rig, *[(b"\0\x63" + b"k" * 5_000, b"") for _ in range(100)])
    rig.load()
    told = [each for each in caplog.records if "skipped partition" in each.getMessage()]
    assert len(told) == loading.LOAD_REPORTS_MAX
    assert {each.levelname for each in told} == {"WARNING"}
    assert max(len(each.getMessage()) for each in told) < 400


def test_what_compressed_records_cost_counts_in_a_cycle(rig):
    rows = [(OFFSET, VALUE)] * 20_000
    for _ in range(4):
        put(rig, *rows, codec=4)
    assert rig.log.size_bytes < 100_000, "all of them in one slice"
    assert rig.load() >= 4, "20,000 records are more than a cycle's share, however few bytes they take"


def mutate(lot, data):
    """Some bytes of a key, value or record changed, cut or doubled."""
    data = bytearray(data)
    for _ in range(lot.randrange(1, 4)):
        kind = lot.randrange(4)
        place = lot.randrange(len(data) + 1)
        if kind == 0 and place < len(data):
            data[place] = lot.choice((0, 1, 127, 128, 255, lot.randrange(256)))
        elif kind == 1:
            del data[place:]
        elif kind == 2:
            data[place:place] = lot.randbytes(lot.choice((1, 2, 8, 300)))
        else:
            data[place : place + 4] = lot.choice((b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff"))
    return bytes(data)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_record_may_stand_in_the_log(rig, seed):
    lot = random.Random(seed)
    for _ in range(BATCHES):
        records = []
        for _ in range(lot.randrange(1, 6)):
            name = lot.choice(("g", "h", "i" * lot.choice((1, 300, 9_000))))
            if lot.random() < 0.5:
                key, value = offset_key_prefix(name) + suffix_of("t", lot.choice((0, 3, -1, GENERATION_MAX))), VALUE
            else:
                fields = {"group_instance_id": "s"} if lot.random() < 0.3 else {}
                timeout = lot.choice((-1, 0, 10, GENERATION_MAX, -GENERATION_MAX))
                generation = lot.choice((-1, 0, 7, GENERATION_MAX))
                key = group_key(name)
                value = group_value(generation, lot.randrange(3), session_timeout=timeout, **fields)
            if lot.random() < 0.4:
                key = mutate(lot, key)
            if lot.random() < 0.6:
                value = mutate(lot, value)
            records.append((key if lot.random() < 0.97 else None, value if lot.random() < 0.9 else None))
        attributes = lot.choice((0, 0, 0, TRANSACTIONAL_BIT, TRANSACTIONAL_BIT | CONTROL_BIT))
        batch = build_batch(records, attributes=attributes, producer_id=lot.choice((-1, 4)))
        if lot.random() < 0.2:
            body = mutate(lot, batch[61:])
            batch = bytearray(batch[:61] + body)
            batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
            if lot.random() < 0.8:
                batch[57:61] = lot.choice((0, 1, GENERATION_MAX, 5)).to_bytes(4, "big")
            batch[17:21] = compute_crc(batch).to_bytes(4, "big")
        put_raw(rig, bytes(batch))
    use(rig)


@pytest.mark.parametrize("magic", [0, 1])
def test_entries_of_old_formats_in_a_segment_are_loaded_and_so_is_what_follows_them(rig, magic):
    old = [Record(0, 1, offset_key_prefix("old") + suffix_of("t", 1), encode_offset(9, -1, b"", 1), ())]
    put_raw(rig, build_message_set(old, magic))
    put_raw(rig, build_message_set(old, magic, 2))
    put(rig, (offset_key_prefix("new") + suffix_of("t", 1), encode_offset(11, -1, b"", 1)))
    put_raw(rig, build_message_set(old, magic))  # the last entry is shorter than the header of a batch
    rig.load()
    assert (rig.committed("old", 1), rig.committed("new", 1), rig.committed()) == (9, 11, 5)
