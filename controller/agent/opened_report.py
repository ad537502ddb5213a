"""What an owner reported of logs that it has opened: which topics it concerns, and whether what follows of it is in ZooKeeper.

Runs in: the controller process of every node (`holds.py`).
"""


class OpenedReport:
    """A message of an owner.

    names       topics of which it says something that counts
    is_stored   whether that is in ZooKeeper
    """

    __slots__ = ("is_stored", "names")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.is_stored = False
