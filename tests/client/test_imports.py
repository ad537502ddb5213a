"""What a program imports with the client: the way in alone, and each half when one is made. Counted in modules, not in time."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

# Of others: each costs more than all of ours, and none is needed to name a cluster.
HEAVY = (
    "asyncio",
    "concurrent.futures",
    "dataclasses",
    "inspect",
    "isal",
    "logging",
    "lz4",
    "msgspec",
    "numpy",
    "pyarrow",
    "zstandard",
)
NEVER = ("lz4", "msgspec", "numpy", "pyarrow", "zstandard")  # unless a codec, a serializer or a table asks for it
OF_OURS_MAX = 16  # modules
_DEADLINE_S = 60


def imported_by(statements):
    """The modules that they bring into a fresh interpreter."""
    program = f"import sys\nbefore = set(sys.modules)\n{statements}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=_DEADLINE_S, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("package", ["client", "aio"])
def test_the_way_in_imports_no_half_of_a_client(package):
    found = imported_by(f"from headrace.{package} import Kafka\nKafka('broker:9092')")
    assert [name for name in HEAVY if name in found] == []
    ours = [name for name in found if name.split(".")[0] == "headrace"]
    assert len(ours) <= OF_OURS_MAX, sorted(ours)


@pytest.mark.parametrize("package", ["client", "aio"])
def test_the_package_alone_imports_nothing_of_it(package):
    found = imported_by(f"import headrace.{package}")
    assert [name for name in found if name.startswith(f"headrace.{package}.")] == []


def test_a_producer_needs_nothing_of_a_consumer():
    found = imported_by("from headrace.client import Kafka\nKafka('broker:9092').producer().close()")
    assert "headrace.client.kafka_producer" in found
    unwanted = (
        "headrace.client.kafka_consumer",
        "headrace.client.engine.fetching",
        "headrace.client.kafka_admin",
        "asyncio",
        *NEVER,
    )
    assert [name for name in unwanted if name in found] == []


def test_a_consumer_needs_nothing_of_a_producer():
    found = imported_by("from headrace.client import Kafka\nKafka('broker:9092').consumer('t').close()")
    assert "headrace.client.kafka_consumer" in found
    unwanted = (
        "headrace.client.kafka_producer",
        "headrace.client.engine.producing",
        "headrace.client.kafka_admin",
        "asyncio",
        *NEVER,
    )
    assert [name for name in unwanted if name in found] == []


def test_errors_and_serializers_need_no_half_of_a_client():
    found = imported_by(
        "from headrace.client import Bytes, ConnectionFailed, DeliveryFailed, Json, Record, Str, WaitTimedOut"
    )
    assert [name for name in found if name.startswith("headrace.client.engine")] == []
    assert [name for name in HEAVY if name in found] == []


def test_json_is_imported_with_the_first_serializer():
    assert "msgspec" not in imported_by("from headrace.client import Bytes, Json, Str")
    assert "msgspec" in imported_by("from headrace.client import Json\nJson()")
