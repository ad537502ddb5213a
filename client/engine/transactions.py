"""A transactional id as its producer sees it: the state, and the requests to coordinators.

    init         FindCoordinator, InitProducerId                          a producer id, an epoch: earlier producers are fenced
    enlist       AddPartitionsToTxn, before the first batch to a partition
    send_offsets AddOffsetsToTxn; TxnOffsetCommit to the group's coordinator
    commit       what is buffered is stored first; EndTxn
    abort        what is buffered is given up, what is in flight is waited for; EndTxn

The states are a table (`transaction_states.py`), and so is what an error code means (`transaction_errors.py`).

A request without an answer may have been carried out, or may be carried out later: a copy of EndTxn that arrives in the next
transaction would end that one. It is sent again over a new connection, as the old one is closed, and the coordinator of a Headrace node
refuses what comes over the older one. Other brokers don't: so before the next transaction the epoch is raised (KIP-360), and the old
copy is fenced. The same is done after an abort that an error has led to, as sequences may have a gap. Brokers before Kafka 2.5 can't
raise it: the producer goes on where no sequence is missing, and ends where one is.

Source: Kafka `TransactionManager`; KIP-98, KIP-360, KIP-447.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from headrace.client.engine.coordinator import KEY_TYPE_TRANSACTION, Coordinator, GroupMetadata, Position
from headrace.client.engine.offsets import grouped
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.engine.requests import Requests
from headrace.client.engine.tasks import Ask, Pause, Procedure, Task, Tasks, retry_pause_s
from headrace.client.engine.transaction_errors import Verdict, failure_for, verdict_of
from headrace.client.engine.transaction_states import OPEN, TABLE, Act, Event, State
from headrace.client.failures import ConnectionFailed, NotSent, TransactionAbortable, TransactionAborted, error_of
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_GENERATION, NO_PRODUCER_ID, TopicPartition
from headrace.limits import CLIENT_TRANSACTION_TRIES_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.state_table import IGNORED, NEVER, Story, UnexpectedEvent

INIT_VERSIONS: Final = (0, 5)
RENEWING_VERSION: Final = 3  # of InitProducerId, which raises the epoch of the id that it names
MEMBER_VERSION: Final = 3  # of TxnOffsetCommit, which names a group's member
PAUSE_FIRST_S: Final = 0.02  # coordinators write markers meanwhile
PAUSE_MAX_S: Final = 0.5
_NEEDS_RENEWAL: Final = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    }
)


class Batches(Protocol):
    """What a transaction asks of the batches that are sent in it."""

    has_gap: bool  # a sequence was given to a batch that may not be stored

    def renumber(self, producer_id: int, epoch: int) -> None: ...

    def release(self, names: Iterable[TopicPartition]) -> None: ...

    def close_open(self) -> None: ...

    def drop_waiting(self, failure: HeadraceError) -> None: ...

    def drained(self) -> Procedure[None]: ...

    def forget_failures(self) -> None: ...


class Transactions:
    """The transactions of one producer, one after the other.

    failure      why the state is ABORTABLE_ERROR or FATAL_ERROR
    partitions   that the coordinator knows to be written to in this transaction
    """

    def __init__(self, requests: Requests, tasks: Tasks, options: ProducingOptions, batches: Batches) -> None:
        assert options.transactional_id is not None
        self.transactional_id = options.transactional_id
        self.state = State.UNINITIALIZED
        self.failure: KafkaError | None = None
        self.partitions: set[TopicPartition] = set()
        self.producer_id, self.epoch = NO_PRODUCER_ID, -1
        self._timeout_ms = options.transaction_timeout_ms
        self._request_timeout_s = options.request_timeout_ms / 1000
        self._requests = requests
        self._tasks = tasks
        self._batches = batches
        self._coordinator = Coordinator(requests, self.transactional_id, key_type=KEY_TYPE_TRANSACTION)
        self._groups: dict[str, Coordinator] = {}  # whose offsets this transaction has
        self._new: dict[TopicPartition, None] = {}  # to be enlisted
        self._has_begun = False  # the coordinator may know of this transaction
        self._has_lost = False  # an answer: the request may be carried out later
        self._is_renewing = False  # before anything else of the next transaction
        self._must_renew = False
        self._call: Task[None] | None = None  # init, commit or abort, whichever was last
        self._enlisting: Task[None] | None = None
        self._renewal: Task[None] | None = None
        self._sending: dict[Task[None], None] = {}  # offsets
        self._story = Story()

    # What the program calls

    def init(self) -> Task[None]:
        """raises   as the others: KafkaError INVALID_TXN_STATE where it is out of place; the failure that the state is about"""
        return self._called(Event.INIT, self._initialized, "a producer id and an epoch")

    def begin(self) -> None:
        self._happens(Event.BEGIN)
        if self._is_renewing:
            self._renewal = self._tasks.start(self._renewed_before(), "a new epoch")

    def check_send(self) -> None:
        self._happens(Event.SEND)

    def commit(self) -> Task[None]:
        self._batches.close_open()
        return self._called(Event.COMMIT, self._committed, "commit of a transaction")

    def abort(self) -> Task[None]:
        return self._called(Event.ABORT, self._aborted, "abort of a transaction")

    def send_offsets(self, offsets: Mapping[TopicPartition, Position], group: GroupMetadata) -> Task[None]:
        """Offsets that are committed with the transaction. A failure of the task has failed the transaction too."""
        self._happens(Event.SEND)
        task = self._tasks.start(
            self._offsets_sent(offsets, group), f"offsets of group {group.group_id} in a transaction"
        )
        if not task.is_done:
            self._sending[task] = None
            task.on_done(lambda done: self._sending.pop(done, None))
        return task

    # What the batches call

    def enlist(self, name: TopicPartition) -> None:
        """A batch of this partition is to be sent, once `release` names it."""
        if name not in self.partitions:
            self._new[name] = None

    def turn(self) -> None:
        if self._new and self.state in OPEN and (self._enlisting is None or self._enlisting.is_done):
            self._enlisting = self._tasks.start(self._enlisted(), "partitions of a transaction")

    def batch_failed(self, failure: HeadraceError) -> None:
        """A batch was refused, or is too old."""
        if isinstance(failure, KafkaError):
            verdict = verdict_of(ApiKey.PRODUCE, failure.code)
            self._fail(failure_for(verdict, failure))
        else:
            self._fail(failure)

    # The state

    def _happens(self, event: Event) -> Act | None:
        step = TABLE[self.state][event]
        self._story.note(self.state, event)
        if step is IGNORED:
            return None
        if step is NEVER:
            raise UnexpectedEvent(f"transactional id {self.transactional_id}: {event.name}: {self._story}")
        assert not isinstance(step, type(IGNORED))
        act: Act | None = step.act
        if act is Act.MISUSE:
            hint = ": call init_transactions first" if self.state is State.UNINITIALIZED else ""
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"{event.value}: producer of {self.transactional_id} is {self.state.value}{hint}",
            )
        if act is Act.REFUSE:
            raise self._again()
        (self.state,) = step.states
        return act

    def _again(self) -> KafkaError:
        """The failure that led here: a new one, as each has the place where it was raised."""
        failure = self.failure
        assert failure is not None
        return type(failure)(failure.code, failure.message)

    def _called(self, event: Event, procedure: Callable[[], Procedure[None]], what: str) -> Task[None]:
        act = self._happens(event)
        call = self._call
        if act is Act.WAIT_ON and call is not None and not call.is_done:
            return call
        self._call = self._tasks.start(_after(call, procedure()), f"{what} of {self.transactional_id}")
        return self._call

    def _fail(self, failure: HeadraceError) -> None:
        """The transaction, or the producer, has failed: what waits to be sent is given up."""
        known: KafkaError
        if isinstance(failure, TransactionAbortable) or (
            isinstance(failure, KafkaError) and not failure.code.retriable
        ):
            known = failure
        else:
            code = failure.code if isinstance(failure, KafkaError) else ErrorCode.NETWORK_EXCEPTION
            known = TransactionAbortable(code, str(failure))
        is_abortable = isinstance(known, TransactionAbortable)
        if is_abortable and known.code in _NEEDS_RENEWAL:
            self._must_renew = True
        before = self.state
        self._happens(Event.ABORTABLE if is_abortable else Event.FATAL)
        if self.state is before:
            return
        self.failure = known
        self._new.clear()
        self._batches.drop_waiting(known)

    # Procedures

    def _initialized(self) -> Procedure[None]:
        try:
            answer = yield from self._identify(INIT_VERSIONS, NO_PRODUCER_ID, -1)
        except HeadraceError as failure:
            if _is_for_now(failure):
                self._happens(Event.UNREACHED)
                raise
            self._fail(failure)
            raise self._again() from None
        self._take_identity(answer)

    def _committed(self) -> Procedure[None]:
        yield from self._batches.drained()
        yield from self._quiet()
        if self.state is not State.COMMITTING:
            self._batches.forget_failures()  # the caller hears of it here
            raise self._again()
        if self._has_begun:
            try:
                yield from self._end(is_commit=True)
            except HeadraceError as failure:
                if _is_for_now(failure):
                    raise  # called again, it is asked again
                self._fail(failure)
                raise self._again() from None
        self._is_renewing = self._has_lost
        self._over()

    def _aborted(self) -> Procedure[None]:
        has_failed = self.failure is not None
        self._batches.drop_waiting(_dropped(self.failure))
        yield from self._batches.drained()
        yield from self._quiet()
        try:
            if self._has_begun:
                try:
                    yield from self._end(is_commit=False)
                except TransactionAbortable:  # there is none: it has ended by itself, or never was one
                    has_failed = True
            if has_failed or self._has_lost or self._batches.has_gap:
                yield from self._renew()
        except HeadraceError as failure:
            if _is_for_now(failure):
                raise
            self._fail(failure)
            raise self._again() from None
        self._batches.forget_failures()
        self._over()

    def _over(self) -> None:
        """The transaction has ended; the next one begins with nothing."""
        self._happens(Event.ENDED)
        self.failure = None
        self.partitions.clear()
        self._groups.clear()
        self._new.clear()
        self._has_begun = self._has_lost = False

    def _quiet(self) -> Procedure[None]:
        """Until nothing of this transaction is asked any more."""
        for task in (self._renewal, self._enlisting, *self._sending):
            if task is not None and not task.is_done:
                yield from _settled(task)

    def _enlisted(self) -> Procedure[None]:
        kind = messages.AddPartitionsToTxnRequest
        try:
            yield from self._renewal_done()
            while self._new and self.state in OPEN:
                names, self._new = self._new, {}
                topics = [kind.AddPartitionsToTxnTopic(topic, found) for topic, found in grouped(names).items()]
                request = kind(
                    v3_and_below_transactional_id=self.transactional_id,
                    v3_and_below_producer_id=self.producer_id,
                    v3_and_below_producer_epoch=self.epoch,
                    v3_and_below_topics=topics,
                )
                self._has_begun = True
                yield from self._ask(
                    self._coordinator, ApiKey.ADD_PARTITIONS_TO_TXN, (0, 3), request, _code_of_partitions, is_open=True
                )
                self.partitions.update(names)
                self._batches.release(names)
        except HeadraceError as failure:
            self._fail(failure)

    def _offsets_sent(self, offsets: Mapping[TopicPartition, Position], group: GroupMetadata) -> Procedure[None]:
        try:
            yield from self._renewal_done()
            if group.group_id not in self._groups:
                request = messages.AddOffsetsToTxnRequest(
                    self.transactional_id, self.producer_id, self.epoch, group.group_id
                )
                self._has_begun = True
                yield from self._ask(self._coordinator, ApiKey.ADD_OFFSETS_TO_TXN, (0, 4), request, _code, is_open=True)
                self._groups.setdefault(group.group_id, Coordinator(self._requests, group.group_id))
            low = 0 if group.generation == NO_GENERATION and not group.member_id else MEMBER_VERSION
            yield from self._ask(
                self._groups[group.group_id],
                ApiKey.TXN_OFFSET_COMMIT,
                (low, 4),
                self._offsets_request(offsets, group),
                _code_of_offsets,
                is_open=True,
            )
        except HeadraceError as failure:
            self._fail(failure)
            raise (failure if self.failure is None else self._again()) from None

    def _offsets_request(self, offsets: Mapping[TopicPartition, Position], group: GroupMetadata) -> Any:
        kind = messages.TxnOffsetCommitRequest
        topics: dict[str, list[Any]] = {}
        for name, (offset, epoch, metadata) in sorted(offsets.items()):
            row = kind.TxnOffsetCommitRequestPartition(name.partition, offset, epoch, metadata)
            topics.setdefault(name.topic, []).append(row)
        return kind(
            transactional_id=self.transactional_id,
            group_id=group.group_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=group.generation,
            member_id=group.member_id,
            group_instance_id=group.instance_id,
            topics=[kind.TxnOffsetCommitRequestTopic(topic, rows) for topic, rows in topics.items()],
        )

    def _end(self, is_commit: bool) -> Procedure[None]:
        request = messages.EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, is_commit)
        yield from self._ask(self._coordinator, ApiKey.END_TXN, (0, 4), request, _code)

    # The epoch

    def _renewal_done(self) -> Procedure[None]:
        """raises   TransactionAborted, where the transaction has failed meanwhile"""
        if self._renewal is not None:
            yield from _settled(self._renewal)
        if self.state not in OPEN:
            raise TransactionAborted(ErrorCode.INVALID_TXN_STATE, "the transaction has failed before this was asked")

    def _renewed_before(self) -> Procedure[None]:
        """Before anything of a transaction, as an answer of the one before was lost."""
        try:
            yield from self._renew()
        except HeadraceError as failure:
            self._fail(failure)

    def _renew(self) -> Procedure[None]:
        """Raise the epoch: what was sent before is fenced, and sequences begin with 0. raises KafkaError, ConnectionFailed"""
        try:
            answer = yield from self._identify((RENEWING_VERSION, INIT_VERSIONS[1]), self.producer_id, self.epoch)
        except KafkaError as failure:
            if failure.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            if self._must_renew or self._batches.has_gap:
                text = f"the producer cannot continue after this abort, brokers before Kafka 2.5 cannot raise its epoch: {failure.message}"
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text) from None
            self._is_renewing = False
            return
        self._take_identity(answer)

    def _identify(self, versions: tuple[int, int], producer_id: int, epoch: int) -> Procedure[Any]:
        request = messages.InitProducerIdRequest(self.transactional_id, self._timeout_ms, producer_id, epoch)
        return (yield from self._ask(self._coordinator, ApiKey.INIT_PRODUCER_ID, versions, request, _code))

    def _take_identity(self, answer: Any) -> None:
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self._is_renewing = self._must_renew = self._has_lost = False
        self._happens(Event.IDENTIFIED)
        self._batches.renumber(self.producer_id, self.epoch)

    # Requests

    def _ask(
        self,
        coordinator: Coordinator,
        api_key: int,
        versions: tuple[int, int],
        request: Any,
        code_of: Callable[[Any], int],
        is_open: bool = False,
    ) -> Procedure[Any]:
        """The response that has no error.

        is_open   it is given up where the transaction fails meanwhile
        raises    what `transaction_errors` makes of a code; the last failure, where trying again did not help
        """
        for tries in range(1, CLIENT_TRANSACTION_TRIES_MAX + 1):
            is_sent = False
            failure: HeadraceError
            try:
                node = yield from coordinator.find()
                is_sent = True
                answer = yield Ask(node, api_key, versions, request, self._request_timeout_s)
                code = code_of(answer)
                if not code:
                    return answer
                failure = error_of(code, f"{ApiKey(api_key).api_name} of {self.transactional_id}")
            except ConnectionFailed as failed:
                failure = failed
                self._has_lost |= is_sent and not isinstance(failed, NotSent)
                coordinator.forget()
            except KafkaError as failed:
                failure = failed
            if isinstance(failure, KafkaError):
                verdict = verdict_of(api_key, failure.code)
                if verdict is Verdict.MOVED:
                    coordinator.forget()
                elif verdict is not Verdict.AGAIN:
                    raise failure_for(verdict, failure)
            if tries == CLIENT_TRANSACTION_TRIES_MAX or (is_open and self.state not in OPEN):
                raise failure
            yield Pause(retry_pause_s(tries, PAUSE_FIRST_S, PAUSE_MAX_S))
        raise AssertionError("unreachable")


def _is_for_now(failure: HeadraceError) -> bool:
    """Whether nothing was decided: no coordinator could be asked for as long as it was tried."""
    return isinstance(failure, ConnectionFailed) or (isinstance(failure, KafkaError) and failure.code.retriable)


def _dropped(failure: KafkaError | None) -> KafkaError:
    """Of a record that was not sent."""
    text = "the transaction was aborted" if failure is None else f"the transaction was aborted: {failure.message}"
    return TransactionAborted(ErrorCode.INVALID_TXN_STATE, text)


def _settled(task: Task[Any]) -> Procedure[None]:
    """Until a task is done, whatever came of it."""
    try:
        yield task
    except HeadraceError:
        pass  # it has failed the transaction itself


def _after(call: Task[Any] | None, procedure: Procedure[None]) -> Procedure[None]:
    """One call after the other."""
    if call is not None and not call.is_done:
        yield from _settled(call)
    yield from procedure


def _code(answer: Any) -> int:
    return int(answer.error_code)


def _code_of_partitions(answer: Any) -> int:
    rows = [row for topic in answer.results_by_topic_v3_and_below for row in topic.results_by_partition]
    return _worst([row.partition_error_code for row in rows])


def _code_of_offsets(answer: Any) -> int:
    return _worst([row.error_code for topic in answer.topics for row in topic.partitions])


def _worst(codes: list[int]) -> int:
    """Of several rows: what is final before what may pass, and the cause before those that suffer by it."""
    found = [code for code in codes if code]
    causes = [code for code in found if code != ErrorCode.OPERATION_NOT_ATTEMPTED] or found
    final = [code for code in causes if not error_of(code, "").code.retriable] or causes
    return int(final[0]) if final else 0
