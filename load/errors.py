"""What a load raises, beside what reading raises (`arrow/errors.py`, `spark/errors.py`) and the client's errors."""

from __future__ import annotations

from headrace.errors import HeadraceError


class LoadFenced(HeadraceError):
    """Another loader has committed to the target since this one read its offsets: nothing of this commit counts."""


class Gap(HeadraceError):
    """What was read does not connect the last commit's offsets with the new ones: a mistake of ours, nothing was committed."""


class OutOfRange(HeadraceError):
    """Records after the last commit are gone from the log, or the log ends before it; names partition and offsets."""


class TopicReplaced(HeadraceError):
    """A topic was deleted and created again under its name: the target's offsets are those of the old one."""


class SchemaConflict(HeadraceError):
    """The target's columns can't take the new ones: a type that is not wider, a column of another kind."""


class TaskFailed(HeadraceError):
    """A range could not be written, also by the last attempt; names it and the reason. `may_pass`: a later load may succeed."""

    def __init__(self, message: str, may_pass: bool = False) -> None:
        super().__init__(message)
        self.may_pass = may_pass


class BrokenTarget(HeadraceError):
    """The target's own files contradict each other, or are not of a format that this version reads."""


class DamagedFile(BrokenTarget):
    """A data file whose bytes are not those that were committed; `path` below the target's root."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path


class UnknownOutcome(HeadraceError):
    """A commit that may or may not have happened, and may still: the next load reads which; no file of it is removed."""


class TargetUnavailable(HeadraceError):
    """The target's catalog did not respond; a later round may succeed."""
