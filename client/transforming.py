"""Consume, transform, produce, exactly once: what the blocking and the asyncio `transform` do alike.

    take -> group_metadata -> function -> begin, send, offsets, commit -> the next
                                          aborted, or the group has rebalanced: read on at what is committed

Results and the offsets of what they were made of are one transaction. The member's generation is read after the records were handed out,
and counts only where the group asks for nothing by then: partitions that were lost meanwhile have another generation, and the group's
coordinator refuses the offsets of the one before. The function runs before the transaction begins, so that nothing is open while it
computes, or where it raises.

After an abort, and where the outcome of a commit was not known, the consumer goes by what its group has committed.

Written as a generator of calls, which `transform` of either package makes, waiting or awaiting.

Source: KIP-447; Kafka's `ExactlyOnceMessageProcessor` (examples).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from headrace.backoff import pause_after
from headrace.client.consumer_options import Delivery
from headrace.client.consuming import COMMIT_S, Consuming
from headrace.client.engine.coordinator import Committed, GroupMetadata, fetch_committed
from headrace.client.engine.transaction_states import State
from headrace.client.in_hand import InHand
from headrace.client.records import Header
from headrace.client.steps import Done, Steps
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import CLIENT_TRANSFORM_TRIES_MAX

PAUSE_FIRST_S: Final = 0.05
PAUSE_MAX_S: Final = 1.0


class Output(NamedTuple):
    """A record to be sent, by the names of `producer.send`."""

    topic: str
    value: Any = None
    key: Any = None
    headers: Sequence[Header] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


Outputs = Output | Iterable[Output] | None


class Make(NamedTuple):
    """A call that is to be made, and in asyncio awaited where its result is to be."""

    call: Callable[[], Any]


class Stored(NamedTuple):
    """A transaction was committed with the results of so many records; 0: none came."""

    records: int


# What a consumer does for it


def take_together(state: Consuming, timeout: float, max_records: int) -> Steps[list[InHand]]:
    """Records of all partitions that are here, in hand; none where none came in that time."""
    found = yield from state.take_up(timeout, max_records)
    count = 0
    while found is not None:
        state.in_hand.append(found)
        count += len(found.run)
        if count >= max_records:
            break
        found = yield from state.take_up(0.0, max_records - count)
    return state.in_hand


def read_on_at_committed(state: Consuming) -> Steps[None]:
    """Every partition moves to what its group has committed, or to where it begins without; what is in hand counts for nothing."""
    names = list(state.fetching.subjects)
    coordinator = state.coordinator
    if coordinator is None:
        raise ValueError("rewind: the consumer has no group")
    known: dict[TopicPartition, Committed] = {}
    if names:
        asked = state.engine.start(fetch_committed(coordinator, names), "committed offsets")
        known = yield Done(asked, COMMIT_S)
    state.in_hand = []
    for name in names:
        subject = state.fetching.subjects.get(name)
        if subject is None:
            continue
        state.void(subject)
        at = known.get(name)
        if at is None:
            state.fetching.reset(name, state.options.start_ms)
        else:
            state.fetching.seek(name, at.offset, at.leader_epoch)


def group_metadata_of(state: Consuming) -> GroupMetadata:
    """raises   KafkaError UNKNOWN_MEMBER_ID, where its group has removed it; ValueError"""
    if state.options.group is None:
        raise ValueError("group_metadata: the consumer has no group")
    return GroupMetadata(state.options.group) if state.member is None else state.member.metadata


# What both `transform` do


def rounds(
    consumer: Any,
    producer: Any,
    function: Callable[[Any], Any],
    max_records: int,
    idle: float,
    sleep: Callable[[float], Any],
) -> Generator[Make | Stored, Any, None]:
    """One transaction after the other, for ever.

    raises   what the function raises; the failure of a producer that has ended; the last failure, where the same records could not be
             stored in CLIENT_TRANSFORM_TRIES_MAX transactions
    """
    state: Consuming = consumer._state
    if state.options.delivery is not Delivery.TRANSACTIONAL:
        raise ValueError(
            f"delivery: {state.options.delivery.value}: transform needs a consumer with delivery='transactional'"
        )
    failed = 0
    is_sure = False  # of the positions
    while True:
        if not is_sure:
            yield from _settled(producer)
            yield Make(consumer.rewind)
            is_sure = True
        yield Make(partial(consumer.poll_together, idle, max_records))
        in_hand = list(state.in_hand)
        if not in_hand:
            yield Stored(0)
            continue
        group = _member_of(state)
        if group is None:
            is_sure = False
            continue
        is_sure = False
        outputs = yield from _outputs(function, in_hand)
        try:
            yield from _one(producer, outputs, in_hand, group)
        except HeadraceError:
            failed += 1
            if failed >= CLIENT_TRANSFORM_TRIES_MAX or producer.transaction_state is State.FATAL_ERROR:
                raise
            yield from _settled(producer)
            yield Make(partial(sleep, pause_after(failed, PAUSE_FIRST_S, PAUSE_MAX_S)))
            continue
        failed, is_sure = 0, True
        state.all_done()
        yield Stored(sum(len(one.run) for one in in_hand))


def _member_of(state: Consuming) -> GroupMetadata | None:
    """Whose offsets these are; None: the group asks for something, or has removed us, and what is in hand may be another member's."""
    try:
        group = group_metadata_of(state)  # before the look at what it asks for
    except KafkaError as failure:
        if failure.code is not ErrorCode.UNKNOWN_MEMBER_ID:
            raise
        return None
    return None if state.has_to_act else group


def _outputs(function: Callable[[Any], Any], in_hand: list[InHand]) -> Generator[Make, Any, list[Output]]:
    outputs: list[Output] = []
    for one in in_hand:
        for record in one.run:
            made: Outputs = yield Make(partial(function, record))
            if isinstance(made, Output):
                outputs.append(made)
            elif made is not None:
                outputs.extend(made)
    return outputs


def _one(
    producer: Any, outputs: list[Output], in_hand: list[InHand], group: GroupMetadata
) -> Generator[Make, Any, None]:
    """One transaction. raises what its calls raise"""
    offsets = {
        one.subject.name: Committed(one.end, "", one.end_epoch) for one in in_hand
    }  # the last list of each counts
    yield Make(producer.begin_transaction)
    for output in outputs:
        topic, value, key, headers, partition, timestamp_ms = output
        fields = {"headers": headers, "partition": partition, "timestamp_ms": timestamp_ms}
        yield Make(partial(producer.send, topic, value, key, **fields))
    yield Make(partial(producer.send_offsets_to_transaction, offsets, group))
    yield Make(producer.commit_transaction)


def _settled(producer: Any) -> Generator[Make, Any, None]:
    """What a call before has left open is aborted, or committed where that was asked for. raises where it can't be known"""
    for _ in range(CLIENT_TRANSFORM_TRIES_MAX):
        before = producer.transaction_state
        if before is State.COMMITTING:
            try:
                yield Make(producer.commit_transaction)
            except HeadraceError:
                if producer.transaction_state is not State.ABORTABLE_ERROR:
                    raise
        elif before in (State.IN_TRANSACTION, State.ABORTABLE_ERROR, State.ABORTING):
            yield Make(producer.abort_transaction)
        else:
            return
