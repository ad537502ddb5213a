"""Spark's DDL for a schema, `page string, at struct<x: double>`, as a StructType, without a session.

Runs in: Spark's driver, and the Python process in which it plans a data source: there is no session there to ask.

Source: Spark's SQL reference, data types; `DataType.fromDDL`, which needs a JVM.
"""

from __future__ import annotations

import re

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headrace.limits import SCHEMA_DEPTH_MAX

_SIMPLE: dict[str, type[DataType]] = {
    "boolean": BooleanType,
    "tinyint": ByteType,
    "byte": ByteType,
    "smallint": ShortType,
    "short": ShortType,
    "int": IntegerType,
    "integer": IntegerType,
    "bigint": LongType,
    "long": LongType,
    "float": FloatType,
    "real": FloatType,
    "double": DoubleType,
    "string": StringType,
    "binary": BinaryType,
    "date": DateType,
    "timestamp": TimestampType,
    "timestamp_ltz": TimestampType,
    "timestamp_ntz": TimestampNTZType,
}
_DECIMALS = ("decimal", "dec", "numeric")
_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|(\w+)|('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|([<>(),:]))")
DECIMAL_DIGITS_MAX = 38


def parse_ddl(text: str) -> StructType:
    """The columns that a DDL string names; NOT NULL and comments are passed over, as from_json does.

    raises   ValueError, naming the DDL and what is wrong in it
    """
    parser = _Parser(text)
    found = parser.fields("", 0)
    if len(found) == 1 and not found.names[0] and isinstance(found.fields[0].dataType, StructType):
        return found.fields[0].dataType  # struct<...>, which from_json takes as well
    return found


class _Parser:
    """The tokens of one DDL string, read from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.refusal(f"unexpected {text[position:].strip()[:10]!r}")
            quoted, word, literal, sign = match.groups()
            if quoted is not None:
                self._tokens.append(("name", quoted.replace("``", "`")))
            elif word is not None:
                self._tokens.append(("word", word))
            elif literal is not None:
                self._tokens.append(("text", literal))
            else:
                self._tokens.append(("sign", sign))
            position = match.end()
        self._tokens.append(("end", ""))

    def refusal(self, reason: str) -> ValueError:
        return ValueError(f"schema {self._text!r}: {reason}; expected Spark DDL such as 'page string, ms bigint'")

    def fields(self, closing: str, depth: int) -> StructType:
        """Fields up to the sign that closes them; '' for the end of the text."""
        found = StructType([])
        if not closing and self._word() == "struct" and self._tokens[1] == ("sign", "<"):
            found.add(StructField("", self._type(depth)))
        else:
            while True:
                kind, name = self._take()
                if kind not in ("name", "word"):
                    raise self.refusal(f"a column's name is missing before {name!r}" if name else "a column is missing")
                if self._tokens[0] == ("sign", ":"):
                    self._take()
                if name in found.names:
                    raise self.refusal(f"column {name} is listed twice")
                found.add(StructField(name, self._type(depth)))
                self._skip_constraints()
                if self._tokens[0] != ("sign", ","):
                    break
                self._take()
        kind, sign = self._take()
        if (kind, sign) != (("sign", closing) if closing else ("end", "")):
            raise self.refusal(f"unexpected {sign!r}" if sign else f"{closing!r} is missing")
        return found

    def _type(self, depth: int) -> DataType:
        if depth > SCHEMA_DEPTH_MAX:
            raise self.refusal(f"nested deeper than {SCHEMA_DEPTH_MAX}")
        kind, word = self._take()
        name = word.lower()
        if kind == "word" and name in _SIMPLE:
            return _SIMPLE[name]()
        if kind == "word" and name in _DECIMALS:
            return self._decimal()
        if kind == "word" and name == "struct":
            self._expect("<")
            return self.fields(">", depth + 1)
        if kind == "word" and name == "array":
            self._expect("<")
            element = self._type(depth + 1)
            self._expect(">")
            return ArrayType(element)
        if kind == "word" and name == "map":
            self._expect("<")
            key = self._type(depth + 1)
            self._expect(",")
            value = self._type(depth + 1)
            self._expect(">")
            return MapType(key, value)
        raise self.refusal(f"type {word!r} is unknown" if word else "a type is missing")

    def _decimal(self) -> DataType:
        digits: list[int] = []
        if self._tokens[0] == ("sign", "("):
            while self._take()[1] != ")":
                _kind, number = self._take()
                if not number.isdigit() or self._tokens[0] not in (("sign", ","), ("sign", ")")) or len(digits) == 2:
                    raise self.refusal("decimal takes (precision) or (precision, scale)")
                digits.append(int(number))
        precision, scale = (*digits, 10, 0)[:2] if not digits else (*digits, 0)[:2]
        if not 1 <= precision <= DECIMAL_DIGITS_MAX or scale > precision:
            raise self.refusal(f"decimal({precision},{scale}) is out of range")
        return DecimalType(precision, scale)

    def _skip_constraints(self) -> None:
        if self._word() == "not":
            self._take()
            if self._word() != "null":
                raise self.refusal("NOT must be followed by NULL")
            self._take()
        if self._word() == "comment":
            self._take()
            if self._take()[0] != "text":
                raise self.refusal("COMMENT must be followed by a string")

    def _word(self) -> str:
        kind, text = self._tokens[0]
        return text.lower() if kind == "word" else ""

    def _expect(self, sign: str) -> None:
        kind, found = self._take()
        if (kind, found) != ("sign", sign):
            raise self.refusal(f"{sign!r} is missing")

    def _take(self) -> tuple[str, str]:
        return self._tokens.pop(0) if len(self._tokens) > 1 else self._tokens[0]
