"""What is searched: who sends what, and how much may go wrong.

Each scenario has few faults of few kinds, since states multiply. Together they have each kind, and the pairs that matter.
"""

from dataclasses import dataclass

HANDSHAKE = "handshake"  # a connection has its order before its client may use it (ApiVersions is answered)
FIRST_ANSWER = (
    "first answer"  # its first request is answered retriably, which gives the order: clients without ApiVersions
)
ACCEPT = "accept"  # the order is that of accept(), which may run late: no rule of ours


@dataclass(frozen=True)
class Scenario:
    """plans           one for each client, see `world.py`
    hands           when a connection gets its order
    loses           kinds of requests that a client may give up to retry over another connection
    deposed         whether a former coordinator may go on for a while
    is_healthy      nothing may refuse or fence the client: it has its id alone, and its time is not over
    is_strict       no EndTxn of a client is refused by the id's state
    orders_markers  the data leader refuses markers of older connections (as the brief has it; not built)
    orders_offsets  the group's node does so with TxnOffsetCommit (the same)
    others          budgets, `BUDGETS` in `world.py`
    """

    name: str
    plans: tuple[str, ...]
    hands: str = HANDSHAKE
    loses: str = "AO+-"
    deposed: bool = False
    is_healthy: bool = False
    is_strict: bool = True
    orders_markers: bool = False
    orders_offsets: bool = False
    timeouts: int = 0
    failovers: int = 0
    reloads: int = 0
    fails: int = 0
    lates: int = 0
    time_outs: int = 0
    waits: int = 0
    lost_markers: int = 0
    slow_outcomes: int = 0
    give_ups: int = 0
    crashes: int = 0


def _late(name, plan="A+A+", **others):
    return Scenario(name, (plan,), is_healthy=True, **others)


SMALL = (
    _late("a late request after a load of Prepare", "A+A-", timeouts=2, reloads=1),
    _late("late requests", "AP+AP-", timeouts=2),
    _late("late requests, coordinator A-B-A", "A+A+", timeouts=2, failovers=2),
    _late("late requests, reloads in place", "A+A-", timeouts=2, reloads=2),
    _late("no ApiVersions", "A+A+", hands=FIRST_ANSWER, timeouts=2, failovers=1),
    _late("appends", "AP+A-", timeouts=1, fails=2, lates=1),
    _late("appends and failovers", "AP+A-", failovers=1, fails=1, lates=1),
    _late("offsets", "APOT+AOT-", failovers=1),
    _late("markers", "AP+A+", slow_outcomes=2, failovers=1, waits=1),
    Scenario("timeout", ("AP+A+",), timeouts=1, time_outs=1, failovers=1),
    Scenario("timeout between partitions", ("APOT+",), time_outs=1, fails=1),
    Scenario("timeout, appends fail", ("AP+",), time_outs=1, fails=2, lates=1),
    Scenario("two producers", ("AP+", "IAP+"), failovers=1),
    Scenario("a producer is gone", ("AP+", "IA+"), crashes=1, fails=1),
    Scenario("a producer is gone for good", ("AP+",), crashes=1, fails=1, failovers=1, time_outs=1),
    Scenario("a fenced producer asks for the next epoch", ("ABA+", "I"), loses="I", timeouts=1),
    Scenario("a batch is given up", ("AP+AP+",), give_ups=1, loses="B", timeouts=1),
    Scenario("epochs asked for again", ("ABA+",), loses="B", timeouts=1, failovers=1),
)

MEDIUM = (
    _late("late requests", "A+A-A+", timeouts=3),
    _late("late requests, coordinator A-B-A", "AP+AP-", timeouts=2, failovers=2),
    _late("late requests, three transactions", "A+A+A+", timeouts=3, failovers=1),
    _late("late requests, reloads in place", "AP+A-", timeouts=2, reloads=1, failovers=1),
    _late("no ApiVersions", "A+A-", hands=FIRST_ANSWER, timeouts=3, failovers=1),
    _late("appends", "AP+A-", timeouts=2, fails=2, lates=2),
    _late("appends and failovers", "AP+A-", timeouts=1, failovers=2, fails=1, lates=1),
    _late("offsets", "APOT+AOT-", failovers=1, timeouts=1),
    _late("markers", "APOT+A+", slow_outcomes=2, failovers=1, waits=1),
    Scenario("timeout", ("AP+AP-",), timeouts=2, time_outs=1, failovers=1),
    Scenario("timeout, appends fail", ("AP+A+",), time_outs=1, fails=2, lates=1, failovers=1),
    Scenario("two producers", ("AP+A-", "IAP+"), failovers=1, fails=1),
    Scenario("two producers, late requests", ("AP+", "IA+"), timeouts=2, loses="I+"),
    Scenario("a producer is gone", ("AP+", "IAP+"), crashes=1, fails=1, failovers=1),
    Scenario("a batch is given up", ("AP-AP+",), give_ups=1, loses="B-", timeouts=1, failovers=1),
    Scenario("epochs asked for again", ("ABA+B",), loses="B+", timeouts=2, failovers=1),
)

LARGE = (
    _late("late requests, coordinator A-B-A", "A+A+A+", timeouts=4, failovers=2),
    _late("late requests, data, coordinator A-B-A", "AP+AP-AP+", timeouts=3, failovers=2),
    _late("no ApiVersions", "A+A-A+", hands=FIRST_ANSWER, timeouts=3, failovers=2),
    _late("appends and failovers", "AP+AP-", timeouts=2, failovers=2, fails=2, lates=1),
    _late("offsets", "APOT+APOT-", failovers=2, timeouts=1),
    _late("markers", "APOT+AP+", slow_outcomes=2, failovers=2, waits=1, timeouts=1),
    Scenario("timeout", ("AP+AP-",), timeouts=2, time_outs=2, failovers=1, fails=1),
    Scenario("two producers", ("AP+AP-", "IAP+A-"), failovers=1, fails=1, timeouts=1),
    Scenario("a producer is gone", ("AP+", "IAP+"), crashes=1, fails=1, failovers=2, timeouts=1, loses="I"),
    Scenario("a batch is given up", ("AP-AP+",), give_ups=2, loses="B-+", timeouts=2, failovers=1),
)

# What the tables as they are don't hold up to: each is a fault that is known, with its mend where there is one
HOLES = (
    _late("a late marker", "AP+AP+", lost_markers=1),
    _late("a late TxnOffsetCommit", "AOT+AOT+", loses="T", timeouts=1),
    Scenario("a deposed coordinator", ("AP+AP-",), failovers=1, deposed=True, is_strict=False),
    Scenario(
        "a deposed coordinator, a batch is given up", ("AP-",), failovers=1, deposed=True, give_ups=1, is_strict=False
    ),
)

BOUNDS = {"small": SMALL, "medium": MEDIUM, "large": LARGE}
