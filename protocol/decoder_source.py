"""The source of a decoder: from the bytes of a body to its message.

It trusts nothing. A length or count is compared with the bytes that remain before anything is made of it, a
tag's content with its announced size, and what all arrays and tags of a message would take in memory with
DECODED_BYTES_MAX, of a request with DECODED_REQUEST_BYTES_MAX: any client may send one. Unknown tags are skipped. Bytes after
the last field are let be, as Kafka does: librdkafka sends one too many in a Metadata v9 for all topics.

Memory, beside the frame itself: at most this many bytes for objects, and four bytes for each byte of text.

Errors leave as IndexError, struct.error, UnicodeDecodeError or Malformed, which `codec.py` turns
into a BadFrame; `records` are views of the frame.
"""

from __future__ import annotations

from codecs import utf_8_decode
from collections.abc import Callable
from struct import calcsize, unpack_from
from typing import Any, Final

from headrace.limits import DECODED_BYTES_MAX, DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.field_tables import PRIMITIVES, Field, StructType
from headrace.protocol.function_source import FIXED_TYPES, FunctionSource, element_of, is_fixed, is_sized
from headrace.protocol.varint import read_uvarint

# Upper estimates of objects in memory (CPython, 64 bits), without the text or bytes in them
SLOT_BYTES: Final = 20  # in a list that grows: the old and the new at once
TUPLE_BYTES: Final = 64
LIST_BYTES: Final = 88
NUMBER_BYTES: Final = 32
VALUE_BYTES: Final = {"bool": 0, "int64": 48, "uuid": 64, "string": 80, "bytes": 64, "records": 200}
TAG_BYTES: Final = 64  # not memory: what a tag may cost in time


class Malformed(ValueError):
    """Bytes that contradict the schema or themselves."""


class DecoderSource(FunctionSource):
    """Lines that read. Variables: `buf`, `pos`, `end`, `budget`; v values, n lengths and counts, e ends."""

    def function(self) -> Callable[[memoryview], Any]:
        self.constants |= {
            "Malformed": Malformed,
            "uvarint": read_uvarint,
            "unpack_from": unpack_from,
            "utf8": utf_8_decode,
            "new": tuple.__new__,
        }
        self.put("pos = 0")
        self.put("end = len(buf)")
        self.put(f"budget = {self._bytes_max()}")
        self.put(f"return {self._struct(self.message.root)}")
        return self.build("def run(buf):")

    def _bytes_max(self) -> int:
        is_request = self.message.name.endswith("Request")
        return min(DECODED_BYTES_MAX, DECODED_REQUEST_BYTES_MAX) if is_request else DECODED_BYTES_MAX

    def _struct(self, struct: StructType) -> str:
        """Put the reading of a struct; returns the expression that makes it."""
        tuple_class = self.class_of(struct)
        defaults = tuple_class._field_defaults
        values = {}
        plain, tagged = self.present(struct)
        for field in plain:
            values[field.name] = self.name("v")
            with self.inside(field.name):
                self._value(field, values[field.name])
        for field in tagged:
            values[field.name] = self.name("v")
            self.put(f"{values[field.name]} = {self._literal(defaults[field.name])}")
        if self.is_flexible:
            with self.inside("tags"):
                self._tags(tagged, values)
        self._flush()
        parts = [values.get(field.name) or self._literal(defaults[field.name]) for field in struct.fields]
        return f"new({self.constant('C', tuple_class)}, ({''.join(part + ', ' for part in parts)}))"

    def _literal(self, value: Any) -> str:
        return repr(value) if value is None or isinstance(value, (bool, int, str)) else self.constant("D", value)

    def _flush(self) -> None:
        """Read what is pending."""
        if len(self.pending) == 1 and self.pending[0][0] == "B":
            self.put(f"{self.pending[0][1]} = buf[pos]")
            self.put("pos += 1")
        elif self.pending:
            targets = "".join(variable + ", " for _letter, variable in self.pending)
            call = self.struct_call("unpack_from")
            self.put_pending(f"{targets}= {call}(buf, pos)")
            self.put(f"pos += {calcsize('>' + ''.join(letter for letter, _variable in self.pending))}")
        self.pending.clear()

    def _refuse(self, condition: str, reason: str) -> None:
        with self.block(f"if {condition}:"):
            self.put(f'raise Malformed(f"{reason}")')

    def _value(self, field: Field, variable: str) -> None:
        if field.is_array:
            self._array(field, variable)
        elif is_fixed(field):
            self.pend(FIXED_TYPES[field.type_name][0], variable)
        elif is_sized(field):
            self._sized(field, variable)
        elif self.is_nullable(field):
            self._nullable_struct(field, variable)
        else:
            self.put(f"{variable} = {self._struct(self.struct_of(field))}")

    def _uvarint(self, target: str, limit: int | None = None) -> None:
        """Read one, of one byte most often; more than `limit` is refused."""
        self.pend("B", target)
        self._flush()
        with self.block(f"if {target} > 127:"):
            self.put(f"{target}, pos = uvarint(buf, pos - 1)")
            if limit is not None:
                self._refuse(f"{target} > {limit}", f"length {{{target} - 1}}")

    def _length(self, field: Field, target: str) -> None:
        """Read a length or count; -1 is null, and leaves only where null is allowed."""
        is_text = field.type_name == "string" and not field.is_array
        if self.is_compact(field):
            self._uvarint(target, STRING_BYTES_MAX + 1 if is_text else None)
            self.put(f"{target} -= 1")
        else:
            self.pend("h" if is_text else "i", target)
            self._flush()
        if not self.is_nullable(field):
            self._refuse(f"{target} < 0", f"length {{{target}}}, which may not be")
        elif not self.is_compact(field):
            self._refuse(f"{target} < -1", f"length {{{target}}}")

    def _or_null(self, field: Field, size: str, variable: str) -> str:
        """The line under which a value is read that may be null."""
        if not self.is_nullable(field):
            return ""
        with self.block(f"if {size} < 0:"):
            self.put(f"{variable} = None")
        return "else:"

    def _nullable_struct(self, field: Field, variable: str) -> None:
        marker = self.name("n")
        self.pend("b", marker)
        self._flush()
        with self.block(f"if {marker} < 0:"):
            self.put(f"{variable} = None")
        with self.block("else:"):
            self.put(f"{variable} = {self._struct(self.struct_of(field))}")

    def _sized(self, field: Field, variable: str) -> None:
        """string, bytes, records."""
        size, stop = self.name("n"), self.name("e")
        self._length(field, size)
        otherwise = self._or_null(field, size, variable)
        if otherwise:
            with self.block(otherwise):
                self._content(field, variable, size, stop)
        else:
            self._content(field, variable, size, stop)

    def _content(self, field: Field, variable: str, size: str, stop: str) -> None:
        self.put(f"{stop} = pos + {size}")
        self._refuse(f"{stop} > end", f"{{{size}}} bytes announced, {{end - pos}} remain")
        view = f"buf[pos:{stop}]"
        made = {"string": f"utf8({view}, 'strict', True)[0]", "bytes": f"bytes({view})", "records": view}
        self.put(f"{variable} = {made[field.type_name]}")
        self.put(f"pos = {stop}")

    def _array(self, field: Field, variable: str) -> None:
        count = self.name("n")
        self._length(field, count)
        otherwise = self._or_null(field, count, variable)
        if otherwise:
            with self.block(otherwise):
                self._elements(field, variable, count)
        else:
            self._elements(field, variable, count)

    def _elements(self, field: Field, variable: str, count: str) -> None:
        element = element_of(field)
        least = self._bytes_min(element)
        self._refuse(f"{count} * {least} > end - pos", f"{{{count}}} elements announced, {{end - pos}} bytes remain")
        self._spend(count, SLOT_BYTES + self._object_bytes(element))
        if is_fixed(element) and element.type_name != "uuid":
            letter, size = FIXED_TYPES[element.type_name]
            self.put(f"{variable} = list(unpack_from(f'>{{{count}}}{letter}', buf, pos))")
            self.put(f"pos += {count} * {size}")
            return
        self.put(f"{variable} = []")
        with self.block(f"for _ in range({count}):"):
            if field.type_name in self.message.structs:
                self.put(f"{variable}.append({self._struct(self.struct_of(field))})")
                return
            one = self.name("v")
            self._value(element, one)
            self._flush()
            self.put(f"{variable}.append({one})")

    def _spend(self, count: str, cost: int) -> None:
        self.put(f"budget -= {count} * {cost}")
        self._refuse("budget < 0", f"{{{count}}} more would take more than {self._bytes_max()} bytes")

    def _tags(self, tagged: list[Field], values: dict[str, str]) -> None:
        count, tag, size, stop = (self.name(letter) for letter in "ntse")
        self.pend("B", count)
        self._flush()
        with self.block(f"if {count}:"):
            with self.block(f"if {count} > 127:"):
                self.put(f"{count}, pos = uvarint(buf, pos - 1)")
            self._refuse(f"{count} * 2 > end - pos", f"{{{count}}} announced, {{end - pos}} bytes remain")
            self._spend(count, TAG_BYTES)
            with self.block(f"for _ in range({count}):"):
                self._uvarint(tag)
                self._uvarint(size)
                self.put(f"{stop} = pos + {size}")
                self._refuse(f"{stop} > end", f"{{{size}}} bytes announced for tag {{{tag}}}, {{end - pos}} remain")
                for field in tagged:
                    with self.block(f"if {tag} == {field.tag}:"), self.inside(field.name):
                        self._value(field, values[field.name])
                        self._flush()
                        self._refuse(f"pos != {stop}", "content and its size disagree")
                self.put(f"pos = {stop}")

    def _bytes_min(self, field: Field) -> int:
        """The fewest bytes that a value takes in a frame."""
        if is_fixed(field):
            return FIXED_TYPES[field.type_name][1]
        if field.is_array or is_sized(field):
            if self.is_compact(field):
                return 1
            return 2 if field.type_name == "string" and not field.is_array else 4
        if self.is_nullable(field):
            return 1
        plain, _tagged = self.present(self.struct_of(field))
        return max(1, sum(map(self._bytes_min, plain)) + self.is_flexible)

    def _object_bytes(self, field: Field) -> int:
        """The most that a value takes in memory; the elements of an array count when its length is known."""
        if field.is_array:
            return LIST_BYTES
        if field.type_name in PRIMITIVES:
            return VALUE_BYTES.get(field.type_name, NUMBER_BYTES)
        struct = self.struct_of(field)
        plain, tagged = self.present(struct)
        return TUPLE_BYTES + 8 * len(struct.fields) + sum(map(self._object_bytes, plain + tagged))
