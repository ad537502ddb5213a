/* A batch being built, as far as its neighbours see it (batch_builder.c). */
#ifndef HEADRACE_BUILDER_H
#define HEADRACE_BUILDER_H

#include "span.h"

typedef struct {
    PyObject_HEAD
    uint8_t *data; /* NULL before the first record */
    long long capacity, used; /* both with the header's room */
    long long count, first_ms, max_ms;
    Py_ssize_t views; /* buffers that others hold: nothing is written meanwhile */
} builder_t;

extern PyTypeObject *builder_type; /* once the module is made */

/* A record without headers. 1: written; 0: it would pass the limit, and is not the first; -1 with an exception. */
int put_plain(builder_t *self, int64_t time_ms, span_t key, span_t value, int64_t limit);

#endif
