"""The struct functions of the sources, and the C of each, for the compiled core.

A struct function does nothing but unpack or pack by a `Struct` of its module:

    _PRODUCE: Final = Struct("=QIIIihHI")                       return _PRODUCE.unpack_from(buffer, position)
    def unpack_produce(buffer, position) -> tuple[int, ...]:    return int(_SIZE.unpack_from(buffer, position)[0])
                                                                _PRODUCE.pack_into(buffer, position, a, b, ...)

mypyc compiles such a call as Python has it: an object for each number, and a tuple. The C has none. It is made of the pieces of
`headrace/native/struct_access.h`; what is not usual goes to Python's `struct`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from struct import calcsize
from typing import Final, NamedTuple

_TYPES: Final = {
    "b": "int8_t", "B": "uint8_t", "h": "int16_t", "H": "uint16_t", "i": "int32_t", "I": "uint32_t", "q": "int64_t", "Q": "uint64_t",
}  # fmt: skip
_SWAPS: Final = {1: "HR_AS_IT_IS", 2: "__builtin_bswap16", 4: "__builtin_bswap32", 8: "__builtin_bswap64"}


class Field(NamedTuple):
    """A number of a format.

    type       in C
    swap       what turns its bytes round, or HR_AS_IT_IS
    position   from the struct's begin; `end` is the first byte after it
    """

    type: str
    swap: str
    position: int
    end: int


class StructFunction(NamedTuple):
    """One of the sources.

    name       with its module, `headrace.shm.messages.unpack_produce`
    is_pack    it stores; else it loads
    is_single  it returns the one number, not a tuple
    """

    name: str
    format: str
    is_pack: bool
    is_single: bool

    @property
    def c_name(self) -> str:
        return "hr_" + self.name.removeprefix("headrace.").replace(".", "_")

    @property
    def fields(self) -> list[Field]:
        found, position, count = [], 0, ""
        for letter in self.format[1:]:
            if letter.isdigit():
                count += letter
                continue
            size = calcsize("=" + letter)
            for _ in range(int(count or 1)):
                if letter != "x":
                    swap = _SWAPS[size] if self.format[0] == ">" else _SWAPS[1]
                    found.append(Field(_TYPES[letter], swap, position, position + size))
                position += size
            count = ""
        return found


def struct_functions(name: str, source: str) -> Iterator[StructFunction]:
    """Those of a module."""
    tree = ast.parse(source)
    formats: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(node.value, ast.Call):
            called, arguments = ast.unparse(node.value.func), node.value.args
            if called in ("Struct", "struct.Struct") and isinstance(arguments[0], ast.Constant):
                formats[node.target.id] = str(arguments[0].value)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found = _struct_function(name, node, formats)
            if found is not None:
                yield found


def _struct_function(name: str, node: ast.FunctionDef, formats: dict[str, str]) -> StructFunction | None:
    body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr) or body[0].value is None:
        return None
    call, is_single = body[0].value, False
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "int" and len(call.args) == 1:
        call = call.args[0]
    if isinstance(call, ast.Subscript) and ast.unparse(call.slice) == "0":
        call, is_single = call.value, True
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return None
    format_text = formats.get(ast.unparse(call.func.value), "")
    given = [one.arg for one in node.args.args]
    if format_text[:1] not in ("=", ">") or [ast.unparse(one) for one in call.args] != given:
        return None
    if call.func.attr not in ("unpack_from", "pack_into") or set(format_text[1:]) - {*_TYPES, *"x0123456789"}:
        return None
    return StructFunction(f"{name}.{node.name}", format_text, call.func.attr == "pack_into", is_single)


def c_of(function: StructFunction) -> str:
    """Its C, for struct_functions.h."""
    size, fields = calcsize(function.format), function.fields
    return _pack(function, size, fields) if function.is_pack else _unpack(function, size, fields)


def _unpack(function: StructFunction, size: int, fields: list[Field]) -> str:
    """mypyc's type of a tuple of n ints is a struct of n CPyTagged."""
    count = len(fields)
    tuple_type = f"tuple_T{count}{'I' * count}"
    if function.is_single:
        result, first, targets = "CPyTagged", "&result", ["result"]
    else:
        result, first, targets = tuple_type, "&result.f0", [f"result.f{index}" for index in range(count)]
    reads = "\n".join(
        f"    {target} = HR_READ({field.type}, {field.swap}, place + {field.position});"
        for target, field in zip(targets, fields, strict=True)
    )
    return f"""{"" if function.is_single else _declared(tuple_type, count)}
static inline {result} {function.c_name}(PyObject *buffer, CPyTagged position)
{{
    {result} result;
    const unsigned char *place = hr_place(buffer, position, {size}, 0);
    if (unlikely(place == NULL)) {{
        hr_unpack_by_struct("{function.format}", buffer, position, {first}, {count});
        return result;
    }}
{reads}
    return result;
}}
"""


def _declared(tuple_type: str, count: int) -> str:
    members = " ".join(f"CPyTagged f{index};" for index in range(count))
    guard = f"MYPYC_DECLARED_{tuple_type}"  # mypyc's own: its headers leave out what is declared
    return f"#ifndef {guard}\n#define {guard}\ntypedef struct {tuple_type} {{ {members} }} {tuple_type};\n#endif"


def _pack(function: StructFunction, size: int, fields: list[Field]) -> str:
    names = [f"n{index}" for index in range(len(fields))]
    values = "\n".join(f"    {field.type} v{index};" for index, field in enumerate(fields))
    fits = " && ".join(f"hr_fits_{field.type}(n{index}, &v{index})" for index, field in enumerate(fields))
    writes, end = [], 0
    for index, field in enumerate(fields):
        writes += _zeros(end, field.position)
        writes.append(f"    HR_WRITE({field.type}, {field.swap}, place + {field.position}, v{index});")
        end = field.end
    writes += _zeros(end, size)
    return f"""
static inline char {function.c_name}(PyObject *buffer, CPyTagged position, {", ".join(f"CPyTagged {name}" for name in names)})
{{
{values}
    unsigned char *place = hr_place(buffer, position, {size}, 1);
    if (unlikely(place == NULL || !({fits})))
        return hr_pack_by_struct("{function.format}", buffer, position, (CPyTagged[]){{ {", ".join(names)} }}, {len(fields)});
{chr(10).join(writes)}
    return 1;
}}
"""


def _zeros(start: int, end: int) -> list[str]:
    """What no number covers."""
    return [f"    memset(place + {start}, 0, {end - start});"] if end > start else []
