"""The source of an encoder: from a message to the parts of its body.

`records` are put in as they are (any buffer, or anything with a `len`), unless they are few bytes; everything
around them is joined. A value that a field can't hold leaves as the error that it makes; `codec.py` says
which field it was. Tagged fields are written where they differ from their default, in the order of the tags.
"""

from __future__ import annotations

from typing import Any, Final

from tools.codec.field_tables import Field, StructType
from tools.codec.function_source import FIXED_TYPES, FunctionSource, element_of, is_fixed, is_sized
from tools.codec.message_source import StructDefault, written_default

PAD: Final = "x"  # the struct letter of one zero byte


class EncoderSource(FunctionSource):
    """Lines that write. Variables: `msg`, `parts`, `out` and its `put`; `one` elements, `text` bytes, `n` lengths; and each field's own."""

    def function(self) -> list[str]:
        """The lines of the body."""
        self._struct(self.message.root, "msg")
        self._flush()
        with self.block("if out:"):
            self.put("parts.append(join(out))")
        self.put("return parts")
        return self.opened({"parts: list[Any]": "[]", "out: list[bytes]": "[]", "put": "out.append"})

    def _targets(self, struct: StructType) -> tuple[str, dict[str, str]]:
        """(what a struct is unpacked to, field -> variable); a field that is not in this version goes to `_`."""
        names = {
            field.name: self.variable(field.name) if self.version in field.versions else "_" for field in struct.fields
        }
        text = ", ".join(names.values())
        return f"({text},)" if len(names) == 1 else text, names

    def _struct(self, struct: StructType, source: str) -> None:
        text, names = self._targets(struct)
        if names:
            self.put(f"{text} = {source}")
        self._fields(struct, names)

    def _fields(self, struct: StructType, names: dict[str, str]) -> None:
        plain, tagged = self.present(struct)
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

    def _uvarint(self, expression: str, long: str = "encode_uvarint") -> None:
        """One that is a byte most often; then it goes with what is pending."""
        length = expression
        if not expression.isidentifier():
            length = "n"
            self.put(f"n = {expression}")
        if not self.pending:
            self.put(f"put(UVARINTS[{length}] if {length} < 128 else {long}({length}))")
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
            self._uvarint(f"{expression} + 1", "encode_string_length" if is_text else "encode_uvarint")
        else:
            self.pend("h" if is_text else "i", expression)

    def _sized(self, field: Field, variable: str) -> None:
        """string, bytes, records."""
        if field.type_name == "string":
            self.put(f"text = {variable}.encode()")
            variable = "text"
        self._length(field, f"len({variable})")
        self._flush()
        if field.type_name != "records":
            self.put(f"put({variable})")
            return
        with self.block(f"if type({variable}) is bytes and len({variable}) <= SMALL_RECORDS_BYTES:"):
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
        if field.type_name in self.message.structs:
            struct = self.struct_of(field)
            text, names = self._targets(struct)
            with self.block(f"for {text} in {variable}:"):
                self._fields(struct, names)
                self._flush()
            return
        with self.block(f"for one in {variable}:"):
            self._value(element_of(field), "one")
            self._flush()

    def _tags(self, struct: StructType, tagged: list[Field], names: dict[str, str]) -> None:
        if not tagged:
            self.pend(PAD, "")
            return
        self._flush()
        untouched = " and ".join(self._is_default(struct, field, names[field.name]) for field in tagged)
        with self.block(f"if {untouched}:"):
            self.put(r"put(b'\0')")
        with self.block("else:"):
            self._differing_tags(struct, sorted(tagged, key=lambda field: field.tag or 0), names)

    def _differing_tags(self, struct: StructType, tagged: list[Field], names: dict[str, str]) -> None:
        wanted, saved = self.variable("tags"), self.variable("outer")
        self.put(f"{wanted} = []")
        self.put(f"{saved} = out")
        for field in tagged:
            variable = names[field.name]
            with self.inside(field.name), self.block(f"if {self._differs(struct, field, variable)}:"):
                self.put("out = []")
                self.put("put = out.append")
                self._value(field, variable)
                self._flush()
                self.put(f"{wanted}.append(({field.tag}, join(out)))")
        self.put(f"out = {saved}")
        self.put("put = out.append")
        self._uvarint(f"len({wanted})")
        tag = self.variable("tag")
        with self.block(f"for {tag}, text in {wanted}:"):
            self._uvarint(tag)
            self._uvarint("len(text)")
            self.put("put(text)")

    def _is_default(self, struct: StructType, field: Field, variable: str) -> str:
        """Holds for the default itself; what equals it otherwise may be compared once more."""
        value: Any = self.default(field)
        is_one = value is None or isinstance(value, (bool, StructDefault))
        return f"{variable} {'is' if is_one else '=='} {self._constant(struct, field)}"

    def _differs(self, struct: StructType, field: Field, variable: str) -> str:
        if self.default(field) == ():  # and so is []
            return f"{variable} is None or len({variable})"
        return f"{variable} {'is not' if self.default(field) is None else '!='} {self._constant(struct, field)}"

    def _constant(self, struct: StructType, field: Field) -> str:
        value: Any = self.default(field)
        return self.names.default(struct, field) if isinstance(value, StructDefault) else written_default(value)
