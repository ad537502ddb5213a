"""Java's properties files, as `java.util.Properties.load` reads them: ISO-8859-1, blanks as separators, escapes.

The library reads them, but for one corner, which is Java's: a line of a lone backslash continues with what follows as
if that were the first (it may be a comment), and at the end of the text it is a pair of empty strings, unless CRLF
follows.

Source: java.util.Properties; Kafka `Utils.loadProps`, which hands it a stream of bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

_LONE_BACKSLASH: Final = re.compile(r"[ \t\f]*\\(\r\n|\r|\n|\Z)")


def read_properties(text: str) -> dict[str, str]:
    """Keys and values of a text; the last one of equal keys wins. raises ValueError, for a bad unicode escape"""
    return dict(_pairs(text))


def read_properties_file(path: Path) -> dict[str, str]:
    """The same of a file; raises OSError as well."""
    return read_properties(path.read_bytes().decode("latin-1"))


def write_properties_file(path: Path, values: Mapping[str, str], comment: str) -> None:
    """Write what `read_properties_file` reads back; raises OSError"""
    import javaproperties

    text = javaproperties.dumps(dict(values), comments=comment, timestamp=False)
    path.write_text(f"{text}\n", encoding="latin-1")


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    import javaproperties  # here: a client starts faster without it

    for element in javaproperties.parse(text):
        lone = _LONE_BACKSLASH.match(element.source)
        if lone is not None and lone.end() < len(element.source):
            yield from _pairs(element.source[lone.end() :])
        elif lone is not None:
            yield from [] if lone[1] == "\r\n" else [("", "")]
        elif isinstance(element, javaproperties.KeyValue):
            yield element.key, element.value
