"""Whether what clients deleted was written down in time: a kill may undo DeleteRecords of the last interval only. Pure.

Used by: the campaign.

    late-checkpoint   records were deleted, and acknowledged as such, intervals before a kill; the checkpoint on disk does not have it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.chaos.history import Crash, Create, Operation, Outcome, Trim
from tests.chaos.judge import Anomaly

INTERVAL_KEY, INTERVAL_MS = "log.flush.start.offset.checkpoint.interval.ms", 60_000
INTERVALS = 3  # of which one may be missed, and one is under way
GRACE_S = 10.0  # for a busy machine, a housekeeper that was killed, one that was stopped


def judge_checkpoints(operations: Sequence[Operation], settings: Mapping[str, str]) -> list[Anomaly]:
    """What the log start checkpoints said at each kill, against what was acknowledged well before it."""
    bound_s = INTERVALS * int(settings.get(INTERVAL_KEY, INTERVAL_MS)) / 1000 + GRACE_S
    return list(_judge(operations, bound_s))


def _judge(operations: Sequence[Operation], bound_s: float) -> Iterator[Anomaly]:
    trims = [one for one in operations if isinstance(one, Trim) and one.outcome is Outcome.OK]
    created = {(one.topic, one.generation): one.ended for one in operations if isinstance(one, Create)}
    kills = sorted((one for one in operations if isinstance(one, Crash)), key=lambda one: one.at)
    for kill, before in zip(kills, [0.0, *(one.at for one in kills)], strict=False):
        latest = {topic: at for (topic, _generation), at in created.items() if at <= kill.at}
        for one in trims:
            is_old = created.get((one.topic, one.generation), 0.0) < latest.get(one.topic, 0.0)
            if is_old or not before < one.ended < kill.at - bound_s:
                continue
            written = kill.log_starts.get((one.topic, one.partition))
            if written is not None and written < one.low_watermark:
                text = (
                    f"{one.topic}-{one.partition}: deleted up to {one.low_watermark}, {kill.at - one.ended:.1f} s later"
                )
                yield Anomaly("late-checkpoint", f"a kill finds {written} in the checkpoint; {text}")
