"""How a story of the search names things: client 0's first transaction is 0.1.

A line of a story is one transition.
"""

from tests.model.state import DATA, GROUP, NODES

NAMES = {
    "I": "InitProducerId", "B": "InitProducerId (expected)", "A": "AddPartitions", "O": "AddOffsets", "P": "Produce",
    "T": "TxnOffsetCommit", "+": "EndTxn commit", "-": "EndTxn abort",
}  # fmt: skip


def told(request):
    return f"{NAMES[request.kind]} {request.client}.{request.transaction + 1}"


def node_name(node):
    return {DATA: "the data leader", GROUP: "the group's node"}.get(node, f"node {node}")


def where(place):
    return "the data partition" if NODES[place] == DATA else "the group partition"


def marker_name(job):
    return f"the {'commit' if job[3] else 'abort'} marker of epoch {job[2]}"


def loose_name(one):
    return f"the {'commit' if one.is_commit else 'abort'} marker of epoch {one.epoch}"


def record_name(bundle):
    return bundle.transaction[1][0].__name__
