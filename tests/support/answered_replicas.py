"""Replicas of a partition worker whose controller knows at once of each log that is missing: it is made in the same cycle."""

from headrace.workers.partition.replicas.opened_logs import MissingLog
from headrace.workers.partition.replicas.replicas import Replicas


class AnsweredReplicas(Replicas):
    """A first view that has a replica in sync is as good as a new partition."""

    def open_some(self):
        super().open_some()
        opened = self._opener.opened
        missing = [one for one in opened if isinstance(one, MissingLog)]
        if missing:
            self._opener.opened = [one for one in opened if not isinstance(one, MissingLog)]
            for one in missing:
                self.make_missing(one)
            self.open_some()
