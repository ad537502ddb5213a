"""What the compiled core does with memory without making objects: C for some functions of the sources, for `compiled_build.py`.

mypyc compiles a slice, a subscript of a memoryview or a call of `struct` as Python has it: an object for each number and each
slice. On the path of a record these were the largest part of what was left. A call of one of these functions is C instead:

    memory.view, copy_in, is_at                  `_FIXED` below
    record_batch.crc_from                        the processor's instruction, where the stretch is short
    fence.fence                                  the processor's own fence, no lock
    clock.read_wall_ns, read_monotonic_ns        `clock_gettime`, as `time` has it
    struct functions                             any function of the core that does nothing but unpack or pack by a module's Struct:

        _PRODUCE: Final = Struct("=QIIIihHI")                       return _PRODUCE.unpack_from(buffer, position)
        def unpack_produce(buffer, position) -> tuple[int, ...]:    return int(_SIZE.unpack_from(buffer, position)[0])
                                                                    _PRODUCE.pack_into(buffer, position, a, b, ...)

    buffer[i], buffer[i] = n                     of a memoryview of bytes or of 64-bit words: loads acquire, stores release

The C does what is usual: a live memoryview, bytes or bytearray in one piece, a position within it, numbers that fit. Anything else
goes to what Python has for it, which does it, or raises. Another mypyc than the one that this was written for may not take such
functions: then they are compiled as Python, and the core is slower (the build says so).
Source: mypyc's `primitives/registry.py`; CPython's `cpython/memoryobject.h`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from struct import calcsize
from typing import Any, Final, NamedTuple

HEADER_NAME: Final = "headrace_memory.h"

_LETTERS: Final = {  # of struct: C type, whether its values always fit a tagged int
    "b": ("int8_t", True),
    "B": ("uint8_t", True),
    "h": ("int16_t", True),
    "H": ("uint16_t", True),
    "i": ("int32_t", True),
    "I": ("uint32_t", True),
    "q": ("int64_t", False),
    "Q": ("uint64_t", False),
}
_SWAPS: Final = {1: "", 2: "__builtin_bswap16", 4: "__builtin_bswap32", 8: "__builtin_bswap64"}

_FIXED: Final = r"""
#ifndef HEADRACE_MEMORY_H
#define HEADRACE_MEMORY_H
#include <Python.h>
#include <CPy.h>
#include <nmmintrin.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* A memoryview that may be used without asking it: alive, of one dimension, its items side by side. */
static inline Py_buffer *hr_plain(PyObject *object, Py_ssize_t item_bytes)
{
    if (unlikely(!PyMemoryView_Check(object))) return NULL;
    PyMemoryViewObject *self = (PyMemoryViewObject *)object;
    Py_buffer *found = &self->view;
    if (unlikely((self->flags & _Py_MEMORYVIEW_RELEASED) || (self->mbuf->flags & _Py_MANAGED_BUFFER_RELEASED)
                 || found->ndim != 1 || found->itemsize != item_bytes || found->shape == NULL || found->suboffsets != NULL
                 || (found->strides != NULL && found->strides[0] != item_bytes))) return NULL;
    return found;
}

/* The bytes of a buffer, NULL where it is not a usual one. */
static inline unsigned char *hr_bytes(PyObject *buffer, Py_ssize_t *size, int is_written)
{
    Py_buffer *found = hr_plain(buffer, 1);
    if (likely(found != NULL)) {
        *size = found->len;
        return is_written && found->readonly ? NULL : (unsigned char *)found->buf;
    }
    if (PyByteArray_CheckExact(buffer)) {
        *size = PyByteArray_GET_SIZE(buffer);
        return (unsigned char *)PyByteArray_AS_STRING(buffer);
    }
    if (PyBytes_CheckExact(buffer) && !is_written) {
        *size = PyBytes_GET_SIZE(buffer);
        return (unsigned char *)PyBytes_AS_STRING(buffer);
    }
    return NULL;
}

/* Where `size` bytes lie at a position, NULL where they do not. */
static inline unsigned char *hr_place(PyObject *buffer, CPyTagged position, Py_ssize_t size, int is_written)
{
    Py_ssize_t has;
    unsigned char *start = hr_bytes(buffer, &has, is_written);
    if (unlikely(start == NULL || !CPyTagged_CheckShort(position))) return NULL;
    Py_ssize_t at = CPyTagged_ShortAsSsize_t(position);
    return unlikely(at < 0 || at > has - size) ? NULL : start + at;
}

#define HR_NUMBER(type) \
    static inline type hr_load_##type(const unsigned char *place) { type value; memcpy(&value, place, sizeof value); return value; } \
    static inline void hr_store_##type(unsigned char *place, type value) { memcpy(place, &value, sizeof value); }
HR_NUMBER(uint8_t)
HR_NUMBER(uint16_t)
HR_NUMBER(uint32_t)
HR_NUMBER(uint64_t)

#define HR_SHORT_MAX ((int64_t)1 << 62)
static inline CPyTagged hr_tag_int64_t(int64_t value)
{
    return likely(value >= -HR_SHORT_MAX && value < HR_SHORT_MAX) ? (CPyTagged)value << 1 : CPyTagged_FromInt64(value);
}
static inline CPyTagged hr_tag_uint64_t(uint64_t value)
{
    if (likely(value < (uint64_t)HR_SHORT_MAX)) return (CPyTagged)value << 1;
    return CPyTagged_StealFromObject(PyLong_FromUnsignedLongLong(value));
}

#define HR_UNTAG(type) \
    static inline int hr_untag_##type(CPyTagged number, type *value) \
    { \
        if (unlikely(!CPyTagged_CheckShort(number))) return 0; \
        int64_t wide = (int64_t)CPyTagged_ShortAsSsize_t(number); \
        *value = (type)wide; \
        return (int64_t)*value == wide && (wide >= 0 || (type)-1 < 0); \
    }
HR_UNTAG(int8_t)
HR_UNTAG(uint8_t)
HR_UNTAG(int16_t)
HR_UNTAG(uint16_t)
HR_UNTAG(int32_t)
HR_UNTAG(uint32_t)
HR_UNTAG(int64_t)
HR_UNTAG(uint64_t)

/* What is not usual: `struct` itself does it, or raises. */
static PyObject *hr_call_struct(const char *method, const char *format, PyObject *buffer, CPyTagged position,
                                CPyTagged *numbers, Py_ssize_t count)
{
    PyObject *module = PyImport_ImportModule("struct"), *done = NULL;
    PyObject *function = module == NULL ? NULL : PyObject_GetAttrString(module, method);
    PyObject *arguments = function == NULL ? NULL : PyTuple_New(3 + count);
    if (arguments != NULL) {
        PyTuple_SET_ITEM(arguments, 0, PyUnicode_FromString(format));
        PyTuple_SET_ITEM(arguments, 1, Py_NewRef(buffer));
        PyTuple_SET_ITEM(arguments, 2, CPyTagged_AsObject(position));
        for (Py_ssize_t index = 0; index < count; index++)
            PyTuple_SET_ITEM(arguments, 3 + index, CPyTagged_AsObject(numbers[index]));
        done = PyObject_Call(function, arguments, NULL);
    }
    Py_XDECREF(arguments);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return done;
}

static PyObject *hr_slice(CPyTagged start, Py_ssize_t size)
{
    PyObject *first = CPyTagged_AsObject(start), *length = PyLong_FromSsize_t(size);
    PyObject *end = first == NULL || length == NULL ? NULL : PyNumber_Add(first, length);
    PyObject *slice = end == NULL ? NULL : PySlice_New(first, end, NULL);
    Py_XDECREF(first);
    Py_XDECREF(length);
    Py_XDECREF(end);
    return slice;
}

static inline PyObject *hr_view(PyObject *buffer, CPyTagged start, CPyTagged stop)
{
    Py_buffer *whole = hr_plain(buffer, 1);
    if (likely(whole != NULL && CPyTagged_CheckShort(start) && CPyTagged_CheckShort(stop))) {
        Py_ssize_t first = CPyTagged_ShortAsSsize_t(start), end = CPyTagged_ShortAsSsize_t(stop);
        if (likely(0 <= first && first <= end && end <= whole->len)) {
            PyObject *part = PyMemoryView_FromObject(buffer);
            if (unlikely(part == NULL)) return NULL;
            Py_buffer *view = PyMemoryView_GET_BUFFER(part);
            view->buf = (char *)view->buf + first;
            view->len = view->shape[0] = end - first;
            return part;
        }
    }
    PyObject *first = CPyTagged_AsObject(start), *end = CPyTagged_AsObject(stop);
    PyObject *slice = PySlice_New(first, end, NULL);
    Py_DECREF(first);
    Py_DECREF(end);
    PyObject *part = slice == NULL ? NULL : PyObject_GetItem(buffer, slice);
    Py_XDECREF(slice);
    return part;
}

static inline char hr_copy_in(PyObject *target, CPyTagged position, PyObject *source)
{
    Py_ssize_t size;
    unsigned char *from = hr_bytes(source, &size, 0);
    unsigned char *place = from == NULL ? NULL : hr_place(target, position, size, 1);
    if (likely(place != NULL)) {
        memmove(place, from, size);
        return 1;
    }
    size = PyObject_Size(source);
    PyObject *slice = size < 0 ? NULL : hr_slice(position, size);
    int failed = slice == NULL || PyObject_SetItem(target, slice, source) < 0;
    Py_XDECREF(slice);
    return failed ? 2 : 1;
}

static inline char hr_is_at(PyObject *buffer, CPyTagged position, PyObject *expected)
{
    Py_ssize_t size;
    unsigned char *wanted = hr_bytes(expected, &size, 0);
    unsigned char *place = wanted == NULL ? NULL : hr_place(buffer, position, size, 0);
    if (likely(place != NULL)) return memcmp(place, wanted, size) == 0;
    size = PyObject_Size(expected);
    PyObject *slice = size < 0 ? NULL : hr_slice(position, size);
    PyObject *part = slice == NULL ? NULL : PyObject_GetItem(buffer, slice);
    int equal = part == NULL ? -1 : PyObject_RichCompareBool(part, expected, Py_EQ);
    Py_XDECREF(part);
    Py_XDECREF(slice);
    return equal < 0 ? 2 : (char)equal;
}

/* A short stretch by the processor's instruction; a long one is the package's, which keeps three of them going at once. */
#define HR_SHORT_CRC_BYTES 1024
__attribute__((target("sse4.2"))) static inline uint32_t hr_short_crc(const unsigned char *place, Py_ssize_t size)
{
    uint64_t crc = 0xffffffff;
    for (; size >= 8; size -= 8, place += 8) crc = _mm_crc32_u64(crc, hr_load_uint64_t(place));
    for (; size > 0; size--, place++) crc = _mm_crc32_u8((uint32_t)crc, *place);
    return ~(uint32_t)crc;
}

static inline CPyTagged hr_crc32c_from(PyObject *buffer, CPyTagged position)
{
    Py_ssize_t has;
    unsigned char *start = hr_bytes(buffer, &has, 0);
    unsigned char *place = start == NULL ? NULL : hr_place(buffer, position, 0, 0);
    if (likely(place != NULL && start + has - place <= HR_SHORT_CRC_BYTES && __builtin_cpu_supports("sse4.2")))
        return (CPyTagged)hr_short_crc(place, start + has - place) << 1;
    static PyObject *package_crc32c = NULL;
    if (package_crc32c == NULL) {
        PyObject *module = PyImport_ImportModule("headrace.checksum");
        package_crc32c = module == NULL ? NULL : PyObject_GetAttrString(module, "crc32c");
        Py_XDECREF(module);
        if (package_crc32c == NULL) return CPY_INT_TAG;
    }
    PyObject *rest = hr_view(buffer, position, (CPyTagged)PyObject_Size(buffer) << 1);
    PyObject *sum = rest == NULL ? NULL : PyObject_CallOneArg(package_crc32c, rest);
    Py_XDECREF(rest);
    return sum == NULL ? CPY_INT_TAG : CPyTagged_StealFromObject(sum);
}

/* A clock of the system's; these can't fail. */
static inline CPyTagged hr_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (CPyTagged)(((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) << 1);
}
static inline CPyTagged hr_wall_ns(void) { return hr_clock_ns(CLOCK_REALTIME); }
static inline CPyTagged hr_monotonic_ns(void) { return hr_clock_ns(CLOCK_MONOTONIC); }

static inline char hr_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return 1;
}

/* A number that a word holds; one of all its 64 bits is an object to mypyc. */
static inline int hr_untag_word(CPyTagged number, uint64_t *value)
{
    if (likely(CPyTagged_CheckShort(number))) return hr_untag_uint64_t(number, value);
    *value = PyLong_AsUnsignedLongLong(CPyTagged_LongAsObject(number));
    if (likely(*value != (uint64_t)-1)) return 1;
    PyErr_Clear();  /* too large, or below 0: what `memoryview` raises; or the largest one, which it takes */
    return 0;
}

/* object[number], object[number] = number */
static inline PyObject *hr_get_item(PyObject *object, CPyTagged index)
{
    if (PyMemoryView_Check(object) && likely(CPyTagged_CheckShort(index))) {
        Py_ssize_t at = CPyTagged_ShortAsSsize_t(index);
        Py_buffer *found = hr_plain(object, 8);
        if (found != NULL && found->format != NULL && found->format[0] == 'Q' && found->format[1] == 0
            && likely(at >= 0 && at < found->shape[0]))
            return PyLong_FromUnsignedLongLong(__atomic_load_n((uint64_t *)found->buf + at, __ATOMIC_ACQUIRE));
        found = hr_plain(object, 1);
        if (found != NULL && (found->format == NULL || (found->format[0] == 'B' && found->format[1] == 0))
            && likely(at >= 0 && at < found->shape[0]))
            return PyLong_FromLong(((unsigned char *)found->buf)[at]);
    }
    PyObject *key = CPyTagged_AsObject(index);
    PyObject *item = key == NULL ? NULL : PyObject_GetItem(object, key);
    Py_XDECREF(key);
    return item;
}

static inline int hr_set_item(PyObject *object, CPyTagged index, CPyTagged value)
{
    uint64_t number;
    if (PyMemoryView_Check(object) && likely(CPyTagged_CheckShort(index) && hr_untag_word(value, &number))) {
        Py_ssize_t at = CPyTagged_ShortAsSsize_t(index);
        Py_buffer *found = hr_plain(object, 8);
        if (found != NULL && !found->readonly && found->format != NULL && found->format[0] == 'Q' && found->format[1] == 0
            && likely(at >= 0 && at < found->shape[0])) {
            __atomic_store_n((uint64_t *)found->buf + at, number, __ATOMIC_RELEASE);
            return 0;
        }
        found = hr_plain(object, 1);
        if (found != NULL && !found->readonly && (found->format == NULL || (found->format[0] == 'B' && found->format[1] == 0))
            && likely(at >= 0 && at < found->shape[0] && number < 256)) {
            ((unsigned char *)found->buf)[at] = (unsigned char)number;
            return 0;
        }
    }
    PyObject *key = CPyTagged_AsObject(index), *item = CPyTagged_AsObject(value);
    int failed = key == NULL || item == NULL ? -1 : PyObject_SetItem(object, key, item);
    Py_XDECREF(key);
    Py_XDECREF(item);
    return failed;
}
"""
_END: Final = "#endif"


class StructFunction(NamedTuple):
    """A function of the sources that unpacks or packs, and does nothing else.

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
    def fields(self) -> list[tuple[str, int]]:
        """(letter, position) of each number."""
        found, position, count = [], 0, ""
        for letter in self.format[1:]:
            if letter.isdigit():
                count += letter
                continue
            for _ in range(int(count or 1)):
                if letter != "x":
                    found.append((letter, position))
                position += calcsize("=" + letter)
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
    if call.func.attr not in ("unpack_from", "pack_into") or set(format_text[1:]) - {*_LETTERS, *"x0123456789"}:
        return None
    return StructFunction(f"{name}.{node.name}", format_text, call.func.attr == "pack_into", is_single)


def prepare(code: Path, modules: dict[str, str]) -> None:
    """Write the header beside mypyc's files, and have mypyc call what is in it.

    modules   of the core: name -> path
    """
    functions = [one for name, path in modules.items() for one in struct_functions(name, Path(path).read_text())]
    (code / HEADER_NAME).write_text(header_text(functions))
    try:
        register(functions)
    except (ImportError, AttributeError, TypeError, StopIteration) as failure:
        print(f"compiled core: numbers in memory stay objects, this mypyc takes no functions of ours: {failure}")


def header_text(functions: list[StructFunction]) -> str:
    """The C of all of them, included before each file of the core."""
    return "\n".join([_FIXED, *map(_code_of, functions), _END, ""])


def _code_of(function: StructFunction) -> str:
    size = calcsize(function.format)
    if function.is_pack:
        return _pack_code(function, size)
    count = len(function.fields)
    if function.is_single:
        return_type, declared, error, give = "CPyTagged", "", "CPY_INT_TAG", "return {0};"
    else:
        return_type = f"tuple_T{count}{'I' * count}"
        members = " ".join(f"CPyTagged f{index};" for index in range(count))
        declared = (
            f"#ifndef MYPYC_DECLARED_{return_type}\n#define MYPYC_DECLARED_{return_type}\n"
            f"typedef struct {return_type} {{ {members} }} {return_type};\n#endif\n"
        )
        error, give = f"({return_type}){{ {', '.join(['CPY_INT_TAG'] * count)} }}", "result.f{1} = {0};"
    lines = []
    for index, (letter, position) in enumerate(function.fields):
        ctype, is_short = _LETTERS[letter]
        bits = calcsize("=" + letter)
        swap = _SWAPS[bits] if function.format[0] == ">" else ""
        unsigned = f"uint{8 * bits}_t"
        value = f"({ctype}){swap}(hr_load_{unsigned}(place + {position}))"
        tagged = f"(CPyTagged)((int64_t){value} << 1)" if is_short else f"hr_tag_{ctype}({value})"
        lines.append(f"    {give.format(tagged, index)}")
    if not function.is_single:
        lines = [f"    {return_type} result;", *lines, "    return result;"]
    slow_items = "\n".join(
        f"        result.f{index} = CPyTagged_FromObject(PyTuple_GET_ITEM(values, {index}));" for index in range(count)
    )
    slow = (
        "        CPyTagged result = CPyTagged_FromObject(PyTuple_GET_ITEM(values, 0));"
        if function.is_single
        else f"        {return_type} result;\n{slow_items}"
    )
    return f"""{declared}static inline {return_type} {function.c_name}(PyObject *buffer, CPyTagged position)
{{
    const unsigned char *place = hr_place(buffer, position, {size}, 0);
    if (unlikely(place == NULL)) {{
        PyObject *values = hr_call_struct("unpack_from", "{function.format}", buffer, position, NULL, 0);
        if (values == NULL) return {error};
{slow}
        Py_DECREF(values);
        return result;
    }}
{chr(10).join(lines)}
}}
"""


def _pack_code(function: StructFunction, size: int) -> str:
    count = len(function.fields)
    parameters = ", ".join(f"CPyTagged v{index}" for index in range(count))
    checks, stores, end = [], [], 0
    for index, (letter, position) in enumerate(function.fields):
        ctype, _is_short = _LETTERS[letter]
        bits = calcsize("=" + letter)
        swap = _SWAPS[bits] if function.format[0] == ">" else ""
        checks.append(f"hr_untag_{ctype}(v{index}, &n{index})")
        if position > end:
            stores.append(f"    memset(place + {end}, 0, {position - end});")
        end = position + bits
        stores.append(f"    hr_store_uint{8 * bits}_t(place + {position}, {swap}((uint{8 * bits}_t)n{index}));")
    if size > end:
        stores.append(f"    memset(place + {end}, 0, {size - end});")
    numbers = "\n".join(f"    {_LETTERS[letter][0]} n{index};" for index, (letter, _) in enumerate(function.fields))
    return f"""static inline char {function.c_name}(PyObject *buffer, CPyTagged position, {parameters})
{{
{numbers}
    unsigned char *place = hr_place(buffer, position, {size}, 1);
    if (unlikely(place == NULL || !({" && ".join(checks)}))) {{
        CPyTagged values[] = {{ {", ".join(f"v{index}" for index in range(count))} }};
        PyObject *done = hr_call_struct("pack_into", "{function.format}", buffer, position, values, {count});
        if (done == NULL) return 2;
        Py_DECREF(done);
        return 1;
    }}
{chr(10).join(stores)}
    return 1;
}}
"""


def register(functions: list[StructFunction]) -> None:
    """Have mypyc call the C. raises ImportError or TypeError, where this mypyc has another registry"""
    from mypyc.ir.ops import ERR_MAGIC, ERR_NEVER
    from mypyc.ir.rtypes import RTuple, bool_rprimitive, int_rprimitive, none_rprimitive, object_rprimitive
    from mypyc.primitives import registry

    number, thing = int_rprimitive, object_rprimitive

    def take(name: str, arguments: list[Any], result: Any, c_name: str, errors: int = ERR_MAGIC) -> None:
        registry.function_op(name, arguments, result, c_name, errors)

    take("headrace.memory.view", [thing, number, number], thing, "hr_view")
    take("headrace.memory.copy_in", [thing, number, thing], none_rprimitive, "hr_copy_in")
    take("headrace.memory.is_at", [thing, number, thing], bool_rprimitive, "hr_is_at")
    take("headrace.protocol.record_batch.crc_from", [thing, number], number, "hr_crc32c_from")
    take("headrace.clock.read_wall_ns", [], number, "hr_wall_ns", ERR_NEVER)
    take("headrace.clock.read_monotonic_ns", [], number, "hr_monotonic_ns", ERR_NEVER)
    take("headrace.shm.fence.fence", [], none_rprimitive, "hr_fence", ERR_NEVER)
    for function in functions:
        count = len(function.fields)
        if function.is_pack:
            take(function.name, [thing, number, *[number] * count], none_rprimitive, function.c_name)
        else:
            result = number if function.is_single else RTuple([number] * count)
            take(function.name, [thing, number], result, function.c_name)
    _take_subscripts()


def _take_subscripts() -> None:
    """`object[number]` before `object[object]`, which has the least of all priorities."""
    from mypyc.ir.ops import ERR_MAGIC
    from mypyc.ir.rtypes import c_int_rprimitive, int_rprimitive, object_rprimitive
    from mypyc.primitives import generic_ops, registry  # noqa: F401  # generic_ops fills the registry
    from mypyc.primitives.registry import ERR_NEG_INT

    number, thing = int_rprimitive, object_rprimitive
    for name, ours, result, errors in (
        ("__getitem__", "hr_get_item", thing, ERR_MAGIC),
        ("__setitem__", "hr_set_item", c_int_rprimitive, ERR_NEG_INT),
    ):
        count = 2 if name == "__getitem__" else 3
        candidates = registry.method_call_ops[name]
        generic = next(one for one in candidates if one.arg_types == [thing] * count)
        candidates.remove(generic)
        assert generic.c_function_name is not None
        registry.method_op(
            name, generic.arg_types, generic.return_type, generic.c_function_name, generic.error_kind, priority=-1
        )
        registry.method_op(name, [thing, *[number] * (count - 1)], result, ours, errors, priority=0)
