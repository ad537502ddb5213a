/* headrace/memory.py in C: a view, a copy, a comparison of bytes, and words that processes share. */
#ifndef HEADRACE_MEMORY_H
#define HEADRACE_MEMORY_H

#include "buffer.h"
#include <stdint.h>
#include <string.h>

/* slice(start, start + size), of Python's */
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

/* memory.view: a new memoryview of the same memory, its ends moved; no slice object, no bounds to compute */
static inline PyObject *hr_view(PyObject *buffer, CPyTagged start, CPyTagged stop)
{
    Py_buffer *whole = hr_view_buffer(buffer, 1);
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
    PyObject *slice = first == NULL || end == NULL ? NULL : PySlice_New(first, end, NULL);
    Py_XDECREF(first);
    Py_XDECREF(end);
    PyObject *part = slice == NULL ? NULL : PyObject_GetItem(buffer, slice);
    Py_XDECREF(slice);
    return part;
}

/* memory.copy_in; as all that mypyc calls for None or a bool, 2 is an error */
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

/* memory.is_at */
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

/* Where a word lies in a memoryview of 64-bit words; NULL where there is none of this index. */
static inline uint64_t *hr_word(PyObject *words, CPyTagged index, int is_written)
{
    Py_buffer *found = hr_view_buffer(words, 8);
    if (unlikely(found == NULL || (is_written && found->readonly) || !CPyTagged_CheckShort(index))) return NULL;
    if (unlikely(found->format == NULL || found->format[0] != 'Q' || found->format[1] != 0)) return NULL;
    Py_ssize_t at = CPyTagged_ShortAsSsize_t(index);
    return likely(at >= 0 && at < found->shape[0]) ? (uint64_t *)found->buf + at : NULL;
}

/* memory.load_word: what the peer stored before this word is seen after it */
static inline CPyTagged hr_load_word(PyObject *words, CPyTagged index)
{
    uint64_t *place = hr_word(words, index, 0);
    if (likely(place != NULL)) {
        uint64_t value = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (likely(value < (uint64_t)1 << 62)) return (CPyTagged)value << 1;
        return CPyTagged_StealFromObject(PyLong_FromUnsignedLongLong(value));
    }
    PyObject *key = CPyTagged_AsObject(index);
    PyObject *item = key == NULL ? NULL : PyObject_GetItem(words, key);
    Py_XDECREF(key);
    return item == NULL ? CPY_INT_TAG : CPyTagged_StealFromObject(item);
}

/* A number as a word; whether it is one. One of more than 62 bits is a Python int to mypyc. */
static inline int hr_word_of(CPyTagged number, uint64_t *value)
{
    if (likely(CPyTagged_CheckShort(number))) {
        *value = (uint64_t)CPyTagged_ShortAsSsize_t(number);
        return CPyTagged_ShortAsSsize_t(number) >= 0;
    }
    *value = PyLong_AsUnsignedLongLong(CPyTagged_LongAsObject(number));
    if (likely(*value != (uint64_t)-1)) return 1;
    PyErr_Clear();  /* below 0, or too large: memoryview raises it; or the largest word, which memoryview takes */
    return 0;
}

/* memory.store_word: what was stored before it is seen before it */
static inline char hr_store_word(PyObject *words, CPyTagged index, CPyTagged number)
{
    uint64_t value, *place = hr_word(words, index, 1);
    if (likely(place != NULL && hr_word_of(number, &value))) {
        __atomic_store_n(place, value, __ATOMIC_RELEASE);
        return 1;
    }
    PyObject *key = CPyTagged_AsObject(index), *item = CPyTagged_AsObject(number);
    int failed = key == NULL || item == NULL || PyObject_SetItem(words, key, item) < 0;
    Py_XDECREF(key);
    Py_XDECREF(item);
    return failed ? 2 : 1;
}

/* shm/fence.py: the processor's own fence, no lock */
static inline char hr_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return 1;
}

#endif
