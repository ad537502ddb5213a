"""Schema to straight-line Python: one function for a message, a version and a direction.

Structs are inlined, runs of fixed-size fields become one `struct` call, nothing is looked up by field while a
message is read or written. Generated on first use (about a millisecond), kept for ever.

Decoders trust nothing: a length or count is compared with the bytes that remain before anything is made of
it, the elements of all arrays of a message together with ELEMENTS_MAX, and a tag's content with its announced
size. Unknown tags are skipped. Whatever is wrong leaves as IndexError, struct.error, UnicodeDecodeError or
`Malformed`; `codec.py` turns each into a BadFrame.

Encoders return a list of parts; `records` are put in as they are (anything with a `len`), everything else is
joined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from struct import Struct
from typing import Any

from headrace.protocol import messages
from headrace.protocol.field_tables import NO_VERSIONS, PRIMITIVES, Field, Message, StructType, load_message
from headrace.protocol.varint import UVARINTS, encode_uvarint, read_uvarint

ELEMENTS_MAX = 2_000_000  # elements of all arrays of one message
SMALL_RECORDS_BYTES = 32 * 1024  # bytes up to this are joined with what is around them

_FORMATS = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}


class Malformed(ValueError):
    """Bytes that contradict the schema; names the field."""


def compile_decoder(name: str, version: int) -> Callable[[memoryview], Any]:
    """A function from the whole body to the message; bytes behind the last field are let be, as Kafka does:
    librdkafka sends one too many in a Metadata v9 for all topics."""
    return _Decoder(load_message(name), version).function()


def compile_encoder(name: str, version: int) -> Callable[[Any], list[Any]]:
    """A function from the message to its parts."""
    return _Encoder(load_message(name), version).function()


class _Writer:
    """Lines of a function, its constants, its indentation."""

    def __init__(self, message: Message, version: int) -> None:
        if version not in message.versions:
            raise KeyError(f"{message.name} has no version {version}")
        self.message = message
        self.version = version
        self.is_flexible = version in message.flexible
        self.lines: list[str] = []
        self.depth = 1
        self.serial = 0
        self.constants: dict[str, Any] = {"Malformed": Malformed, "uvarint": read_uvarint}

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def name(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.serial}"

    def constant(self, prefix: str, value: Any) -> str:
        for known, other in self.constants.items():
            if other is value:
                return known
        name = self.name(prefix)
        self.constants[name] = value
        return name

    def struct_call(self, formats: str, method: str) -> str:
        name = f"{method}_{formats.replace('?', 'B0')}"
        if name not in self.constants:
            self.constants[name] = getattr(Struct(">" + formats), method)
        return name

    def is_compact(self, field: Field) -> bool:
        return self.is_flexible and not field.is_never_flexible

    def present(self, struct: StructType) -> tuple[list[Field], list[Field]]:
        """Plain and tagged fields of a struct in this version."""
        here = [field for field in struct.fields if self.version in field.versions]
        tagged = [field for field in here if field.is_tagged(self.version)]
        return [field for field in here if not field.is_tagged(self.version)], tagged

    def min_bytes(self, field: Field) -> int:
        """The fewest bytes a field's value (an array's element, for its type) can take."""
        if field.type_name in _FORMATS:
            return _FORMATS[field.type_name][1]
        if field.type_name in PRIMITIVES:
            if self.is_compact(field):
                return 1
            return 2 if field.type_name == "string" else 4
        plain, _tagged = self.present(self.message.structs[field.type_name])
        total = 1 if self.is_flexible else 0
        for inner in plain:
            if inner.is_array:
                total += 1 if self.is_flexible else 4
            else:
                total += 1 if self.version in inner.nullable else self.min_bytes(inner)
        return max(1, total)

    def build(self, header: str) -> Callable[..., Any]:
        source = "\n".join([header, *self.lines])
        namespace = dict(self.constants)
        exec(compile(source, f"<{self.message.name} v{self.version}>", "exec"), namespace)
        function: Callable[..., Any] = namespace["run"]
        return function


class _Decoder(_Writer):
    def function(self) -> Callable[[memoryview], Any]:
        self.constants["new"] = tuple.__new__
        self.put("pos = 0")
        self.put("end = len(buf)")
        self.put(f"budget = {ELEMENTS_MAX}")
        result = self.struct(self.message.root, messages.class_of(self.message.name))
        self.put(f"return {result}")
        return self.build("def run(buf):")

    def struct(self, struct: StructType, tuple_class: Any) -> str:
        """Emit the reading of a struct; returns the expression that makes it."""
        values: dict[str, str] = {}
        plain, tagged = self.present(struct)
        run: list[tuple[str, Field]] = []
        for field in plain:
            variable = values[field.name] = self.name("v")
            if not field.is_array and field.type_name in _FORMATS:
                run.append((variable, field))
                continue
            self.fixed_run(run)
            run = []
            self.value(field, variable)
        self.fixed_run(run)
        for field in tagged:
            variable = values[field.name] = self.name("v")
            default = tuple_class._field_defaults[field.name]
            self.put(f"{variable} = {self.constant('D', default)}")
        if self.is_flexible:
            self.tags(tagged, values)
        cls = self.constant("C", tuple_class)
        parts = [
            values.get(field.name) or self.default(tuple_class._field_defaults[field.name]) for field in struct.fields
        ]
        return f"new({cls}, ({', '.join(parts)}{',' if len(parts) == 1 else ''}))"

    def default(self, value: Any) -> str:
        return repr(value) if value is None or isinstance(value, (bool, int, str)) else self.constant("D", value)

    def fixed_run(self, run: list[tuple[str, Field]]) -> None:
        if not run:
            return
        formats = "".join(_FORMATS[field.type_name][0] for _variable, field in run)
        size = sum(_FORMATS[field.type_name][1] for _variable, field in run)
        targets = ", ".join(variable for variable, _field in run)
        call = self.struct_call(formats, "unpack_from")
        self.put(f"{targets}{',' if len(run) == 1 else ''} = {call}(buf, pos)")
        self.put(f"pos += {size}")

    def uvarint(self, target: str) -> None:
        self.put(f"{target} = buf[pos]")
        self.put("pos += 1")
        self.put(f"if {target} > 127:")
        self.put(f"    {target}, pos = uvarint(buf, pos - 1)")

    def length(self, field: Field, target: str, wide: bool) -> None:
        """Read a length or count; -1 for null."""
        if self.is_compact(field):
            self.uvarint(target)
            self.put(f"{target} -= 1")
            return
        call = self.struct_call("i" if wide else "h", "unpack_from")
        self.put(f"{target}, = {call}(buf, pos)")
        self.put(f"pos += {4 if wide else 2}")

    def value(self, field: Field, variable: str) -> None:
        """Read a field that is no fixed-size one."""
        if field.is_array:
            self.array(field, variable)
        elif field.type_name in PRIMITIVES:
            self.sized(field, variable)
        elif self.version in field.nullable:
            self.nullable_struct(field, variable)
        else:
            struct = self.message.structs[field.type_name]
            self.put(f"{variable} = {self.struct(struct, self.class_of(struct))}")

    def class_of(self, struct: StructType) -> Any:
        return getattr(messages.class_of(self.message.name), struct.name)

    def nullable_struct(self, field: Field, variable: str) -> None:
        struct = self.message.structs[field.type_name]
        marker = self.name("n")
        self.put(f"{marker} = buf[pos]")
        self.put("pos += 1")
        self.put(f"if {marker} > 127:")
        self.put(f"    {variable} = None")
        self.put("else:")
        self.depth += 1
        self.put(f"{variable} = {self.struct(struct, self.class_of(struct))}")
        self.depth -= 1

    def sized(self, field: Field, variable: str) -> None:
        """string, bytes, records."""
        size, stop = self.name("n"), self.name("e")
        self.length(field, size, wide=field.type_name != "string")
        self.put(f"if {size} < 0:")
        if self.version in field.nullable or field.type_name == "records":
            self.put(f"    if {size} != -1:")
            self.put(f"        raise Malformed('{field.name}: length ' + str({size}))")
            self.put(f"    {variable} = None")
        else:
            self.put(f"    raise Malformed('{field.name}: length ' + str({size}) + ' where null is not allowed')")
        self.put("else:")
        self.put(f"    {stop} = pos + {size}")
        self.put(f"    if {stop} > end:")
        self.put(f"        raise Malformed('{field.name}: ' + str({size}) + ' bytes announced, fewer remain')")
        made = {"string": f"str(buf[pos:{stop}], 'utf-8')", "bytes": f"bytes(buf[pos:{stop}])"}
        self.put(f"    {variable} = {made.get(field.type_name, f'buf[pos:{stop}]')}")
        self.put(f"    pos = {stop}")

    def array(self, field: Field, variable: str) -> None:
        count = self.name("n")
        self.length(field, count, wide=True)
        self.put(f"if {count} < 0:")
        if self.version in field.nullable:
            self.put(f"    if {count} != -1:")
            self.put(f"        raise Malformed('{field.name}: count ' + str({count}))")
            self.put(f"    {variable} = None")
        else:
            self.put(f"    raise Malformed('{field.name}: count ' + str({count}) + ' where null is not allowed')")
        self.put("else:")
        self.depth += 1
        self.put(f"if {count} * {self.min_bytes(field)} > end - pos:")
        self.put(f"    raise Malformed('{field.name}: ' + str({count}) + ' elements announced, too few bytes remain')")
        self.put(f"budget -= {count}")
        self.put("if budget < 0:")
        self.put(f"    raise Malformed('{field.name}: more than {ELEMENTS_MAX} elements in one message')")
        if field.type_name in _FORMATS and field.type_name != "uuid":
            letter, size = _FORMATS[field.type_name]
            unpack = self.constant("unpack_n", _unpack_many)
            self.put(f"{variable} = {unpack}('>' + str({count}) + '{letter}', buf, pos)")
            self.put(f"pos += {count} * {size}")
        else:
            self.elements(field, variable, count)
        self.depth -= 1

    def elements(self, field: Field, variable: str, count: str) -> None:
        self.put(f"{variable} = []")
        self.put(f"for _ in range({count}):")
        self.depth += 1
        if field.type_name in PRIMITIVES:
            element = self.name("v")
            if field.type_name == "uuid":
                self.fixed_run([(element, field)])
            else:
                self.sized(_element_of(field), element)
            self.put(f"{variable}.append({element})")
        else:
            struct = self.message.structs[field.type_name]
            self.put(f"{variable}.append({self.struct(struct, self.class_of(struct))})")
        self.depth -= 1

    def tags(self, tagged: list[Field], values: dict[str, str]) -> None:
        count, tag, size, stop = (self.name(letter) for letter in "ntse")
        self.put("if not buf[pos]:")
        self.put("    pos += 1")
        self.put("else:")
        self.depth += 1
        self.uvarint(count)
        self.put(f"if {count} * 2 > end - pos:")
        self.put(f"    raise Malformed('tags: ' + str({count}) + ' announced, too few bytes remain')")
        self.put(f"for _ in range({count}):")
        self.depth += 1
        self.uvarint(tag)
        self.uvarint(size)
        self.put(f"{stop} = pos + {size}")
        self.put(f"if {stop} > end:")
        self.put(f"    raise Malformed('tag ' + str({tag}) + ': ' + str({size}) + ' bytes announced, fewer remain')")
        word = "if"
        for field in tagged:
            self.put(f"{word} {tag} == {field.tag}:")
            self.depth += 1
            if not field.is_array and field.type_name in _FORMATS:
                self.fixed_run([(values[field.name], field)])
            else:
                self.value(field, values[field.name])
            self.put(f"if pos != {stop}:")
            self.put(f"    raise Malformed('{field.name}: tag content and its size disagree')")
            self.depth -= 1
            word = "elif"
        if tagged:
            self.put("else:")
            self.put(f"    pos = {stop}")
        else:
            self.put(f"pos = {stop}")
        self.depth -= 2


class _Encoder(_Writer):
    def function(self) -> Callable[[Any], list[Any]]:
        self.constants["UV"] = UVARINTS
        self.constants["put_uvarint"] = encode_uvarint
        self.constants["join"] = b"".join
        self.put("parts = []")
        self.put("out = []")
        self.put("put = out.append")
        self.struct(self.message.root, "msg")
        self.put("if out:")
        self.put("    parts.append(join(out))")
        self.put("return parts")
        return self.build("def run(msg):")

    def struct(self, struct: StructType, source: str) -> None:
        plain, tagged = self.present(struct)
        names = {field.name: self.name("v") for field in struct.fields}
        if names:
            targets = ", ".join(names.values())
            self.put(f"{targets}{',' if len(names) == 1 else ''} = {source}")
        run: list[Field] = []
        for field in plain:
            if not field.is_array and field.type_name in _FORMATS:
                run.append(field)
                continue
            self.fixed_run(run, names)
            run = []
            self.value(field, names[field.name])
        self.fixed_run(run, names)
        if self.is_flexible:
            self.tags(struct, tagged, names)

    def fixed_run(self, run: list[Field], names: dict[str, str]) -> None:
        if run:
            formats = "".join(_FORMATS[field.type_name][0] for field in run)
            call = self.struct_call(formats, "pack")
            self.put(f"put({call}({', '.join(names[field.name] for field in run)}))")

    def uvarint(self, expression: str) -> None:
        length = self.name("n")
        self.put(f"{length} = {expression}")
        self.put(f"put(UV[{length}] if {length} < 128 else put_uvarint({length}))")

    def length(self, field: Field, expression: str, wide: bool) -> None:
        if self.is_compact(field):
            self.uvarint(f"{expression} + 1")
        else:
            call = self.struct_call("i" if wide else "h", "pack")
            self.put(f"put({call}({expression}))")

    def null(self, field: Field, wide: bool) -> None:
        if self.version not in field.nullable and field.type_name != "records":
            self.put(f"raise TypeError('{self.message.name} v{self.version}: {field.name} may not be null')")
        elif self.is_compact(field):
            self.put(r"put(b'\0')")
        else:
            self.put(f"put({bytes([255] * (4 if wide else 2))!r})")

    def value(self, field: Field, variable: str) -> None:
        if field.is_array:
            self.array(field, variable)
        elif field.type_name in PRIMITIVES:
            self.sized(field, variable)
        elif self.version in field.nullable:
            self.put(f"if {variable} is None:")
            self.put(r"    put(b'\xff')")
            self.put("else:")
            self.depth += 1
            self.put(r"put(b'\1')")
            self.struct(self.message.structs[field.type_name], variable)
            self.depth -= 1
        else:
            self.struct(self.message.structs[field.type_name], variable)

    def sized(self, field: Field, variable: str) -> None:
        wide = field.type_name != "string"
        self.put(f"if {variable} is None:")
        self.depth += 1
        self.null(field, wide)
        self.depth -= 1
        self.put("else:")
        self.depth += 1
        if field.type_name == "string":
            text = self.name("s")
            self.put(f"{text} = {variable}.encode()")
            variable = text
        self.length(field, f"len({variable})", wide)
        if field.type_name == "records":
            self.put(f"if type({variable}) is bytes and len({variable}) <= {SMALL_RECORDS_BYTES}:")
            self.put(f"    put({variable})")
            self.put("else:")
            self.put("    parts.append(join(out))")
            self.put(f"    parts.append({variable})")
            self.put("    out.clear()")
        else:
            self.put(f"put({variable})")
        self.depth -= 1

    def array(self, field: Field, variable: str) -> None:
        self.put(f"if {variable} is None:")
        self.depth += 1
        self.null(field, wide=True)
        self.depth -= 1
        self.put("else:")
        self.depth += 1
        self.length(field, f"len({variable})", wide=True)
        element = self.name("m")
        self.put(f"for {element} in {variable}:")
        self.depth += 1
        if field.type_name in _FORMATS:
            call = self.struct_call(_FORMATS[field.type_name][0], "pack")
            self.put(f"put({call}({element}))")
        elif field.type_name in PRIMITIVES:
            self.sized(_element_of(field), element)
        else:
            self.struct(self.message.structs[field.type_name], element)
        self.depth -= 2

    def tags(self, struct: StructType, tagged: list[Field], names: dict[str, str]) -> None:
        if not tagged:
            self.put(r"put(b'\0')")
            return
        defaults = self._class(struct)._field_defaults
        wanted = self.name("t")
        self.put(f"{wanted} = []")
        saved = self.name("o")
        for field in sorted(tagged, key=lambda one: one.tag or 0):
            variable = names[field.name]
            self.put(f"if {variable} != {self.constant('D', defaults[field.name])}:")
            self.depth += 1
            self.put(f"{saved} = out")
            self.put("out = []")
            self.put("put = out.append")
            if not field.is_array and field.type_name in _FORMATS:
                self.fixed_run([field], names)
            else:
                self.value(field, variable)
            self.put(f"{wanted}.append(({field.tag}, join(out)))")
            self.put(f"out = {saved}")
            self.put("put = out.append")
            self.depth -= 1
        self.uvarint(f"len({wanted})")
        number, data = self.name("g"), self.name("d")
        self.put(f"for {number}, {data} in {wanted}:")
        self.depth += 1
        self.uvarint(number)
        self.uvarint(f"len({data})")
        self.put(f"put({data})")
        self.depth -= 1

    def _class(self, struct: StructType) -> Any:
        root = messages.class_of(self.message.name)
        return root if struct is self.message.root else getattr(root, struct.name)


def _unpack_many(formats: str, buf: memoryview, position: int) -> list[Any]:
    return list(Struct(formats).unpack_from(buf, position))


def _element_of(field: Field) -> Field:
    """The element of an array as a field of its own: never null, never tagged."""
    return replace(field, is_array=False, nullable=NO_VERSIONS, tag=None)
