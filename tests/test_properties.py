"""Properties files, compared with Java's own `java.util.Properties` over a generated corpus."""

import random
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from headrace.properties import read_properties, read_properties_file, write_properties_file

SUPPORT = Path(__file__).parent / "support"
SEED = 20
TEXTS = 4_000
LENGTH = struct.Struct(">i")
PIECES = [
    *"\\=: \t\f\n\r#!ab0é\0\x85\x1c\x0b", "\r\n", "key", "\\n", "\\t", "\\\n", "\\\r\n", "\\\r", "\\:", "\\=", "\\ ", "\\#",
    "\\u", "\\u0041", "\\u00e4", "\\ud83d\\ude00", "\\ud83d", "broker.id=1", "\n  log.dirs : /a,\\\n    /b\n",
]  # fmt: skip
# The one place where the library differs and we don't care: a bad \u in a comment that follows a lone backslash.
UNLIKE_JAVA = re.compile(r"(?:^|[\r\n])[ \t\f]*\\(?:\r\n|\r|\n).*\\u(?![0-9a-fA-F]{4})", re.DOTALL)


@pytest.mark.process
@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
def test_files_are_read_as_java_reads_them():
    rng = random.Random(SEED)
    texts = ["".join(rng.choices(PIECES, k=rng.randrange(1, 30))) for _ in range(TEXTS)]
    texts = [text for text in texts if not UNLIKE_JAVA.search(text)]
    assert len(texts) > TEXTS * 3 // 4
    encoded = [text.encode("latin-1") for text in texts]
    corpus = LENGTH.pack(len(encoded)) + b"".join(LENGTH.pack(len(text)) + text for text in encoded)
    command = ["java", str(SUPPORT / "PropertiesCorpus.java")]
    java = subprocess.run(command, input=corpus, capture_output=True, check=True).stdout.decode().splitlines()
    assert len(java) == len(texts)
    differing = [(text, theirs) for text, theirs in zip(texts, java, strict=True) if ours_of(text) != theirs]
    assert not differing, f"seed {SEED}: {differing[:5]}"
    assert 0 < java.count("refused") < len(java) // 2


def ours_of(text):
    try:
        pairs = read_properties(text)
    except ValueError:
        return "refused"
    return "{" + ", ".join(f"{key}={value}" for key, value in sorted(hexed(pairs))) + "}"


def hexed(pairs):
    for pair in pairs.items():
        yield tuple(f"<{text.encode('utf-16-be', 'surrogatepass').hex()}>" for text in pair)


def test_a_comment_that_ends_in_a_backslash_swallows_nothing():
    text = "# a comment that ends in a backslash \\\nbroker.id=5\nzookeeper.connect 127.0.0.1:22181/vm3\n"
    assert read_properties(text) == {"broker.id": "5", "zookeeper.connect": "127.0.0.1:22181/vm3"}


def test_escapes_and_continued_lines():
    assert read_properties("a\\u0032=b\\\n   c\nd\\ e = f\\:g") == {"a2": "bc", "d e": "f:g"}


def test_a_file_is_latin_1(tmp_path):
    (tmp_path / "file").write_bytes(b"rack=n\xf6rdlich\n")
    assert read_properties_file(tmp_path / "file") == {"rack": "nördlich"}


def test_what_is_written_is_read_back(tmp_path):
    values = {"a b": " x = : \\ ", "umlaut": "\u00e4\u20ac", "listeners": "PLAINTEXT://127.0.0.1:9092", "empty": ""}
    write_properties_file(tmp_path / "file", values, "a comment")
    assert read_properties_file(tmp_path / "file") == values
    assert (tmp_path / "file").read_bytes().isascii()
