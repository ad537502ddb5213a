/* What the C of a struct function is made of: a function of the sources that only unpacks or packs by a Struct.
 *
 * tools/build/struct_functions.py writes one C function for each of them, from these pieces:
 *
 *     HR_READ(uint32_t, __builtin_bswap32, place + 8)     a number of memory as a CPyTagged
 *     hr_fits_uint32_t(number, &value)                    a CPyTagged as a number of its width; whether it is one
 *     HR_WRITE(uint32_t, __builtin_bswap32, place, n)     that number into memory
 *     hr_unpack_by_struct, hr_pack_by_struct              what is not usual: Python's struct does it, or raises
 */
#ifndef HEADRACE_STRUCT_ACCESS_H
#define HEADRACE_STRUCT_ACCESS_H

#include "buffer.h"
#include <stdint.h>
#include <string.h>

#define HR_AS_IT_IS(value) (value)  /* in the place of a swap, for the machine's own order */

/* A CPyTagged of each width: all but those of 64 bits fit what is no object. */
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
static inline CPyTagged hr_tag_short(int64_t value) { return (CPyTagged)value << 1; }
#define hr_tag_int8_t hr_tag_short
#define hr_tag_uint8_t hr_tag_short
#define hr_tag_int16_t hr_tag_short
#define hr_tag_uint16_t hr_tag_short
#define hr_tag_int32_t hr_tag_short
#define hr_tag_uint32_t hr_tag_short

/* For each width: load, store, and whether a CPyTagged fits it. Memory is not aligned. */
#define HR_WIDTH(type) \
    static inline type hr_load_##type(const unsigned char *place) { type value; memcpy(&value, place, sizeof value); return value; } \
    static inline void hr_store_##type(unsigned char *place, type value) { memcpy(place, &value, sizeof value); } \
    static inline int hr_fits_##type(CPyTagged number, type *value) \
    { \
        if (unlikely(!CPyTagged_CheckShort(number))) return 0; \
        int64_t wide = (int64_t)CPyTagged_ShortAsSsize_t(number); \
        *value = (type)wide; \
        return (int64_t)*value == wide && (wide >= 0 || (type)-1 < 0); \
    }
HR_WIDTH(int8_t)
HR_WIDTH(uint8_t)
HR_WIDTH(int16_t)
HR_WIDTH(uint16_t)
HR_WIDTH(int32_t)
HR_WIDTH(uint32_t)
HR_WIDTH(int64_t)
HR_WIDTH(uint64_t)

#define HR_READ(type, swap, place) hr_tag_##type((type)swap(hr_load_##type(place)))
#define HR_WRITE(type, swap, place, value) hr_store_##type(place, (type)swap(value))

/* struct.METHOD(format, buffer, position, *numbers) */
static PyObject *hr_call_struct(const char *method, const char *format, PyObject *buffer, CPyTagged position,
                                const CPyTagged *numbers, Py_ssize_t count)
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

/* Fills `numbers`; all are CPY_INT_TAG, which is mypyc's sign of an error, where struct raises. */
static void hr_unpack_by_struct(const char *format, PyObject *buffer, CPyTagged position, CPyTagged *numbers, Py_ssize_t count)
{
    PyObject *values = hr_call_struct("unpack_from", format, buffer, position, NULL, 0);
    for (Py_ssize_t index = 0; index < count; index++)
        numbers[index] = values == NULL ? CPY_INT_TAG : CPyTagged_FromObject(PyTuple_GET_ITEM(values, index));
    Py_XDECREF(values);
}

static char hr_pack_by_struct(const char *format, PyObject *buffer, CPyTagged position, const CPyTagged *numbers, Py_ssize_t count)
{
    PyObject *done = hr_call_struct("pack_into", format, buffer, position, numbers, count);
    Py_XDECREF(done);
    return done == NULL ? 2 : 1;
}

#endif
