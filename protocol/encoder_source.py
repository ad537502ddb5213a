"""The source of an encoder: from a message to the parts of its body.

`records` are put in as they are (any buffer, or anything with a `len`), unless they are few bytes; everything
around them is joined. A value that a field can't hold leaves as the error that it makes; `codec.py` says
which field it was. Tagged fields are written where they differ from their default, in the order of the tags.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import Any, Final

from headrace.limits import STRING_BYTES_MAX
from headrace.protocol.field_tables import Field, StructType
from headrace.protocol.function_source import FIXED_TYPES, FunctionSource, element_of, is_fixed, is_sized
from headrace.protocol.varint import UVARINTS, encode_uvarint

SMALL_RECORDS_BYTES: Final = 32 * 1024  # bytes up to this are joined with what is around them

PAD: Final = "x"  # the struct letter of one zero byte


def encode_string_length(value: int) -> bytes:
    """A compact string's length plus one; Kafka refuses strings whose length does not fit an int16."""
    if value > STRING_BYTES_MAX + 1:
        raise ValueError(f"string of {value - 1} bytes")
    return encode_uvarint(value)


class EncoderSource(FunctionSource):
    """Lines that write. Variables: `msg`, `parts`, `out` and its `put`; v values, m elements, s text, n lengths."""

    def function(self) -> Callable[[Any], list[Any]]:
        self.constants |= {
            "UV": UVARINTS,
            "put_uvarint": encode_uvarint,
            "put_string_length": encode_string_length,
            "pack": pack,
            "join": b"".join,
        }
        self.put("parts = []")
        self.put("out = []")
        self.put("put = out.append")
        self._struct(self.message.root, "msg")
        self._flush()
        with self.block("if out:"):
            self.put("parts.append(join(out))")
        self.put("return parts")
        return self.build("def run(msg):")

    def _struct(self, struct: StructType, source: str) -> None:
        plain, tagged = self.present(struct)
        names = {field.name: self.name("v") for field in struct.fields}
        if names:
            self.put(f"{''.join(name + ', ' for name in names.values())}= {source}")
        for field in plain:
            with self.inside(field.name):
                self._value(field, names[field.name])
        if self.is_flexible:
            self._tags(struct, tagged, names)

    def _flush(self) -> None:
        """Write what is pending."""
        if all(letter == PAD for letter, _expression in self.pending):
            if self.pending:
                self.put(f"put({bytes(len(self.pending))!r})")
        else:
            self.put_pending(f"put({self._pack()})")
        self.pending.clear()

    def _pack(self) -> str:
        values = ", ".join(expression for letter, expression in self.pending if letter != PAD)
        return f"{self.struct_call('pack')}({values})"

    def _value(self, field: Field, variable: str) -> None:
        if is_fixed(field):
            self.pend(FIXED_TYPES[field.type_name][0], variable)
        elif not self.is_nullable(field):
            self._content(field, variable)
        else:
            self._flush()
            with self.block(f"if {variable} is None:"):
                self.put(f"put({self._null(field)!r})")
            with self.block("else:"):
                if not field.is_array and not is_sized(field):
                    self.pend("b", "1")  # the marker of a struct that is there
                self._content(field, variable)
                self._flush()

    def _null(self, field: Field) -> bytes:
        if not field.is_array and not is_sized(field):
            return b"\xff"
        if self.is_compact(field):
            return b"\0"
        return b"\xff\xff" if field.type_name == "string" and not field.is_array else b"\xff\xff\xff\xff"

    def _content(self, field: Field, variable: str) -> None:
        """A value of variable size, not null."""
        if field.is_array:
            self._array(field, variable)
        elif is_sized(field):
            self._sized(field, variable)
        else:
            self._struct(self.struct_of(field), variable)

    def _uvarint(self, expression: str, long: str = "put_uvarint") -> None:
        """One that is a byte most often; then it goes with what is pending."""
        length = expression
        if not expression.isidentifier():
            length = self.name("n")
            self.put(f"{length} = {expression}")
        if not self.pending:
            self.put(f"put(UV[{length}] if {length} < 128 else {long}({length}))")
            return
        before = self._pack()
        self.pend("B", length)
        with self.block(f"if {length} < 128:"):
            self.put_pending(f"put({self._pack()})")
        with self.block("else:"):
            self.put_pending(f"put({before})")
            self.put(f"put({long}({length}))")
        self.pending.clear()

    def _length(self, field: Field, expression: str) -> None:
        is_text = field.type_name == "string" and not field.is_array
        if self.is_compact(field):
            self._uvarint(f"{expression} + 1", "put_string_length" if is_text else "put_uvarint")
        else:
            self.pend("h" if is_text else "i", expression)

    def _sized(self, field: Field, variable: str) -> None:
        """string, bytes, records."""
        if field.type_name == "string":
            text = self.name("s")
            self.put(f"{text} = {variable}.encode()")
            variable = text
        self._length(field, f"len({variable})")
        self._flush()
        if field.type_name != "records":
            self.put(f"put({variable})")
            return
        with self.block(f"if type({variable}) is bytes and len({variable}) <= {SMALL_RECORDS_BYTES}:"):
            self.put(f"put({variable})")
        with self.block("else:"):
            self.put("parts.append(join(out))")
            self.put(f"parts.append({variable})")
            self.put("out.clear()")

    def _array(self, field: Field, variable: str) -> None:
        self._length(field, f"len({variable})")
        self._flush()
        if field.type_name in FIXED_TYPES and field.type_name != "uuid":
            letter = FIXED_TYPES[field.type_name][0]
            self.put(f"put(pack(f'>{{len({variable})}}{letter}', *{variable}))")
            return
        element = self.name("m")
        with self.block(f"for {element} in {variable}:"):
            self._value(element_of(field), element)
            self._flush()

    def _tags(self, struct: StructType, tagged: list[Field], names: dict[str, str]) -> None:
        if not tagged:
            self.pend(PAD, "")
            return
        self._flush()
        defaults = self.class_of(struct)._field_defaults
        untouched = " and ".join(
            f"{names[field.name]} is {self.constant('D', defaults[field.name])}" for field in tagged
        )
        with self.block(f"if {untouched}:"):
            self.put(r"put(b'\0')")
        with self.block("else:"):
            self._differing_tags(sorted(tagged, key=lambda field: field.tag or 0), names, defaults)

    def _differing_tags(self, tagged: list[Field], names: dict[str, str], defaults: dict[str, Any]) -> None:
        wanted, saved = self.name("t"), self.name("o")
        self.put(f"{wanted} = []")
        self.put(f"{saved} = out")
        for field in tagged:
            variable = names[field.name]
            with self.inside(field.name), self.block(f"if {self._differs(variable, defaults[field.name])}:"):
                self.put("out = []")
                self.put("put = out.append")
                self._value(field, variable)
                self._flush()
                self.put(f"{wanted}.append(({field.tag}, join(out)))")
        self.put(f"out = {saved}")
        self.put("put = out.append")
        self._uvarint(f"len({wanted})")
        number, data = self.name("g"), self.name("d")
        with self.block(f"for {number}, {data} in {wanted}:"):
            self._uvarint(number)
            self._uvarint(f"len({data})")
            self.put(f"put({data})")

    def _differs(self, variable: str, default: Any) -> str:
        if default == ():  # and so is []
            return f"{variable} is None or len({variable})"
        return f"{variable} != {self.constant('D', default)}"
