"""What may happen next: clients, connections, appends, failovers and markers around the real coordinator and the real producer state.

`World.next_of` tells each (story, state, is a fault, violation) that follows a state. Faults have budgets. All else is progress: what
happens when messages are delivered. Time passes where nothing else can happen, and earlier by a budget.

A plan of a client is a text: I InitProducerId, A AddPartitions, P Produce, O AddOffsets, T TxnOffsetCommit, + commit, - abort,
B InitProducerId with the epoch that it has.
"""

from headrace.errors import ErrorCode
from headrace.workers.coordinators.transaction.events import (
    AddPartitions,
    EndTransaction,
    Identity,
    InitProducer,
    Verified,
    VerifyPartitions,
)
from headrace.workers.coordinators.transaction.state import TransactionState
from headrace.workers.partition.coordination import marker_sender
from tests.model.coordinator_step import COMMIT, FAIL, ID, LATE, TIMEOUT_MS, Broken, Coordinators, slot
from tests.model.invariants import entry_of, judge
from tests.model.partition_step import Partitions
from tests.model.scenarios import ACCEPT, FIRST_ANSWER
from tests.model.state import (
    DATA,
    GROUP,
    IN_PLAN,
    NODES,
    PLACES,
    Client,
    Connection,
    Deposed,
    Draft,
    Loose,
    Part,
    Request,
    State,
    Violation,
    name_of,
)
from tests.model.story import NAMES, loose_name, marker_name, node_name, record_name, told, where

_E = ErrorCode
AGAIN = {
    _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_COORDINATOR,
    _E.CONCURRENT_TRANSACTIONS,
    _E.COORDINATOR_LOAD_IN_PROGRESS,
    _E.NOT_ENOUGH_REPLICAS,
}
FENCED = {_E.PRODUCER_FENCED, _E.INVALID_PRODUCER_EPOCH, _E.INVALID_PRODUCER_ID_MAPPING}
BUDGETS = (
    "timeouts", "failovers", "reloads", "fails", "lates", "time_outs", "waits", "lost_markers", "slow_outcomes", "give_ups",
    "crashes",
)  # fmt: skip
(
    TIMEOUTS, FAILOVERS, RELOADS, FAILS, LATES, TIME_OUTS, WAITS, LOST_MARKERS, SLOW_OUTCOMES, GIVE_UPS, CRASHES,
) = range(len(BUDGETS))  # fmt: skip
OF_TIME = {"ParkTime": WAITS, "TransactionTime": TIME_OUTS}
_ADDED = {"A": frozenset((PLACES[DATA],)), "O": frozenset((PLACES[GROUP],))}


class World:
    """A scenario's."""

    def __init__(self, scenario, uses_floor=True):
        self.scenario = scenario
        self.coordinators = Coordinators(uses_floor)
        self.partitions = Partitions()
        self._left = tuple(getattr(scenario, name) for name in BUDGETS)

    def first(self):
        """The first client has its epoch, unless its plan asks for one."""
        steps = self.coordinators
        clients = [Client() for _plan in self.scenario.plans]
        connections, value, highest = (), None, (-1, -1)
        bundle = steps.load(None, 0).bundle
        if self.scenario.plans[0][0] != "I":
            step = steps.request(bundle, InitProducer(ID, TIMEOUT_MS, (-1, -1), 1, (-1, 0, 0, "I")))
            value = steps.bundles[step.bundle].appending
            step = steps.outcome(step.bundle, COMMIT)
            identity = step.answers[0][1]
            bundle, highest = step.bundle, (identity.epoch, 0)
            clients[0] = Client(producer_id=identity.producer_id, epoch=identity.epoch)
            connections = (Connection(1, 0, 0, 1, True),)
        return State(
            connections, tuple(clients), 0, 1, bundle, value, None, Part(), Part(), (), (), (), (), 2, 2, highest,
            (0,) * len(BUDGETS),
        )  # fmt: skip

    # What may happen

    def next_of(self, state):
        moves = list(self._progress(state))
        if not moves:
            moves = list(self._time(state, is_all=True))
        moves += self._faults(state)
        for story, is_fault, act in moves:
            draft = Draft(state)
            try:
                act(draft)
                following = draft.freeze()
                judge(following)
            except (Violation, Broken) as failure:
                yield story, None, is_fault, str(failure)
                continue
            yield story, following, is_fault, None

    def _progress(self, state):
        for number, client in enumerate(state.clients):
            if client.at == -1 and not client.status and self.kind_of(number, client):
                yield from self._sends(state, number, client)
        for one in state.connections:
            if one.queue:
                if one.order or self.scenario.hands == FIRST_ANSWER:
                    if one.node < DATA or state[7 + one.node - DATA].question is None:
                        yield (
                            f"{told(one.queue[0])} arrives over connection {one.number}",
                            False,
                            _call(self._deliver, one),
                        )
                else:
                    yield f"connection {one.number} is accepted", False, _call(self._accept, one.number)
        bundle = self.coordinators.bundles[state.bundle]
        if bundle.appending is not None:
            yield f"the record is committed: {record_name(bundle)}", False, _call(self._settle_append, COMMIT)
        for timer in bundle.timers:
            if timer[2] == "CompleteTime":
                yield "time for Complete", False, _call(self._fire, timer)
        for job in bundle.jobs:
            for place in sorted(job[4]):
                yield (
                    f"{marker_name(job)} is written to {where(place)}",
                    False,
                    _call(self._write_marker, job, place, True),
                )
        for outcome in bundle.outcomes:
            yield "the coordinator hears of a marker", False, _call(self._tell, outcome)
        for node in (DATA, GROUP):
            yield from self._questions(state, node)
        for one in dict.fromkeys(state.loose):
            yield (
                f"a late copy of {loose_name(one)} arrives at {where(PLACES[one.node])}",
                False,
                _call(self._write_loose, one),
            )
        if state.deposed is not None:
            yield "the deposed coordinator learns that it is deposed", False, self._unload_deposed
            for job in self.coordinators.bundles[state.deposed.bundle].jobs:
                for place in sorted(job[4]):
                    yield (
                        f"{marker_name(job)} of the deposed coordinator reaches {where(place)}",
                        False,
                        _call(self._write_marker, job, place, False),
                    )

    def _time(self, state, is_all):
        """is_all: nothing else can happen, and the first timer comes up"""
        timers = [one for one in self.coordinators.bundles[state.bundle].timers if one[2] in OF_TIME]
        first_ms = min([one[1] for one in timers], default=0)
        for timer in timers:
            budget = OF_TIME[timer[2]]
            if is_all and timer[1] > first_ms:
                continue
            story = (
                "the transaction's time is over" if budget == TIME_OUTS else "a parked request has waited long enough"
            )
            if is_all:
                yield story, False, _call(self._fire, timer)
            elif state.spent[budget] < self._left[budget]:
                yield story, True, _call(self._fire, timer, budget)

    def _faults(self, state):
        left = [most > spent for most, spent in zip(self._left, state.spent, strict=True)]
        yield from self._time(state, is_all=False)
        for number, client in enumerate(state.clients):
            if client.status:
                continue
            if client.at >= 0:
                kind = self.kind_of(number, client)
                if left[TIMEOUTS] and kind in self.scenario.loses:
                    yield (
                        f"client {number} gives up connection {client.at}",
                        True,
                        _call(self._give_up, number, TIMEOUTS),
                    )
                if left[GIVE_UPS] and kind == "P" and not client.is_aborting:
                    yield f"client {number} gives up its batch", True, _call(self._give_up, number, GIVE_UPS)
            if left[CRASHES] and number == 0:
                yield f"client {number} is gone", True, _call(self._crash, number)
        bundle = self.coordinators.bundles[state.bundle]
        if bundle.appending is not None:
            if left[FAILS]:
                yield f"the append fails: {record_name(bundle)}", True, _call(self._settle_append, FAIL)
            if left[LATES] and not slot(bundle, "is_late"):
                yield f"the append takes too long: {record_name(bundle)}", True, _call(self._settle_append, LATE)
        fates = (True, False) if bundle.appending is not None else (False,)
        for budget, name in ((FAILOVERS, f"node {1 - state.node} becomes"), (RELOADS, "the same node becomes again")):
            if left[budget]:
                for is_kept in fates:
                    note = f", {record_name(bundle)} is {'kept' if is_kept else 'lost'}" if bundle.appending else ""
                    for is_aware in (True, False) if self.scenario.deposed and budget == FAILOVERS else (True,):
                        aware = "" if is_aware else "; the former one does not know"
                        story = f"{name} coordinator{note}{aware}"
                        yield story, True, _call(self._fail_over, budget, is_kept, is_aware)
        for job in bundle.jobs:
            for place in sorted(job[4]):
                if left[LOST_MARKERS]:
                    yield (
                        f"{marker_name(job)} to {where(place)} is given up, and sent again",
                        True,
                        _call(self._lose, job, place),
                    )
                if left[SLOW_OUTCOMES]:
                    yield (
                        f"{marker_name(job)} is in {where(place)}, its answer is slow",
                        True,
                        _call(self._write_marker, job, place, True, True),
                    )

    # Clients

    def kind_of(self, number, client):
        """What it sends next; "": it is done."""
        if client.is_aborting:
            return "-"
        if client.must_bump:
            return "B"
        plan = self.scenario.plans[number]
        return plan[client.position] if client.position < len(plan) else ""

    def _number_of(self, number, client):
        """Of its present transaction."""
        return sum(self.scenario.plans[number][: client.position].count(one) for one in IN_PLAN)

    def _sends(self, state, number, client):
        kind = self.kind_of(number, client)
        request = Request(
            kind, number, self._number_of(number, client), client.producer_id, client.epoch, client.sequence
        )
        nodes = [DATA if kind == "P" else GROUP] if kind in "PT" else [state.node]
        if kind not in "PT" and state.deposed is not None and state.deposed.node != state.node:
            nodes.append(state.deposed.node)
        for node in nodes:
            open_one = next(
                (one for one in state.connections if one.client == number and one.node == node and one.is_alive), None
            )
            if open_one is None:
                story = f"client {number} opens connection {state.opened} to {node_name(node)}, sends {told(request)}"
            else:
                story = f"client {number} sends {told(request)} over connection {open_one.number}"
            yield story, False, _call(self._send, request, node, open_one)

    def _send(self, draft, request, node, open_one):
        if open_one is None:
            order = 0
            if self.scenario.hands not in (FIRST_ANSWER, ACCEPT):
                order, draft.order = draft.order, draft.order + 1
            open_one = Connection(draft.opened, request.client, node, order, True)
            draft.opened += 1
            draft.connections.append(open_one)
        place = draft.connection(open_one.number)
        draft.connections[place] = open_one._replace(queue=(*open_one.queue, request))
        draft.alter(request.client, at=open_one.number)

    def _give_up(self, draft, number, budget):
        client = draft.clients[number]
        place = draft.connection(client.at)
        if place >= 0:
            draft.connections[place] = draft.connections[place]._replace(is_alive=False)
        draft.alter(number, at=-1)
        if budget == GIVE_UPS:
            draft.alter(number, is_aborting=True, must_bump=True)
        draft.spend(budget)

    def _crash(self, draft, number):
        draft.alter(number, status="C", at=-1)
        for place, one in enumerate(draft.connections):
            if one.client == number:
                draft.connections[place] = one._replace(is_alive=False)
        draft.spend(CRASHES)

    def _accept(self, draft, number):
        place = draft.connection(number)
        draft.connections[place] = draft.connections[place]._replace(order=draft.order)
        draft.order += 1

    def _answer(self, draft, ticket, error, identity=None):
        """A client gets its answer, if it waits for it yet."""
        connection, number, transaction, kind = ticket
        client = draft.clients[number]
        if connection < 0 or client.at != connection or client.status:
            return
        draft.alter(number, at=-1)
        if identity is not None:
            self._take_identity(draft, number, kind, identity)
        elif error is _E.NONE:
            self._go_on(draft, number, transaction, kind)
        elif error in FENCED:
            if self.scenario.is_healthy:
                raise Violation(f"client {number} is fenced, and nobody else has its id")
            draft.alter(number, status="X")
        elif error in (_E.TRANSACTION_ABORTABLE, _E.INVALID_TXN_STATE) and kind in "PT":
            if self.scenario.is_healthy:
                raise Violation(f"{NAMES[kind]} of {name_of((number, transaction))} is refused: {error.name}")
            draft.alter(number, is_aborting=True)
        elif error not in AGAIN:
            if self.scenario.is_strict:
                raise Violation(f"{NAMES[kind]} of {name_of((number, transaction))} is refused: {error.name}")
            draft.alter(number, status="X")

    def _take_identity(self, draft, number, kind, identity):
        epoch, owner = draft.highest
        if identity.epoch < epoch or (identity.epoch == epoch and owner != number):
            raise Violation(f"epoch {identity.epoch} is given to client {number}, and {epoch} was to client {owner}")
        if kind == "B" and owner != number:
            raise Violation(f"client {number} was fenced by client {owner}, and gets epoch {identity.epoch}")
        draft.highest = (identity.epoch, number)
        client = draft.clients[number]
        is_extra = client.must_bump and kind == "B"
        draft.alter(
            number, producer_id=identity.producer_id, epoch=identity.epoch, sequence=0, must_bump=False,
            position=client.position + (0 if is_extra else 1),
        )  # fmt: skip

    def _go_on(self, draft, number, transaction, kind):
        client = draft.clients[number]
        if kind not in IN_PLAN:
            draft.alter(number, position=client.position + 1, sequence=client.sequence + (kind == "P"))
            return
        draft.answer_end((number, transaction), "C" if kind == "+" else "A")
        plan = self.scenario.plans[number]
        end = next(place for place in range(client.position, len(plan)) if plan[place] in IN_PLAN)
        draft.alter(number, position=end + 1, is_aborting=False)

    # Arrivals

    def _deliver(self, draft, connection):
        place = draft.connection(connection.number)
        request, rest = connection.queue[0], connection.queue[1:]
        draft.connections[place] = connection._replace(queue=rest)
        ticket = (connection.number, request.client, request.transaction, request.kind)
        if not connection.order:
            draft.connections[place] = draft.connections[place]._replace(order=draft.order)
            draft.order += 1
            self._answer(draft, ticket, _E.COORDINATOR_NOT_AVAILABLE)
        elif connection.node >= DATA:
            self._take_data(draft, connection, request, ticket)
        elif connection.node == draft.node:
            event = _event_of(request, connection.order, ticket)
            self._apply(draft, self.coordinators.request(draft.bundle, event))
        elif draft.deposed is not None and draft.deposed.node == connection.node:
            event = _event_of(request, connection.order, ticket)
            step = self.coordinators.request(draft.deposed.bundle, event)
            draft.deposed = draft.deposed._replace(bundle=step.bundle)
            self._take_answers(draft, step, is_deposed=True)
        else:
            self._answer(draft, ticket, _E.NOT_COORDINATOR)

    def _take_data(self, draft, connection, request, ticket):
        node, part = connection.node, draft.part(connection.node)
        if node == GROUP and self.scenario.orders_offsets:
            if connection.order < part.order:
                draft.close(connection.number)
                return
            part = part._replace(order=connection.order)
        self._append_data(draft, node, part, request, ticket)

    def _append_data(self, draft, node, part, request, ticket):
        sequence = request.sequence if request.kind == "P" else -1
        log, error, what = self.partitions.append(part.log, request.producer_id, request.epoch, sequence)
        if what == "unverified":
            log = self.partitions.ask(part.log, request.producer_id, request.epoch)[0]
            draft.put(node, part._replace(log=log, question=(ticket, request, None)))
            return
        tags = part.tags
        if what == "appended":
            tag = (request.client, request.transaction)
            self._judge_data(draft, part, tag, request.kind)
            tags = tuple(sorted({*part.tags, tag}))
        draft.put(node, part._replace(log=log, tags=tags, question=None))
        self._answer(draft, ticket, _E(error))

    def _judge_data(self, draft, part, tag, kind):
        others = [one for one in (*part.tags, *draft.open_tags) if one[0] == tag[0] and one[1] > tag[1]]
        others += [one for one in part.tags if one != tag]
        if others:
            raise Violation(f"{NAMES[kind]} of {name_of(tag)} becomes part of {name_of(others[0])}")

    def _questions(self, state, node):
        question = state[7 + node - DATA].question
        if question is None:
            return
        ticket, request, answer = question
        if answer is not None:
            yield (
                f"the verification of {told(request)} is answered: {answer.name}",
                False,
                _call(self._take_verified, node),
            )
            return
        asked = [(state.bundle, "")]
        if state.deposed is not None:
            asked.append((state.deposed.bundle, "deposed "))
        event = VerifyPartitions(
            ID, (request.producer_id, request.epoch), frozenset((PLACES[node],)), (-1, *ticket[1:3], "V")
        )
        for bundle, word in asked:
            message = self.coordinators.request(bundle, event).answers[0][1]
            if isinstance(message, Verified):
                error = _E.NONE if PLACES[node] in message.partitions else _E.TRANSACTION_ABORTABLE
            else:
                error = _E.INVALID_PRODUCER_EPOCH if message.error is _E.PRODUCER_FENCED else message.error
            if error not in AGAIN:
                story = f"the {word}coordinator verifies {told(request)}: {error.name}"
                yield story, False, _call(self._note_verified, node, error)

    def _note_verified(self, draft, node, error):
        part = draft.part(node)
        draft.put(node, part._replace(question=(*part.question[:2], error)))

    def _take_verified(self, draft, node):
        part = draft.part(node)
        ticket, request, error = part.question
        if error is not _E.NONE:
            log = self.partitions.forget(part.log, request.producer_id)[0]
            draft.put(node, part._replace(log=log, question=None))
            self._answer(draft, ticket, error)
        elif part.log.verification is None:
            log = self.partitions.ask(part.log, request.producer_id, request.epoch)[0]
            draft.put(node, part._replace(log=log, question=(ticket, request, None)))
        else:
            log = self.partitions.verify(part.log, request.producer_id, request.epoch)[0]
            self._append_data(draft, node, part._replace(log=log, question=None), request, ticket)

    # The coordinator

    def _apply(self, draft, step):
        """A step of the present coordinator."""
        draft.bundle = step.bundle
        self._take_answers(draft, step)
        if step.wants is not None and step.wants[1] is not None:
            kind, (_connection, number, transaction, letter) = step.wants
            state = slot(self.coordinators.bundles[step.bundle], "state")
            later = [one for one in draft.open_tags if one[0] != number or one[1] > transaction]
            if later and kind == "DecisionRecord":
                raise Violation(f"{NAMES[letter]} of {name_of((number, transaction))} ends {name_of(later[0])}")
            if later and kind == "PartitionsRecord" and state is TransactionState.ONGOING:
                raise Violation(f"{NAMES[letter]} of {name_of((number, transaction))} adds to {name_of(later[0])}")

    def _take_answers(self, draft, step, is_deposed=False):
        for ticket, message in step.answers:
            if isinstance(message, Identity):
                self._answer(draft, ticket, _E.NONE, message)
                continue
            if message.closes_connection:
                draft.close(ticket[0])
                continue
            if message.error is _E.NONE and ticket[3] in "AO" and not is_deposed:
                self._join(draft, ticket)
            self._answer(draft, ticket, message.error)

    def _join(self, draft, ticket):
        """An AddPartitions is part of the open transaction."""
        tag = (ticket[1], ticket[2])
        later = [one for one in draft.open_tags if one[0] == tag[0] and one[1] > tag[1]]
        if later:
            raise Violation(f"{NAMES[ticket[3]]} of {name_of(tag)} adds to {name_of(later[0])}")
        draft.open_tags = tuple(sorted({*draft.open_tags, tag}))

    def _settle_append(self, draft, fate):
        if fate == COMMIT:
            self._commit(draft)
        elif fate == FAIL:
            draft.spend(FAILS)
        else:
            draft.spend(LATES)
        self._apply(draft, self.coordinators.outcome(draft.bundle, fate))

    def _commit(self, draft):
        """What is being appended is in the log."""
        bundle = self.coordinators.bundles[draft.bundle]
        before, after = draft.value and entry_of(draft.value), entry_of(bundle.appending)
        if before and after.epoch - before.epoch not in (0, 1):
            raise Violation(f"the log's epoch goes from {before.epoch} to {after.epoch}")
        if after.state is TransactionState.ONGOING:
            if before is None or before.state is not TransactionState.ONGOING:
                draft.open_tags = ()
            self._join(draft, bundle.transaction[1][1][-1].ticket)
        draft.value = bundle.appending

    def _fire(self, draft, timer, budget=None):
        if budget is not None:
            draft.spend(budget)
        self._apply(draft, self.coordinators.timer(draft.bundle, timer))

    def _tell(self, draft, outcome):
        self._apply(draft, self.coordinators.markers_told(draft.bundle, outcome))

    def _fail_over(self, draft, budget, is_kept, is_aware):
        draft.spend(budget)
        former = Deposed(draft.node, draft.coordinator_epoch, draft.bundle, draft.open_tags)
        if is_kept:
            self._commit(draft)
        self._unload_deposed(draft)
        if is_aware:
            self._take_answers(draft, self.coordinators.unload(draft.bundle), is_deposed=True)
        else:
            draft.deposed = former
        if budget == FAILOVERS:
            draft.node = 1 - draft.node
            draft.coordinator_epoch += 1
        step = self.coordinators.load(draft.value, draft.order)
        draft.order += 1
        draft.bundle = step.bundle

    def _unload_deposed(self, draft):
        if draft.deposed is not None:
            step = self.coordinators.unload(draft.deposed.bundle)
            draft.deposed = None
            self._take_answers(draft, step, is_deposed=True)

    # Markers

    def _write_marker(self, draft, job, place, is_present, is_slow=False):
        """is_present: of the present coordinator, not of a deposed one"""
        serial, producer_id, epoch, is_commit, _left = job
        owner = draft if is_present else draft.deposed
        node = NODES[place]
        marker = Loose(node, producer_id, epoch, owner.coordinator_epoch, is_commit, owner.open_tags)
        if self.scenario.orders_markers:
            draft.loose = tuple(
                one for one in draft.loose if one.node != node or one.coordinator_epoch != owner.coordinator_epoch
            )
        error = self._end_part(draft, marker)
        fate = marker_sender._FATES[error]
        if is_slow:
            draft.spend(SLOW_OUTCOMES)
        if fate is marker_sender.Fate.AGAIN:
            return
        if fate is marker_sender.Fate.DONE:
            step = self.coordinators.markers_written(owner.bundle, serial, place, is_told=not is_slow)
        else:
            step = self.coordinators.markers_refused(owner.bundle, serial, error)
        if is_present:
            self._apply(draft, step)
        else:
            draft.deposed = draft.deposed._replace(bundle=step.bundle)
            self._take_answers(draft, step, is_deposed=True)

    def _end_part(self, draft, marker):
        """A marker meets a partition; returns the error."""
        part = draft.part(marker.node)
        log, error, _what = self.partitions.marker(
            part.log, marker.producer_id, marker.epoch, marker.coordinator_epoch, not marker.is_commit
        )
        if error:
            return _E(error)
        for tag in part.tags:
            if tag not in marker.tags:
                whose = name_of(marker.tags[0]) if marker.tags else "no transaction"
                raise Violation(f"a marker of {whose} ends {name_of(tag)} in {where(PLACES[marker.node])}")
            draft.decide(tag, "C" if marker.is_commit else "A")
        draft.put(marker.node, part._replace(log=log, tags=()))
        return _E.NONE

    def _lose(self, draft, job, place):
        """Its copy is on its way yet."""
        _serial, producer_id, epoch, is_commit, _left = job
        one = Loose(NODES[place], producer_id, epoch, draft.coordinator_epoch, is_commit, draft.open_tags)
        draft.loose = tuple(sorted((*draft.loose, one)))
        draft.spend(LOST_MARKERS)

    def _write_loose(self, draft, one):
        loose = list(draft.loose)
        loose.remove(one)
        draft.loose = tuple(loose)
        self._end_part(draft, one)


def _event_of(request, order, ticket):
    kind, producer = request.kind, (request.producer_id, request.epoch)
    if kind in "IB":
        return InitProducer(ID, TIMEOUT_MS, producer if kind == "B" else (-1, -1), order, ticket)
    if kind in "AO":
        return AddPartitions(ID, producer, _ADDED[kind], order, ticket)
    return EndTransaction(ID, producer, kind == "+", order, ticket)


def _call(function, *arguments):
    def act(draft):
        function(draft, *arguments)

    return act
