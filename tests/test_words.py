"""The field's English in what people read: help, messages, log lines, docstrings. A short list of words that have to be decoded.

What is checked is text alone: comments and names are not. Rooms that are not done yet are in NOT_YET.
"""

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
SOURCES = [
    "headrace",
    "protocol",
    "shm",
    "runtime",
    "client",
    "classic",
    "node",
    "spark",
    "arrow",
    "load",
    "migration",
    "testing",
    "cli",
    "bench",
    "examples",
    "workers",
]
NOT_YET = ["log", "controller"]
PAGES = [
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/operations.md",
    "docs/spark.md",
    "docs/loading.md",
    "docs/classic.md",
    "systemd/README.md",
    *(f"{folder}/README.md" for folder in SOURCES),
    *(f"workers/{part}/README.md" for part in ("network", "partition", "coordinators", "housekeeper")),
]
# what it says -> what an engineer of the field says
DIALECT = {
    # lagging is what it means here: lag behind, far behind, left behind
    r"(?<!lag )(?<!lags )(?<!far )(?<!further )(?<!left )(?<!fall )(?<!falls )(?<!sources )\bbehind\b": "after, beyond",
    r"\banew\b": "again, re-, new",
    r"\b(?:somebody|whoever|anybody)\b": "another process, a client, the caller",
    r"\bgo(?:es|ing)? on\b(?! the)": "continue, resume",
    r"(?<!there )\b(?:is|are) no (?!longer\b|more than\b|\w+er\b)(?:\w+[ -])?(?:time|offset|name|json|directory|file|"
    r"batch|number|error|topic|group|setting|pattern|key|value|format|token|whole)\b": "is not a, invalid",
    r"\bcan't be(?=[.,:;)]|$)": "is invalid",
    r"\b(?:stands?|stood) (?:in|at|on|there|twice|beside|here|still there|\d)\b|\bas (?:it|they) stands?\b": "is, is set in",
    r"\b(?:a|one|two|each|every|the|next) looks?\b(?!-)|\blook(?:s|ed|ing)? at\b": "scan, poll, check, tick, read",
    r"\bso many (?!that\b)\w": "N, this number of",
    r"\bon (?:its|their) way\b|\bunder way\b": "in flight, in progress",
    r"\btried again\b|\btries again\b": "retried, retries",
    r"\b(?:are|is|was|were) dealt\b|\bdeals\b": "assigned, assigns",
    r"\bthe text of a setting\b": "a setting",
}


def texts_of(source):
    """(line, text) of every docstring, and of every string of several words; f-strings with {} for what is put in."""
    found = []
    parts = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            parts.update(node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            text = node.value
        else:
            continue
        if " " in text.strip():
            found.append((node.lineno, " ".join(text.split())))
    return found


def dialect_in(text):
    """(phrase, what is better) of each place."""
    return [
        (found[0], better) for pattern, better in DIALECT.items() for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


def findings(name):
    """`file:line: phrase -> better` of a file."""
    text = (ROOT / name).read_text()
    texts = texts_of(text) if name.endswith(".py") else list(enumerate(text.splitlines(), 1))
    return [f"{name}:{line}: {phrase!r} -> {better}" for line, one in texts for phrase, better in dialect_in(one)]


def files_of(folder):
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("folder", SOURCES)
def test_sources_speak_the_fields_english(folder):
    assert not [found for name in files_of(folder) for found in findings(name)]


@pytest.mark.parametrize("name", PAGES)
def test_pages_speak_the_fields_english(name):
    assert not findings(name)


@pytest.mark.parametrize("folder", NOT_YET)
def test_a_room_that_is_done_leaves_the_list(folder):
    assert [found for name in files_of(folder) for found in findings(name)], f"move {folder} to SOURCES"


@pytest.mark.parametrize(
    "text",
    [
        "Behind the last record.",
        "log begins anew",
        "So many records on, or back with a minus.",
        "Let a group go on from elsewhere.",
        "'noon' is no time: 2026",
        "is no offset: a whole number from 0",
        "'five' is no whole number",
        "the error for a value that can't be.",
        "topic t stands twice",
        "the limits stand in its server.properties",
        "wakes whoever waits",
        "held by somebody else",
        "called at every look",
        "Every batch's checksum is looked at.",
        "one request is on its way to each leader",
        "the batches are tried again",
    ],
)
def test_dialect_is_found(text):
    assert dialect_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "Show how far groups lag behind",
        "what earlier boots left behind",
        "there is no time zone",
        "a snapshot is no longer needed",
        "so many that they shrink",
        "log.dirs can't be used",
        "look it up in the index",
        "stands for a key that is null",
        "a heads-up display behaves",
        "invalid time 'noon': expected 2026-11-21T08:30:00Z",
    ],
)
def test_the_fields_english_is_not_refused(text):
    assert not dialect_in(text)
