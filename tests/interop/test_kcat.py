"""kcat against a node."""

import random
import shutil
import subprocess

import pytest

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not on the PATH (apt-get install kcat)"),
]

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
SEED = 20_240_612


def kcat(*arguments, stdin=b""):
    done = subprocess.run(["kcat", *arguments], input=stdin, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def read(node, topic, count, layout):
    return kcat(
        "-C", "-q", "-b", node.bootstrap, "-t", topic, "-p", "0", "-o", "beginning", "-c", str(count), "-f", layout
    )


@pytest.mark.parametrize("codec", CODECS)
def test_kcat_writes_with_every_codec(node, librdkafka, topic, codec):
    text = b"".join(b"key %d:value %d\n" % (number, number) for number in range(100)) + b"empty:\n"
    kcat("-P", "-b", node.bootstrap, "-t", topic, "-p", "0", "-K:", "-Z", "-z", codec, "-H", "name=content", stdin=text)
    wanted = [(b"key %d" % number, b"value %d" % number, [("name", b"content")]) for number in range(100)]
    wanted.append((b"empty", None, [("name", b"content")]))  # -Z: empty is null
    assert librdkafka.read(node.bootstrap, topic, 101) == wanted


def test_kcat_reads_the_same_bytes(node, librdkafka, topic, records):
    librdkafka.write(node.bootstrap, topic, records)
    wanted = b""
    for offset, (key, value, headers) in enumerate(records):
        sizes = [-1 if part is None else len(part) for part in (key, value)]
        pairs = b",".join(name.encode() + b"=" + (b"NULL" if content is None else content) for name, content in headers)
        wanted += b"%d %d %d %s %s%s\n" % (offset, *sizes, pairs, key or b"", value or b"")
    assert read(node, topic, len(records), "%o %K %S %h %k%s\n") == wanted


def test_a_record_of_a_mebibyte_goes_both_ways(node, topic, tmp_path):
    print("seed", SEED)
    large = random.Random(SEED).randbytes(1_048_000)
    source = tmp_path / "large"
    source.write_bytes(large)
    kcat("-P", "-b", node.bootstrap, "-t", topic, "-p", "0", "-X", "message.max.bytes=2000000", str(source))
    assert read(node, topic, 1, "%s") == large


def test_kcat_lists_brokers_and_topics(node, librdkafka, topic, records):
    librdkafka.write(node.bootstrap, topic, records)
    listing = kcat("-L", "-b", node.bootstrap, "-t", topic).decode()
    assert f"broker 0 at {node.bootstrap}" in listing
    assert f'topic "{topic}" with 1 partitions' in listing
    assert "partition 0, leader 0, replicas: 0, isrs: 0" in listing


def test_kcat_finds_an_offset_by_time(node, topic, librdkafka, records):
    librdkafka.write(node.bootstrap, topic, records)
    assert kcat("-Q", "-b", node.bootstrap, "-t", f"{topic}:0:-1").decode().split() == [
        topic,
        "[0]",
        "offset",
        str(len(records)),
    ]
