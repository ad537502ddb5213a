"""A state of the search: plain tuples, equal where nothing that is to come can tell them apart; and a `Draft` of the next one.

Nodes: 0 and 1 may lead the partition of the transactional id, 2 leads the data partition, 3 the group's partition.

A transaction of a client is named by a tag, (client, number). What the protocol does not say is kept beside it for the invariants:

    open_tags   whose AddPartitions made up the coordinator's open, or last, transaction
    fates       tag -> "C" or "A": what markers made of its data
    told        tag -> "C" or "A": what its client was answered
"""

from typing import Any, NamedTuple

from tests.model.partition_step import Log

DATA, GROUP = 2, 3
PLACES = {DATA: ("t", 0), GROUP: ("__consumer_offsets", 0)}
NODES = {place: node for node, place in PLACES.items()}
IN_PLAN = "+-"  # letters that end a transaction


class Violation(Exception):
    """An invariant does not hold."""


class Client(NamedTuple):
    """position    in its plan
    sequence    of its next batch
    at          the connection that carries its request; -1: it has to send
    is_aborting its transaction can't be committed any more
    must_bump   it gave up a batch: it asks for the next epoch after the abort (KIP-360)
    status      "" it works, "X" it was fenced, "C" it is gone
    """

    position: int = 0
    producer_id: int = -1
    epoch: int = -1
    sequence: int = 0
    at: int = -1
    is_aborting: bool = False
    must_bump: bool = False
    status: str = ""


class Connection(NamedTuple):
    """order     0: it has none yet
    is_alive  its client would use it
    """

    number: int
    client: int
    node: int
    order: int
    is_alive: bool
    queue: tuple = ()


class Request(NamedTuple):
    """kind       a letter of the plan
    client, transaction   its tag
    """

    kind: str
    client: int
    transaction: int
    producer_id: int
    epoch: int
    sequence: int


class Part(NamedTuple):
    """A partition that is written to.

    tags       of its open transaction
    question   (connection, request, answer or None) of a verification
    order      the highest that was seen, where that is judged
    """

    log: Log = Log()
    tags: tuple = ()
    question: Any = None
    order: int = 0


class Loose(NamedTuple):
    """A marker whose sender has given it up: it may be delivered yet."""

    node: int
    producer_id: int
    epoch: int
    coordinator_epoch: int
    is_commit: bool
    tags: tuple


class Deposed(NamedTuple):
    """A coordinator that does not know yet that another one leads."""

    node: int
    coordinator_epoch: int
    bundle: int
    open_tags: tuple


class State(NamedTuple):
    """value     of the id's last committed record
    order     the next that is given
    opened    connections, ever
    highest   (epoch, client) of the last identity that was given
    spent     of each budget
    """

    connections: tuple
    clients: tuple
    node: int
    coordinator_epoch: int
    bundle: int
    value: Any
    deposed: Any
    data: Part
    group: Part
    loose: tuple
    open_tags: tuple
    fates: tuple
    told: tuple
    order: int
    opened: int
    highest: tuple
    spent: tuple


class Draft:
    """A state that is being changed."""

    __slots__ = (*State._fields,)

    def __init__(self, state):
        for name, value in zip(State._fields, state, strict=True):
            setattr(self, name, value)
        self.connections = list(state.connections)
        self.clients = list(state.clients)

    def freeze(self):
        """A connection that neither side uses has nothing more to say."""
        self.connections = tuple([one for one in self.connections if one.is_alive or one.queue])
        self.clients = tuple(self.clients)
        return State(*[getattr(self, name) for name in State._fields])

    def spend(self, budget):
        spent = list(self.spent)
        spent[budget] += 1
        self.spent = tuple(spent)

    def part(self, node):
        return self.data if node == DATA else self.group

    def put(self, node, part):
        if node == DATA:
            self.data = part
        else:
            self.group = part

    def alter(self, client, **fields):
        self.clients[client] = self.clients[client]._replace(**fields)

    def connection(self, number):
        """Its place; -1: it is gone."""
        for place, one in enumerate(self.connections):
            if one.number == number:
                return place
        return -1

    def close(self, number):
        """By its node: what it held is not read."""
        place = self.connection(number)
        if place >= 0:
            client = self.connections[place].client
            if self.clients[client].at == number:
                self.alter(client, at=-1)
            self.connections[place] = self.connections[place]._replace(is_alive=False, queue=())

    def decide(self, tag, fate):
        """Markers made this of a transaction's data."""
        before, answered = dict(self.fates).get(tag), dict(self.told).get(tag)
        if before not in (None, fate):
            raise Violation(f"{name_of(tag)} is committed in one partition and aborted in another")
        if answered not in (None, fate):
            raise Violation(f"{name_of(tag)} was answered {WORDS[answered]}, and its data is {WORDS[fate]}")
        if before is None:
            self.fates = tuple(sorted((*self.fates, (tag, fate))))

    def answer_end(self, tag, fate):
        """A client was told that its transaction ended so."""
        decided, before = dict(self.fates).get(tag), dict(self.told).get(tag)
        if decided not in (None, fate):
            raise Violation(f"{name_of(tag)} is answered {WORDS[fate]}, and its data was {WORDS[decided]}")
        if before is None:
            self.told = tuple(sorted((*self.told, (tag, fate))))


WORDS = {"C": "committed", "A": "aborted"}


def name_of(tag):
    return f"transaction {tag[1] + 1} of client {tag[0]}"
