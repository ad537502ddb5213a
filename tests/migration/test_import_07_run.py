"""An import that dies anywhere and is run again: everything arrives once, in order, and the report says so."""

import dataclasses
import json

import pytest

from headrace.cli.import_07_report import ImportReport
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.migration import import_07_run
from headrace.migration.import_07_run import ImportPlan
from headrace.migration.import_07_state import BadState, StateFile
from headrace.migration.import_topic import ImportTopic, following
from headrace.protocol.message_07 import build_message_07, build_set_07
from headrace.protocol.record_batch import iterate_records, parse_header
from tests.support.segments_07 import write_segments

BATCH_BYTES = 200
SOURCE = {
    0: [b"message %d" % n for n in range(40)],
    2: [b"other %d" % n for n in range(7)],
}


class Died(Exception):
    """The process, at this instruction."""


class Topic:
    """A topic in memory: what a broker keeps of idempotent batches, and where the import dies."""

    def __init__(self):
        self.batches = {}  # partition: [(offset, batch)]
        self.ends = {}
        self.dies = {}  # "before" or "after" a send: how many more
        self.remembers = True  # producers; a broker forgets them after a day
        self.error = None

    def append(self, partition, batch):
        header = parse_header(batch)
        mine = [
            one
            for _offset, one in self.batches.get(partition, [])
            if parse_header(one).producer_id == header.producer_id
        ]
        if header.base_sequence and not (mine and self.remembers):
            raise KafkaError(ErrorCode.UNKNOWN_PRODUCER_ID, "who is that")
        if mine and self.remembers:
            last = parse_header(mine[-1])
            if (header.base_sequence, header.record_count) == (last.base_sequence, last.record_count):
                raise KafkaError(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, "there already")
            if header.base_sequence != following(last.base_sequence, last.record_count):
                raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "out of order")
        offset = self.ends.get(partition, 0)
        self.batches.setdefault(partition, []).append((offset, batch))
        self.ends[partition] = offset + header.record_count
        return offset

    def values(self, partition):
        return [record.value for _offset, batch in self.batches.get(partition, []) for record in iterate_records(batch)]

    def step(self, when):
        if when in self.dies:
            self.dies[when] -= 1
            if not self.dies[when]:
                raise Died


class FakeTarget(ImportTopic):
    """The cluster's answers, from a Topic."""

    def __init__(self, store, topic, partitions=3):
        super().__init__(self, topic)
        self.store, self.there = store, partitions

    cluster_id = "cluster"

    def prepare(self, partitions):
        assert partitions <= self.there

    def new_producer(self):
        return 77, 0

    def end_offset(self, partition):
        return self.store.ends.get(partition, 0)

    def start_offset(self, partition):
        return 0

    def retried(self, attempt, topics):
        return attempt()

    def _produce(self, name, batch):
        self.store.step("before")
        if self.store.error is not None:
            raise self.store.error
        offset = self.store.append(name.partition, batch)
        self.store.step("after")
        return offset

    def own_batches(self, partition, start, end, producer_id):
        for offset, batch in self.store.batches.get(partition, []):
            header = parse_header(batch)._replace(base_offset=offset)
            if start <= offset < end and header.producer_id == producer_id:
                yield header, batch


class NoCluster:
    def close(self):
        pass


def run(plan):
    report = ImportReport(is_quiet=True)
    return int(not import_07_run.run(plan, NoCluster(), report))


@pytest.fixture
def source(tmp_path):
    for partition, content in SOURCE.items():
        messages = [build_message_07(one) for one in content[:15]]
        messages += [build_set_07(content[15:19], 1), build_set_07(content[19:23], 2)] if len(content) > 15 else []
        messages += [build_message_07(one, 0) for one in content[23:]]
        write_segments(tmp_path / "old", "clicks", partition, [messages[:9], messages[9:20], messages[20:]])
    return tmp_path / "old"


@pytest.fixture
def topic():
    return Topic()


@pytest.fixture
def plan(source, tmp_path, topic, monkeypatch):
    monkeypatch.setattr(import_07_run, "ImportTopic", lambda _cluster, name: FakeTarget(topic, name))
    return ImportPlan(
        source,
        "clicks",
        "clicks",
        tmp_path / "state.json",
        "none",
        "import",
        BATCH_BYTES,
        False,
        True,
    )


def arrived(topic):
    return {partition: topic.values(partition) for partition in SOURCE}


def test_everything_arrives_in_order_and_reads_back(plan, topic, capsys):
    assert run(plan) == 0
    assert arrived(topic) == SOURCE
    said = capsys.readouterr().out
    assert said.count("read back: equal") == 2
    assert "clicks: 47 messages" in said
    assert len(topic.batches[0]) > 5


def test_a_second_run_carries_nothing(plan, topic, capsys):
    run(plan)
    first = capsys.readouterr().out
    assert run(plan) == 0
    assert arrived(topic) == SOURCE
    assert capsys.readouterr().out == first


@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("when", ["before", "after"])
def test_dying_around_every_send(plan, topic, when, remembers):
    """After a send it has arrived, and the state doesn't know; the broker may have forgotten the producer by then."""
    topic.remembers = remembers
    deaths = 0
    for step in range(1, 100):
        topic.batches, topic.ends = {}, {}
        plan.state_file.unlink(missing_ok=True)
        topic.dies = {when: step}
        try:
            run(plan)
            break
        except Died:
            deaths += 1
        topic.dies = {}
        assert run(plan) == 0
        assert arrived(topic) == SOURCE
    assert deaths > 8


def test_dying_at_every_send_of_one_import(plan, topic):
    for _ in range(100):
        topic.dies = {"after": 1}
        try:
            run(plan)
            break
        except Died:
            continue
    assert arrived(topic) == SOURCE
    assert run(plan) == 0


def test_dying_around_every_write_of_the_state(plan, topic, monkeypatch):
    write = StateFile.write
    for is_written in (False, True):
        for step in range(1, 60):
            topic.batches, topic.ends = {}, {}
            plan.state_file.unlink(missing_ok=True)
            left = [step]

            def dying(self, state, left=left, is_written=is_written):
                left[0] -= 1
                if not left[0]:
                    if is_written:
                        write(self, state)
                    raise Died
                write(self, state)

            monkeypatch.setattr(StateFile, "write", dying)
            try:
                run(plan)
                break
            except Died:
                pass
            monkeypatch.setattr(StateFile, "write", write)
            assert run(plan) == 0
            assert arrived(topic) == SOURCE


def test_a_batch_that_was_under_way_lands_after_the_look_for_it(plan, topic, monkeypatch):
    """The look behind the last acknowledged offset missed it; the broker then calls ours a duplicate."""
    topic.dies = {"after": 3}
    with pytest.raises(Died):
        run(plan)
    topic.dies = {}
    looks = []
    look = FakeTarget.arrived

    def late(self, partition, start, producer_id, sequence):
        looks.append(partition)
        return (0, start) if len(looks) == 1 else look(self, partition, start, producer_id, sequence)

    monkeypatch.setattr(FakeTarget, "arrived", late)
    assert run(plan) == 0
    assert arrived(topic) == SOURCE


def test_other_writers_are_no_hindrance(plan, topic):
    from headrace.protocol.record_batch import build_batch

    topic.dies = {"after": 4}
    with pytest.raises(Died):
        run(plan)
    topic.dies = {}
    topic.append(0, build_batch([(None, b"somebody else's")], producer_id=5, producer_epoch=0, base_sequence=0))
    assert run(plan) == 0
    assert [value for value in topic.values(0) if value != b"somebody else's"] == SOURCE[0]


def test_a_source_that_has_grown_is_carried_on(plan, source, topic):
    topic.dies = {"after": 9}
    with pytest.raises(Died):
        run(plan)
    topic.dies = {}
    last = max((source / "clicks-0").glob("*.kafka"))
    last.write_bytes(last.read_bytes() + build_message_07(b"new"))
    assert run(plan) == 0
    assert topic.values(0) == [*SOURCE[0], b"new"]


def test_damage_stops_the_import_with_its_place_or_is_left_out_and_counted_once(plan, source, topic, capsys):
    first = min((source / "clicks-0").glob("*.kafka"))
    content = bytearray(first.read_bytes())
    content[50] ^= 1
    first.write_bytes(content)
    with pytest.raises(HeadraceError, match=r"0\.kafka byte 38: .*--skip-damaged"):
        run(plan)
    skipping = dataclasses.replace(plan, is_damage_skipped=True)
    topic.dies = {"after": 1}
    with pytest.raises(Died):
        run(skipping)
    topic.dies = {}
    assert run(skipping) == 0
    assert run(skipping) == 0
    assert topic.values(0) == [value for value in SOURCE[0] if value != b"message 2"]
    said = capsys.readouterr().out
    assert "1 damaged ranges skipped (19 bytes)" in said
    assert "skipped, damaged" in said


def test_a_topic_that_differs_is_told(plan, topic, capsys):
    run(plan)
    topic.batches[0].pop()
    assert run(plan) == 1
    assert "DIFFERENT" in capsys.readouterr().out


def test_a_recreated_topic_is_told_from_one_that_continues(plan, topic):
    topic.dies = {"after": 4}
    with pytest.raises(Died):
        run(plan)
    topic.dies, topic.batches, topic.ends = {}, {}, {}
    with pytest.raises(HeadraceError, match="the topic was recreated"):
        run(plan)
    plan.state_file.unlink()
    assert run(plan) == 0
    assert arrived(topic) == SOURCE


def test_errors_of_the_broker_name_file_and_byte(plan, topic):
    topic.error = KafkaError(ErrorCode.MESSAGE_TOO_LARGE, "too large")
    with pytest.raises(HeadraceError, match=r"0\.kafka byte 0: .*max.message.bytes"):
        run(plan)
    topic.error = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "no")
    with pytest.raises(HeadraceError, match=r"0\.kafka byte 0: TOPIC_AUTHORIZATION_FAILED"):
        run(plan)


def test_the_state_of_another_import_is_refused(plan, source):
    run(plan)
    (source / "clicks-0").rename(source / "views-0")
    with pytest.raises(BadState, match="belongs to another import, of clicks"):
        run(dataclasses.replace(plan, source_topic="views"))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b'{"version": 2}', b'{"version": 1}', b'{"version": 1, "partitions": []}', b"\xff",
     b'{"version": 1, "partitions": {"0": {}}}'],
)  # fmt: skip
def test_a_state_file_that_is_none_is_refused(plan, content):
    plan.state_file.write_bytes(content)
    with pytest.raises(BadState, match=r"state\.json"):
        run(plan)


def test_a_place_in_the_state_that_is_none_is_refused(plan):
    run(plan)
    content = json.loads(plan.state_file.read_text())
    content["partitions"]["0"]["place"] = [1, "2", 3]
    plan.state_file.write_text(json.dumps(content))
    with pytest.raises(BadState):
        run(plan)


def test_two_imports_with_one_state_are_refused(plan):
    states = StateFile(plan.state_file)
    with pytest.raises(BadState, match="another import is using it"):
        run(plan)
    states.close()
    assert run(plan) == 0


def test_a_directory_that_can_not_be_read(plan, tmp_path):
    with pytest.raises(HeadraceError, match="No such file"):
        run(dataclasses.replace(plan, directory=tmp_path / "nowhere"))
