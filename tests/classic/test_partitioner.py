"""P9: the default partitioner is Java's hashCode, whatever Python's own hash is salted with."""

import subprocess
import sys

import pytest

from headrace.classic.partitioner import DefaultPartitioner, java_hash, partitioner_of
from headrace.errors import ConfigError

INT_MIN = -(1 << 31)


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", INT_MIN),
        ("\N{GRINNING FACE}", 1772899),  # two units: 0xd83d, 0xde00
        (b"", 1),
        (b"\x01\x02", 994),
        (b"\xff", 30),
        (7, 7),
        (-7, -7),
        (1 << 40, 256),
        (-(1 << 40), -256),
        (True, 1231),
    ],
)
def test_hashes_are_those_of_java(key, hashed):
    assert java_hash(key) == hashed


def test_a_hash_without_an_absolute_value_is_partition_zero():
    assert DefaultPartitioner().partition("polygenelubricants", 7) == 0
    assert DefaultPartitioner().partition(-3, 7) == 3


@pytest.mark.process
def test_two_processes_agree():
    program = "from headrace.classic.partitioner import DefaultPartitioner as P; print(P().partition('user-17', 1000))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, env={**_environment(), "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {b"%d\n" % DefaultPartitioner().partition("user-17", 1000)}


def _environment():
    import os

    return dict(os.environ)


def test_a_key_of_another_type_is_refused():
    with pytest.raises(TypeError, match=r"type float: set partitioner\.class"):
        java_hash(1.5)
    with pytest.raises(OverflowError):
        java_hash(1 << 64)


class Always:
    def partition(self, key, num_partitions):
        return 1


def test_a_partitioner_is_an_instance_a_class_or_a_name():
    assert partitioner_of("partitioner.class", Always).partition("k", 2) == 1
    assert partitioner_of("partitioner.class", Always()).partition("k", 2) == 1
    assert isinstance(partitioner_of("partitioner.class", "kafka.producer.DefaultPartitioner"), DefaultPartitioner)
    for value, complaint in (
        ("no.such.Class", "no such class"),
        (int, "has no method partition"),
        ("plain", "no such class"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            partitioner_of("partitioner.class", value)
