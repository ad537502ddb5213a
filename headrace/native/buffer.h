/* Where bytes of a Python object lie, without asking the object: for what is usual, NULL for all else.
 *
 * Usual is a memoryview that is alive, of one dimension, its items side by side; bytes; a bytearray. A function of these
 * headers that gets NULL does what the Python function does in whose place it stands, by Python's own calls, so that results
 * and errors are the same. No function here sets an error or keeps a reference.
 * Source: CPython's cpython/memoryobject.h.
 */
#ifndef HEADRACE_BUFFER_H
#define HEADRACE_BUFFER_H

#include <Python.h>
#include <CPy.h>  /* mypyc: CPyTagged is an int, shifted left by one; an odd one is a pointer to a Python int */

/* The buffer of a usual memoryview whose items have this size. */
static inline Py_buffer *hr_view_buffer(PyObject *object, Py_ssize_t item_bytes)
{
    if (unlikely(!PyMemoryView_Check(object))) return NULL;
    PyMemoryViewObject *self = (PyMemoryViewObject *)object;
    Py_buffer *found = &self->view;
    if (unlikely((self->flags & _Py_MEMORYVIEW_RELEASED) || (self->mbuf->flags & _Py_MANAGED_BUFFER_RELEASED)
                 || found->ndim != 1 || found->itemsize != item_bytes || found->shape == NULL || found->suboffsets != NULL
                 || (found->strides != NULL && found->strides[0] != item_bytes))) return NULL;
    return found;
}

/* The first byte of a usual buffer, and how many there are. */
static inline unsigned char *hr_bytes(PyObject *buffer, Py_ssize_t *size, int is_written)
{
    Py_buffer *found = hr_view_buffer(buffer, 1);
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

/* Where `size` bytes lie at a position that is within a usual buffer. */
static inline unsigned char *hr_place(PyObject *buffer, CPyTagged position, Py_ssize_t size, int is_written)
{
    Py_ssize_t has;
    unsigned char *start = hr_bytes(buffer, &has, is_written);
    if (unlikely(start == NULL || !CPyTagged_CheckShort(position))) return NULL;
    Py_ssize_t at = CPyTagged_ShortAsSsize_t(position);
    return unlikely(at < 0 || at > has - size) ? NULL : start + at;
}

#endif
