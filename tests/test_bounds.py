"""Every bound is a setting or stands in headrace/limits.py, where bounds can be related to each other.

What is called *_MAX or *_MIN elsewhere is a width of a format, not a choice of ours: it stands here, with its reason.
"""

import ast
import re
from collections import Counter

import pytest

from tests.support.tree import ROOT, SOURCES

LIMITS = "headrace/limits.py"
_BOUND = re.compile(r"_?[A-Z][A-Z0-9_]*_(MAX|MIN)")

# file -> (names, why they are no bounds that we chose)
FORMATS = {
    "protocol/varint.py": ("UVARINT_BYTES_MAX VARLONG_BYTES_MAX", "what 32 and 64 bits take at 7 a byte"),
    "protocol/batch_builder.py": ("BATCH_BYTES_MAX", "what a batch's length can express, an int32"),
    "protocol/codec_frames.py": (
        "ELEMENTS_MAX WINDOW_BYTES_MAX GZIP_RATIO_MAX LZ4_RATIO_MAX _GZIP_BYTES_MIN",
        "what the codecs' formats can express; how far a block is walked is compiled into the kernel",
    ),
    "protocol/compression.py": (
        "XERIAL_BLOCK_BYTES_MIN SNAPPY_RATIO_MAX SNAPPY_BLOCK_BYTES_MIN ZSTD_BLOCK_BYTES_MAX",
        "what the codecs' formats say",
    ),
    "protocol/record_batch.py": (
        "RECORD_BYTES_MIN _INT64_MIN _INT64_MAX",
        "a record of v2, each field in a byte; int64",
    ),
    "headrace/settings.py": (
        "_DIGITS_MAX _INT_MAX _LONG_MAX",
        "int32, int64; the digits of the largest double, and some",
    ),
    "protocol/message_set.py": ("ENTRY_BYTES_MIN", "a message of v0 without key and value"),
    "shm/layout.py": (
        "RING_CAPACITY_MIN KIND_MAX JOURNAL_ENTRIES_MIN",
        "the layout of a ring: what fits its page, its kind's byte; a power of two",
    ),
    "shm/cluster_table.py": ("ROW_IDS_MAX", "the layout of a row: what its 128 bytes have room for, twice"),
    "log/compaction/offset_map.py": ("SLOTS_MIN", "a prime: the smallest table that the hash works with"),
    "log/inspection/entry_scan.py": ("LEGACY_BYTES_MIN", "an entry of v0"),
    "log/batch_walk.py": ("LENGTH_MIN", "the header of a batch of v2"),
    "log/compaction/cleaned_segment.py": ("POSITION_MAX", "an index entry's int32"),
    "log/index_layout.py": ("RELATIVE_OFFSET_MAX", "an index entry's int32"),
    "log/names.py": ("BASE_OFFSET_MAX", "an int64 less two of an index entry's int32"),
    "log/state/checkpoints.py": ("OFFSET_MAX PARTITION_MAX EPOCH_MAX", "int64, int32, int32"),
    "log/writing/validator.py": (
        "CODEC_MAX TIME_MIN TIME_MAX COMPRESSED_RECORDS_MAX _RATIOS_MAX",
        "codecs there are; int64; another's name here",
    ),
    "client/cluster.py": ("PORT_MAX", "TCP's"),
    "client/assignors.py": ("KNOWN_VERSION_MAX", "the schema's last version"),
    "workers/coordinators/group/records.py": (
        "GROUP_VALUE_VERSION_MAX METADATA_BYTES_MAX",
        "the schema's last version; an int16 length",
    ),
    "workers/coordinators/group/loader.py": ("SUFFIX_BYTES_MIN VALUE_BYTES_MIN NAME_BYTES_MAX", "widths of fields"),
    "workers/coordinators/group/commits.py": ("LONG_MAX", "int64"),
    "workers/coordinators/group/commit_request.py": (
        "STORED_NAME_BYTES_MAX",
        "a topic's name in UTF-8, with its length",
    ),
    "workers/coordinators/group/group.py": (
        "SUBSCRIPTION_VERSION_MAX GENERATION_MAX",
        "the schema's last version; int32",
    ),
    "workers/network/fetch/partition_reads.py": ("CONSUMER_REPLICA_ID_MAX", "Kafka's -1: what is above is a broker"),
    "workers/network/forwarding/group_owners.py": ("ID_BYTES_MAX", "an int16 length"),
    "workers/partition/coordination/coordinator_batch.py": (
        "RECORD_OVERHEAD_BYTES_MAX",
        "what the fields of a record take at most",
    ),
    "workers/partition/coordination/lag_rows.py": ("_SIGN_MAX", "the largest first byte of a positive int64"),
    "controller/cluster/view_room.py": (
        "JSON_BYTES_PER_CHARACTER_MAX ID_BYTES_MAX PARTITION_BYTES_MAX",
        "JSON's \\uXXXX; what an int32 takes in the view's encoding",
    ),
    "controller/agent/producer_id_file.py": ("PRODUCER_ID_MAX", "int64"),
    "spark/consumer_properties.py": ("_INT_MAX _LONG_MAX", "int32, int64"),
    "arrow/columns.py": ("TIMESTAMP_MS_MAX", "microseconds in an int64"),
    "arrow/gathered.py": ("GATHER_BYTES_MAX", "Arrow's int32"),
    "spark/decoding/ddl.py": ("DECIMAL_DIGITS_MAX", "Arrow's and Spark's Decimal128"),
    "arrow/decode.py": ("LISTED_MAX", "the kernel's: so many compressed batches a walk lists"),
    "arrow/python_walk.py": ("ENTRY_BYTES_MIN INT64_MIN INT64_MAX", "a length and a magic; int64"),
    "arrow/target.py": ("BODY_MAX VIEW_INLINE_MAX", "a place among the sums; Arrow's BinaryView"),
    "client/addresses.py": ("PORT_MAX", "a uint16"),
    "cli/settings.py": ("LONG_MAX INT_MAX", "int64, int32"),
    "cli/topics.py": ("REPLICAS_MAX", "an int16"),
    "cli/arguments.py": ("OFFSET_MAX", "int64"),
    "cli/consume.py": ("MESSAGES_MAX", "more than there can be"),
}


def bounds_of(source: str) -> set[str]:
    """Names of a module's own that say they are bounds, and are numbers of its own making."""
    found = set()
    for node in ast.parse(source).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Name) and _BOUND.fullmatch(name.id):
                    found.add(name.id)
    return found


def tree() -> dict[str, set[str]]:
    paths = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {path.relative_to(ROOT).as_posix(): bounds_of(path.read_text()) for path in paths}
    return {name: bounds for name, bounds in found.items() if bounds and name != LIMITS}


def test_a_bound_is_a_setting_or_in_limits():
    allowed = {name: set(names.split()) for name, (names, _why) in FORMATS.items()}
    assert not {name: wrong for name, bounds in tree().items() if (wrong := bounds - allowed.get(name, set()))}


def test_no_format_that_is_allowed_is_stale():
    found = tree()
    assert not {name for name, (names, _why) in FORMATS.items() if set(names.split()) - found.get(name, set())}


def test_every_bound_of_limits_is_used():
    text = "\n".join(path.read_text() for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py")))
    words = Counter(re.findall(r"\w+", text))
    assert not {name for name in bounds_of((ROOT / LIMITS).read_text()) if words[name] < 2}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("READERS_MAX = 2_000", {"READERS_MAX"}),
        ("_TRIES_MAX: int = 3", {"_TRIES_MAX"}),
        ("TIME_MIN, TIME_MAX = 0, 1", {"TIME_MIN", "TIME_MAX"}),
        ("A_MAX = B_MAX = 3", {"A_MAX", "B_MAX"}),
        ("from headrace.limits import READERS_MAX", set()),
        ("def f():\n    bytes_max = 3", set()),
    ],
)
def test_a_bound_is_seen_in_every_form(source, found):
    assert bounds_of(source) == found
