/* Bytes and numbers that a caller gave, for what raises an error that names the argument. */
#ifndef HEADRACE_SPAN_H
#define HEADRACE_SPAN_H

#include "kernel.h"

#define NAME_BYTES_MAX 64

typedef struct {
    bytes_t at;
    int64_t size; /* -1: null */
} span_t;

/* A key, a value or a header's value, held until `release_span`. */
typedef struct {
    span_t span;
    int is_held;
    Py_buffer buffer;
} held_t;

static const span_t null_span = {.at = NULL, .size = -1};

/* What nearly every key and value is: none of Python's code runs, and nothing needs to be held. */
static inline int plain_span(PyObject *from, span_t *span)
{
    if (PyBytes_CheckExact(from))
        *span = (span_t){.at = (bytes_t)PyBytes_AS_STRING(from), .size = PyBytes_GET_SIZE(from)};
    else if (from == Py_None)
        *span = null_span;
    else
        return 0;
    return 1;
}

/* Bytes of an argument, which is called `name`, or `name[index]` where it is one of several. */
static inline int take_span(PyObject *from, held_t *held, const char *name, Py_ssize_t index)
{
    held->is_held = 0;
    if (plain_span(from, &held->span))
        return 0;
    char place[NAME_BYTES_MAX];
    snprintf(place, sizeof place, index < 0 ? "%s" : "%s[%zd]", name, index);
    if (!PyBytes_Check(from) && !PyByteArray_Check(from) && !PyMemoryView_Check(from)) {
        PyErr_Format(PyExc_TypeError, "%s: %s is not bytes, bytearray or memoryview", place, Py_TYPE(from)->tp_name);
        return -1;
    }
    if (PyObject_GetBuffer(from, &held->buffer, PyBUF_SIMPLE)) {
        if (!PyErr_ExceptionMatches(PyExc_BufferError))
            return -1;
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s: the memoryview is not contiguous", place);
        return -1;
    }
    held->is_held = 1;
    held->span = (span_t){.at = held->buffer.buf, .size = held->buffer.len};
    return 0;
}

static inline void release_span(held_t *held)
{
    if (held->is_held)
        PyBuffer_Release(&held->buffer);
}

/* An integer within bounds; 0 with an exception for any other. */
static inline int take_number(PyObject *from, const char *name, long long low, long long high, long long *number)
{
    int overflow;
    if (!PyLong_Check(from)) {
        PyErr_Format(PyExc_TypeError, "%s: %s is not int", name, Py_TYPE(from)->tp_name);
        return 0;
    }
    *number = PyLong_AsLongLongAndOverflow(from, &overflow);
    if (!overflow && *number >= low && *number <= high)
        return 1;
    PyErr_Format(PyExc_ValueError, "%s: %S is not within %lld to %lld", name, from, low, high);
    return 0;
}

#endif
