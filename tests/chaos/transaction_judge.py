"""The judge of transactions: reads of what was not committed yet, and cycles of transactions that depend on each other. Pure.

Used by: campaigns with transactions; `test_jepsen_classes.py` shows that it catches each class.

    precommitted-read   who reads what is committed was given a record before its transaction asked to commit: of the
                        transaction that reads, or of another one
    G0                  transactions whose records lie in opposite orders in several partitions: a cycle of writes
    G1c                 a cycle of transactions, each of which read what the one before it wrote, or wrote after it

    T1 -ww-> T2   a record of T1 lies before one of T2 in a partition, with nothing of a third in between
    T1 -wr-> T2   T2 read a record of T1

Kafka does not isolate writes: transactions that are open at the same time interleave, so cycles of writes are legal there (as
Jepsen has it, for Kafka and Redpanda), and only a cycle of reads alone is wrong. `has_isolated_writes` says that they count.

Source: Adya, "Weak Consistency" (1999), for G0 and G1c; Jepsen's `tests.kafka`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.chaos.history import NO_OFFSET, Operation, Outcome, Poll, Send, TransactionEnd
from tests.chaos.judge import Anomaly, Place, settled_sends

CLASSES = ("precommitted-read", "G0", "G1c")

Edges = dict[str, set[str]]
Seen = list[tuple[Poll, str]]


def judge_transactions(operations: Sequence[Operation], *, has_isolated_writes: bool = False) -> list[Anomaly]:
    """Everything that a history shows of its transactions.

    has_isolated_writes   the system claims that the writes of two transactions don't interleave
    """
    polls = [one for one in operations if isinstance(one, Poll) and (one.reads_committed or one.transaction)]
    ends = {one.transaction: one for one in operations if isinstance(one, TransactionEnd)}
    seen = [(poll, record.value) for poll in polls for record in poll.records]
    sends = _taken(settled_sends(operations), {value for _poll, value in seen})
    reads = _read_edges(sends, seen, ends)
    found = [*_judge_reads(sends, seen, ends)]
    if not has_isolated_writes:
        return found + [Anomaly("G1c", _told(cycle)) for cycle in _cycles(reads)]
    writes = _write_edges(sends, operations)
    both = {node: writes.get(node, set()) | reads.get(node, set()) for node in {*writes, *reads}}
    found += [Anomaly("G0", _told(cycle)) for cycle in _cycles(writes)]
    for cycle in _cycles(both):
        if any(reads.get(node, set()) & set(cycle) for node in cycle):
            found.append(Anomaly("G1c", _told(cycle)))
    return found


def _taken(sends: list[Send], seen: set[str]) -> list[Send]:
    """Those that took effect: a transaction whose end nobody knows was committed if somebody saw a record of it."""
    known = {one.transaction for one in sends if one.transaction and seen.intersection(one.values)}
    return [
        one
        for one in sends
        if one.outcome is Outcome.OK or (one.outcome is Outcome.UNKNOWN and one.transaction in known)
    ]


def _judge_reads(sends: list[Send], seen: Seen, ends: dict[str, TransactionEnd]) -> Iterator[Anomaly]:
    writer = {value: one.transaction for one in sends for value in one.values if one.transaction}
    for poll, value in seen:
        name = writer.get(value)
        if name is None:
            continue
        if name == poll.transaction:
            yield Anomaly("precommitted-read", f"{poll.client}: {value} of {name}, which reads it itself")
        elif poll.reads_committed and name in ends and poll.ended < ends[name].began:
            yield Anomaly("precommitted-read", f"{poll.client}: {value} of {name}, which did not ask to commit yet")


def _node_of(send: Send) -> str:
    """What a send belongs to: its transaction, or itself."""
    return send.transaction or f"send of {send.values[0]}"


def _read_edges(sends: list[Send], seen: Seen, ends: dict[str, TransactionEnd]) -> Edges:
    writer = {value: _node_of(one) for one in sends for value in one.values}
    edges: Edges = defaultdict(set)
    for poll, value in seen:
        end = ends.get(poll.transaction)
        is_over = end is not None and end.outcome is not Outcome.FAILED
        if is_over and value in writer and writer[value] != poll.transaction:
            edges[writer[value]].add(poll.transaction)
    return edges


def _write_edges(sends: list[Send], operations: Sequence[Operation]) -> Edges:
    """Between neighbours in each partition, wherever their records were acknowledged or seen."""
    writer = {value: _node_of(one) for one in sends for value in one.values}
    places: dict[Place, str] = {}
    for one in operations:
        if isinstance(one, Poll):
            for record in one.records:
                if record.value in writer:
                    place = Place(one.topic, one.generation, record.partition, record.offset)
                    places[place] = writer[record.value]
    for send in sends:
        if send.base_offset != NO_OFFSET:
            for index in range(len(send.values)):
                places[Place(send.topic, send.generation, send.partition, send.base_offset + index)] = _node_of(send)
    edges: Edges = defaultdict(set)
    for one, other in pairwise(sorted(places)):
        if one[:3] == other[:3] and places[one] != places[other]:
            edges[places[one]].add(places[other])
    return edges


def _cycles(edges: Edges) -> list[list[str]]:
    """Strongly connected components of more than one node (Tarjan's, without recursion), each in the order of names."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found = []
    for root in sorted(edges):
        if root in number:
            continue
        work: list[tuple[str, Iterator[str]]] = [(root, iter(sorted(edges[root])))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, left = work[-1]
            for other in left:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(edges.get(other, ())))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    component = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    on_stack.difference_update(component)
                    if len(component) > 1:
                        found.append(sorted(component))
    return found


def _told(cycle: list[str]) -> str:
    return f"{len(cycle)} depend on each other: {', '.join(cycle[:6])}"
