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

from struct import calcsize
from typing import Any, Final

from tools.codec.field_tables import PRIMITIVES, Field, StructType
from tools.codec.function_source import FIXED_TYPES, FunctionSource, element_of, is_fixed, is_sized
from tools.codec.message_source import StructDefault, written_default

# Upper estimates of objects in memory (CPython, 64 bits), without the text or bytes in them
SLOT_BYTES: Final = 20  # in a list that grows: the old and the new at once
TUPLE_BYTES: Final = 64
LIST_BYTES: Final = 88
NUMBER_BYTES: Final = 32
VALUE_BYTES: Final = {"bool": 0, "int64": 48, "uuid": 64, "string": 80, "bytes": 64, "records": 200}


class DecoderSource(FunctionSource):
    """Lines that read. Variables: `buf`, `pos`, `end`, `budget`; `n` lengths, `stop` ends; and each field's own."""

    def function(self) -> list[str]:
        """The lines of the body."""
        self.put(f"return {self._struct(self.message.root)}")
        assert not self.pending
        return self.opened({"pos": "0", "end": "len(buf)", "budget": self._bytes_max()})

    def _bytes_max(self) -> str:
        """The bound on what a message takes in memory: a name of headrace.limits."""
        return "DECODED_REQUEST_BYTES_MAX" if self.message.name.endswith("Request") else "DECODED_BYTES_MAX"

    def _struct(self, struct: StructType) -> str:
        """Put the reading of a struct; returns the expression that makes it."""
        values = {}
        plain, tagged = self.present(struct)
        for field in plain:
            values[field.name] = self.variable(field.name)
            with self.inside(field.name):
                self._value(field, values[field.name])
        for field in tagged:
            values[field.name] = self.variable(field.name)
            kind = ": Any" if self.default(field) == () else ""  # a list, where it is there
            self.put(f"{values[field.name]}{kind} = {self._literal(struct, field)}")
        if self.is_flexible:
            with self.inside("tags"):
                self._tags(tagged, values)
        self._flush()
        parts = [values.get(field.name) or self._literal(struct, field) for field in struct.fields]
        made = f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        return f"new({self.class_of(struct)}, {made})"

    def _literal(self, struct: StructType, field: Field) -> str:
        value: Any = self.default(field)
        return self.names.default(struct, field) if isinstance(value, StructDefault) else written_default(value)

    def _flush(self) -> None:
        """Read what is pending."""
        if len(self.pending) == 1 and self.pending[0][0] == "B":
            self.put(f"{self.pending[0][1]} = buf[pos]")
            self.put("pos += 1")
        elif self.pending:
            targets = ", ".join(variable for _letter, variable in self.pending)
            if len(self.pending) == 1:
                targets = f"({targets},)"
            call = self.struct_call("unpack_from")
            self.put_pending(f"{targets} = {call}(buf, pos)")
            self.put(f"pos += {calcsize('>' + ''.join(letter for letter, _variable in self.pending))}")
        self.pending.clear()

    def _refuse(self, condition: str, reason: str) -> None:
        with self.block(f"if {condition}:"):
            self.put(f'raise Malformed({"f" if "{" in reason else ""}"{reason}")')

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

    def _uvarint(self, target: str, limit: str = "") -> None:
        """Read one, of one byte most often; more than `limit` is refused."""
        self.pend("B", target)
        self._flush()
        with self.block(f"if {target} > 127:"):
            self.put(f"{target}, pos = read_uvarint(buf, pos - 1)")
            if limit:
                self._refuse(f"{target} > {limit}", f"length {{{target} - 1}}")

    def _length(self, field: Field, target: str) -> None:
        """Read a length or count; -1 is null, and leaves only where null is allowed."""
        is_text = field.type_name == "string" and not field.is_array
        if self.is_compact(field):
            self._uvarint(target, "STRING_BYTES_MAX + 1" if is_text else "")
            self.put(f"{target} -= 1")
        else:
            self.pend("h" if is_text else "i", target)
            self._flush()
        if not self.is_nullable(field):
            self._refuse(f"{target} < 0", f"invalid length {{{target}}}")
        elif not self.is_compact(field):
            self._refuse(f"{target} < -1", f"length {{{target}}}")

    def _or_null(self, field: Field, variable: str, size: str) -> str:
        """The line under which a value is read that may be null."""
        if not self.is_nullable(field):
            return ""
        with self.block(f"if {size} < 0:"):
            self.put(f"{variable} = None")
        return "else:"

    def _nullable_struct(self, field: Field, variable: str) -> None:
        self.pend("b", "n")
        self._flush()
        with self.block("if n < 0:"):
            self.put(f"{variable} = None")
        with self.block("else:"):
            self.put(f"{variable} = {self._struct(self.struct_of(field))}")

    def _sized(self, field: Field, variable: str) -> None:
        """string, bytes, records."""
        self._length(field, "n")
        otherwise = self._or_null(field, variable, "n")
        if otherwise:
            with self.block(otherwise):
                self._content(field, variable)
        else:
            self._content(field, variable)

    def _content(self, field: Field, variable: str) -> None:
        self.put("stop = pos + n")
        self._refuse("stop > end", "{n} bytes announced, {end - pos} remain")
        view = "buf[pos:stop]"
        made = {"string": f"utf_8_decode({view}, 'strict', True)[0]", "bytes": f"bytes({view})", "records": view}
        self.put(f"{variable} = {made[field.type_name]}")
        self.put("pos = stop")

    def _array(self, field: Field, variable: str) -> None:
        count = self.variable(
            f"{field.name}_count"
        )  # mypyc reads the variable of a range again at each turn of the loop
        self._length(field, count)
        otherwise = self._or_null(field, variable, count)
        if otherwise:
            with self.block(otherwise):
                self._elements(field, variable, count)
        else:
            self._elements(field, variable, count)

    def _elements(self, field: Field, variable: str, count: str) -> None:
        element = element_of(field)
        least = self._bytes_min(element)
        self._refuse(f"{count} * {least} > end - pos", f"{{{count}}} elements announced, {{end - pos}} bytes remain")
        self.put(f"budget -= {count} * {SLOT_BYTES + self._object_bytes(element)}")
        self._refuse("budget < 0", f"{{{count}}} more would take more than {{{self._bytes_max()}}} bytes")
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
            self._value(element, "one")
            self._flush()
            self.put(f"{variable}.append(one)")

    def _tags(self, tagged: list[Field], values: dict[str, str]) -> None:
        self.pend("B", "n")
        self._flush()
        with self.block("if n:"):
            if not tagged:
                self.put(f"pos, budget = skip_tags(buf, pos, end, n, budget, {self._bytes_max()})")
                return
            count, tag, size, stop = (self.variable(f"tag{name}") for name in ("_count", "", "_size", "_stop"))
            self.put(f"{count}, pos, budget = open_tags(buf, pos, end, n, budget, {self._bytes_max()})")
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
