/* A column of Arrow's binary or string layout, whose rows are read where they are.

   The caller gives it as a tuple, protocol/batch_builder.py (`Column`). Source: the Arrow columnar format. */
#ifndef HEADRACE_BINARY_COLUMN_H
#define HEADRACE_BINARY_COLUMN_H

#include "span.h"

/* A tuple of offsets, data, validity or None, bytes of an offset, row of the first. */
enum { OFFSETS, DATA, VALIDITY, COLUMN_BUFFERS };

typedef struct {
    const char *name;
    Py_buffer buffers[COLUMN_BUFFERS];
    int has[COLUMN_BUFFERS];
    long long width, first;
} column_t;

static inline void release_column(column_t *column)
{
    for (int part = 0; part < COLUMN_BUFFERS; part++)
        if (column->has[part])
            PyBuffer_Release(&column->buffers[part]);
}

/* 0 with an exception, where it is none, or has fewer rows than `stop`. */
static inline int take_column(PyObject *from, const char *name, long long stop, column_t *column)
{
    column->name = name;
    if (!PyTuple_Check(from) || PyTuple_GET_SIZE(from) != COLUMN_BUFFERS + 2) {
        PyErr_Format(PyExc_TypeError, "%s: %s is not a Column", name, Py_TYPE(from)->tp_name);
        return 0;
    }
    for (int part = 0; part < COLUMN_BUFFERS; part++) {
        PyObject *one = PyTuple_GET_ITEM(from, part);
        if (part == VALIDITY && one == Py_None)
            continue;
        if (PyObject_GetBuffer(one, &column->buffers[part], PyBUF_SIMPLE))
            return 0;
        column->has[part] = 1;
    }
    if (!take_number(PyTuple_GET_ITEM(from, COLUMN_BUFFERS), "width", 4, 8, &column->width)
        || !take_number(PyTuple_GET_ITEM(from, COLUMN_BUFFERS + 1), "first", 0, INT64_MAX / 2, &column->first))
        return 0;
    if (column->width != 4 && column->width != 8) {
        PyErr_Format(PyExc_ValueError, "width: %lld is not 4 or 8", column->width);
        return 0;
    }
    long long rows = column->buffers[OFFSETS].len / column->width - 1 - column->first;
    if (column->has[VALIDITY] && 8 * (long long)column->buffers[VALIDITY].len - column->first < rows)
        rows = 8 * (long long)column->buffers[VALIDITY].len - column->first;
    rows = rows < 0 ? 0 : rows;
    if (stop <= rows)
        return 1;
    PyErr_Format(PyExc_ValueError, "%s: the column has %lld rows, stop is %lld", name, rows, stop);
    return 0;
}

/* 0 with an exception, where the row's bytes are not in the data. */
static inline int take_row(const column_t *column, long long row, span_t *span)
{
    long long at = column->first + row;
    int64_t ends[2];
    bytes_t offsets = (bytes_t)column->buffers[OFFSETS].buf + at * column->width;
    if (column->has[VALIDITY] && !(((bytes_t)column->buffers[VALIDITY].buf)[at >> 3] >> (at & 7) & 1)) {
        *span = null_span;
        return 1;
    }
    if (column->width == 8) {
        memcpy(ends, offsets, 16);
    } else {
        int32_t narrow[2];
        memcpy(narrow, offsets, 8);
        ends[0] = narrow[0];
        ends[1] = narrow[1];
    }
    if (ends[0] < 0 || ends[1] < ends[0] || ends[1] > column->buffers[DATA].len) {
        PyErr_Format(PyExc_ValueError, "%s: row %lld is from %lld to %lld, the data has %zd bytes", column->name, row, (long long)ends[0],
            (long long)ends[1], column->buffers[DATA].len);
        return 0;
    }
    *span = (span_t){.at = (bytes_t)column->buffers[DATA].buf + ends[0], .size = ends[1] - ends[0]};
    return 1;
}

#endif
