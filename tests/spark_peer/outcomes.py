"""What a program gives on one side: rows, or a refusal; in a form that two sides can be compared in."""

from dataclasses import dataclass

from pyspark.errors import PySparkException

RECORD = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value")


@dataclass(frozen=True)
class Refusal:
    """The program was refused. Which words, and at which of Spark's steps, each side says in its own way."""

    said: str = ""

    def __eq__(self, other):
        return isinstance(other, Refusal)

    __hash__ = None


def outcome(program, side):
    """What a program returns on a side, or its refusal."""
    try:
        return program(side)
    except PySparkException as failure:
        return Refusal(_sentence(str(failure)))
    except Exception as failure:  # of Java, by py4j
        if type(failure).__module__.partition(".")[0] != "py4j":
            raise
        return Refusal(_sentence(str(failure)))


def _sentence(text):
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())[-2000:]


def compare(program, pair):
    """Run it on both sides; returns what both gave."""
    theirs = outcome(program, pair.sides["kafka"])
    ours = outcome(program, pair.sides["headrace"])
    assert ours == theirs, f"headrace: {short(ours)}\nkafka:    {short(theirs)}"
    return ours


def both_refuse(program, pair):
    """(what kafka said, what headrace said)."""
    said = []
    for name in ("kafka", "headrace"):
        found = outcome(program, pair.sides[name])
        assert isinstance(found, Refusal), f"{name} does not refuse: {short(found)}"
        said.append(found.said)
    return tuple(said)


def short(found):
    text = repr(found)
    return text if len(text) < 3000 else f"{text[:1500]} ... {text[-1500:]}"


def plain(value):
    """Rows, byte arrays and lists as values that compare and sort."""
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return tuple(plain(one) for one in value)
    return value


def records(frame, without=()):
    """The records of a DataFrame in the order of their offsets, all columns, headers if there are some."""
    names = [name for name in (*RECORD, "headers") if name in frame.columns and name not in without]
    assert set(names) | set(without) == set(frame.columns), frame.columns
    return in_order(plain(tuple(row)) for row in frame.select(*names).collect())


def in_order(rows):
    """Records by topic, partition and offset, which come first."""
    return sorted(rows, key=lambda row: row[:3])


def tasks(frame):
    """The offsets of each task: (topic, partition, first, last, how many) in the order of offsets; number of tasks."""
    rows = frame.selectExpr("spark_partition_id() AS task", "topic", "partition", "offset").collect()
    found = {}
    for row in rows:
        found.setdefault((row.task, row.topic, row.partition), []).append(row.offset)
    ranges = [(topic, partition, min(of), max(of), len(of)) for (_task, topic, partition), of in found.items()]
    assert all(of == sorted(of) for of in found.values()), "within a task records come in order"
    return sorted(ranges), frame.rdd.getNumPartitions()
