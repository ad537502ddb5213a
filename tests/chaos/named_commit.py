"""What a table's owner does where its history has expired, and the rows of the last load are deleted: say at which commit it is.

Nobody takes a table of a campaign back, so it is at the commit that the message names.
"""

import re

from headrace.load.errors import BrokenTarget
from headrace.load.lost_history import ACCEPTED
from headrace.load.targets import open_target

TRIES_MAX = 10
_ASKED = re.compile(rf"no row of the last load .* set its property {re.escape(ACCEPTED)} to (\S+);")


def name_commit(to: str) -> bool:
    """Whether the table asked for it. raises BrokenTarget, for any other reason"""
    try:
        open_target(to).read()
    except BrokenTarget as failure:
        found = _ASKED.search(str(failure))
        if found is None:
            raise
        _set_property(to, found[1])
        return True
    return False


def _set_property(to: str, name: str) -> None:
    if to.startswith("iceberg:"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import CommitFailedException

        _format, catalog, table = to.split(":")
        for tries_left in range(TRIES_MAX - 1, -1, -1):
            try:
                with load_catalog(catalog).load_table(table).transaction() as transaction:
                    transaction.set_properties({ACCEPTED: name})
                return
            except CommitFailedException:  # the other program was faster
                if not tries_left:
                    raise
    else:
        from deltalake import DeltaTable

        table = DeltaTable(to.removeprefix("delta:"))
        table.alter.set_table_properties({ACCEPTED: name}, raise_if_not_exists=False)
