"""`headrace dump-log` and Apache Kafka's own dump tool say the same of the same files, Kafka's and ours."""

import json
import re
import subprocess
import sys

import pytest

from tests.interop.kafka_log import (
    CODECS,
    HEADRACE_SETTINGS,
    RECORDS,
    SETTINGS,
    TOPICS,
    create_topics,
    fill,
    fill_compacted,
    start,
    write,
)

pytestmark = pytest.mark.interop

BATCH = re.compile(r"^(?:baseOffset|offset): ")
FIELD = re.compile(r"(\w+): (\[[^\]]*\]|[^\s}]+)")


@pytest.fixture(scope="module", params=["kafka", "headrace"])
def log_dir(request, tmp_path_factory):
    """A log directory that one of the two filled, and left clean."""
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "kafka":
        server = start("kafka", directory, SETTINGS)
        create_topics(server.bootstrap)
        fill(server.bootstrap, RECORDS)
    else:
        server = start("headrace", directory, HEADRACE_SETTINGS)
        create_topics(server.bootstrap, {name: TOPICS[name] for name in ("codecs", "headers", "compacted")})
        for codec in CODECS:
            write(server.bootstrap, "codecs", [(b"%d" % n, b"v" * n, []) for n in range(300)], codec)
            write(server.bootstrap, "headers", RECORDS, codec, **{"enable.idempotence": True})
        fill_compacted(server.bootstrap)
    server.stop()
    return directory / "logs"


def ours(files, *options):
    """Items by file."""
    command = [sys.executable, "-m", "headrace.cli.main", "dump-log", "--json", *options, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    found = {}
    for line in done.stdout.splitlines():
        item = json.loads(line)
        if item["type"] == "file":
            rows = found[item["path"]] = []
        else:
            rows.append(item)
    return found


def theirs(tools, files, *options):
    """Lines of fields by file."""
    found = {}
    for line in tools.dump(*files, options=options).splitlines():
        if line.startswith("Dumping "):
            rows = found[line.removeprefix("Dumping ")] = []
        elif FIELD.match(line.removeprefix("| ")):
            rows.append((line, dict(FIELD.findall(line))))
    return found


def batch_of(fields):
    """A batch line of theirs in our words; what old formats lack is left out."""
    wanted = {
        "position": int(fields["position"]), "size": int(fields["size"]), "magic": int(fields["magic"]),
        "last_offset": int(fields.get("lastOffset", fields.get("offset", -1))),
        "codec": fields["compresscodec"].lower(), "crc": int(fields["crc"]), "is_valid": fields["isvalid"] == "true",
    }  # fmt: skip
    if wanted["magic"] == 2:
        wanted |= {
            "base_offset": int(fields["baseOffset"]), "count": int(fields["count"]),
            "leader_epoch": int(fields["partitionLeaderEpoch"]), "producer_id": int(fields["producerId"]),
            "producer_epoch": int(fields["producerEpoch"]), "base_sequence": int(fields["baseSequence"]),
            "is_transactional": fields["isTransactional"] == "true", "is_control": fields["isControl"] == "true",
            "delete_horizon_ms": int(re.sub(r"\D", "", fields["deleteHorizonMs"]) or -1),
        }  # fmt: skip
    if wanted["magic"]:
        kind = "CreateTime" if "CreateTime" in fields else "LogAppendTime"
        wanted |= {"timestamp_type": kind, "max_timestamp_ms": int(fields[kind])}
    return wanted


def record_of(fields):
    """A record line of theirs in our words."""
    time_ms = next(fields[kind] for kind in ("CreateTime", "LogAppendTime", "NoTimestampType") if kind in fields)
    wanted = {
        "offset": int(fields["offset"]), "timestamp_ms": int(time_ms), "key_size": int(fields["keySize"]),
        "value_size": int(fields["valueSize"]),
    }  # fmt: skip
    if "headerKeys" in fields:
        wanted["header_keys"] = [name for name in fields["headerKeys"][1:-1].split(",") if name]
    if fields.get("sequence", "-1") != "-1":
        wanted["sequence"] = int(fields["sequence"])
    if "endTxnMarker" in fields:
        wanted |= {"marker": fields["endTxnMarker"], "coordinator_epoch": int(fields["coordinatorEpoch"])}
    return wanted


def in_words(item, wanted):
    return {name: item.get(name) for name in wanted}


def test_every_batch_and_record(log_dir, tools):
    files = sorted(log_dir.glob("*/*.log"))
    found, expected = ours(files, "--deep"), theirs(tools, files, "--deep-iteration")
    batches = records = 0
    for path, lines in expected.items():
        items = [item for item in found[path] if item["type"] in ("batch", "record")]
        assert len(items) == len(lines), path
        for item, (line, fields) in zip(items, lines, strict=True):
            is_batch = BATCH.match(line)
            wanted = batch_of(fields) if is_batch else record_of(fields)
            assert item["type"] == ("batch" if is_batch else "record"), line
            assert in_words(item, wanted) == wanted, line
            batches += bool(is_batch)
            records += not is_batch
        assert not [item for item in found[path] if item["type"] == "fault"]
    assert batches > 100
    assert records > 1000


def test_the_plain_dump(log_dir, tools):
    files = sorted(log_dir.glob("*/*.log"))
    found, expected = ours(files), theirs(tools, files)
    for path, lines in expected.items():
        batches = [item for item in found[path] if item["type"] == "batch"]
        assert [in_words(item, batch_of(fields)) for item, (_line, fields) in zip(batches, lines, strict=True)] == [
            batch_of(fields) for _line, fields in lines
        ]


def test_every_entry_of_the_indexes(log_dir, tools):
    files = sorted([*log_dir.glob("*/*.index"), *log_dir.glob("*/*.timeindex"), *log_dir.glob("*/*.txnindex")])
    found, expected = (
        ours(files),
        theirs(tools, [path for path in files if path.stat().st_size or path.suffix != ".index"]),
    )
    names = {"position": "position", "offset": "offset", "timestamp": "timestamp_ms"}
    names |= {"producerId": "producer_id", "firstOffset": "first_offset", "lastOffset": "last_offset"}
    names |= {"lastStableOffset": "last_stable_offset", "version": "version"}
    entries = 0
    for path, lines in expected.items():
        items = [item for item in found[path] if item["type"] not in ("fault", "note", "end")]
        wanted = [
            {names[key]: int(value) for key, value in fields.items()} for _line, fields in lines if "Index" not in _line
        ]
        assert [in_words(item, one) for item, one in zip(items, wanted, strict=True)] == wanted, path
        entries += len(wanted)
    assert entries > 100


def test_what_disagrees_with_the_segments(log_dir, tools):
    """Entries that are not the end of a batch: theirs are mismatches, ours notes, as look-ups find what they look for."""
    files = [path for path in sorted(log_dir.glob("*/*.index")) if path.stat().st_size]
    report = tools.dump(*files, options=["--verify-index-only"])
    expected, path = {}, ""
    for line in report.splitlines():
        if line.startswith("Mismatches in :"):
            path = line.removeprefix("Mismatches in :")
        elif match := re.match(r"\s+Index offset: (\d+), log offset: (\d+)", line):
            expected.setdefault(path, set()).add((int(match[1]), int(match[2])))
    found = {}
    for path, items in ours(files, "--verify-index-only").items():
        assert not [item for item in items if item["type"] == "fault"]
        for note in items:
            if note["type"] == "note":
                numbers = re.fullmatch(r"offset (\d+) at byte \d+, where the batch ends at (\d+)", note["what"])
                found.setdefault(path, set()).add((int(numbers[1]), int(numbers[2])))
    assert found == expected


def test_every_producer_of_the_snapshots(log_dir, tools):
    files = sorted(log_dir.glob("*/*.snapshot"))
    found, expected = ours(files), theirs(tools, files)
    names = {
        "producerId": "producer_id", "producerEpoch": "producer_epoch", "coordinatorEpoch": "coordinator_epoch",
        "lastTimestamp": "last_timestamp_ms", "firstSequence": "first_sequence", "lastSequence": "last_sequence",
        "lastOffset": "last_offset",
    }  # fmt: skip
    for path, lines in expected.items():
        items = [item for item in found[path] if item["type"] == "producer"]
        wanted = [{names[key]: int(fields[key]) for key in names if key in fields} for _line, fields in lines]
        assert [in_words(item, one) for item, one in zip(items, wanted, strict=True)] == wanted, path
    assert any(expected.values())
