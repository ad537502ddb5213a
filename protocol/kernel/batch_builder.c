/* The records of one batch of v2, written as they come: no object for a record is made or kept.

   data   61 bytes for the batch's header | records, one after the other

   The memory doubles as it grows and is kept by `clear`. The header is written when the batch is sealed, in place or in a copy.
   An error leaves a builder as it was. Where several arguments are wrong, the first one is reported; errors have the same words in
   Python.

   Stands for protocol/batch_builder.py (`PythonBatchBuilder`), which also has what is done once for a batch: the codec. */
#include "kernel.h"
#include "binary_column.h"
#include "builder.h"
#include <structmember.h>

#define FIRST_CAPACITY_BYTES 512
#define NO_TIMESTAMP_MS (-1)
#define HEADERS_IN_PLACE 8 /* more of them take memory of their own */

static inline int take_time(PyObject *from, long long *time_ms)
{
    return take_number(from, "timestamp_ms", INT64_MIN, INT64_MAX, time_ms);
}

void refuse_views(void)
{
    PyErr_SetString(PyExc_BufferError, "a view of the records is held: release it first");
}

int grow_builder(builder_t *self, int64_t needed)
{
    int64_t capacity = 2 * self->capacity;
    capacity = capacity > BATCH_BYTES_MAX ? BATCH_BYTES_MAX : capacity;
    capacity = capacity < FIRST_CAPACITY_BYTES ? FIRST_CAPACITY_BYTES : capacity;
    capacity = capacity < needed ? needed : capacity;
    uint8_t *data = PyMem_Realloc(self->data, (size_t)capacity);
    if (!data) {
        PyErr_NoMemory();
        return -1;
    }
    if (!self->data)
        memset(data, 0, HEADER_BYTES);
    self->data = data;
    self->capacity = capacity;
    return 0;
}

/* One header of `headers`; what it holds is released by the caller, also after an error. */
static int take_header(PyObject *from, header_t *header, Py_ssize_t index)
{
    header->value.is_held = 0;
    if (!PyTuple_Check(from) || PyTuple_GET_SIZE(from) != 2) {
        PyErr_Format(PyExc_TypeError, "headers[%zd]: it is not a tuple of name and value", index);
        return -1;
    }
    PyObject *name = PyTuple_GET_ITEM(from, 0);
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "the name of headers[%zd]: %s is not str", index, Py_TYPE(name)->tp_name);
        return -1;
    }
    Py_ssize_t size;
    if (!(header->name.at = (bytes_t)PyUnicode_AsUTF8AndSize(name, &size))) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return -1;
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "the name of headers[%zd]: %A has no form in UTF-8", index, name);
        return -1;
    }
    header->name.size = size;
    return take_span(PyTuple_GET_ITEM(from, 1), &header->value, "the value of headers", index);
}

static int put_with_headers(builder_t *self, int64_t time_ms, span_t key, span_t value, PyObject *from)
{
    header_t in_place[HEADERS_IN_PLACE], *headers = in_place;
    Py_ssize_t taken = 0;
    int put = -1;
    if (PyUnicode_Check(from) || !PySequence_Check(from)) {
        PyErr_Format(PyExc_TypeError, "headers: %s is not a sequence of name and value", Py_TYPE(from)->tp_name);
        return -1;
    }
    PyObject *fixed = PySequence_Tuple(from); /* so that nothing takes a header away while it is used */
    if (!fixed)
        return -1;
    headers_t whole = {.count = PyTuple_GET_SIZE(fixed)};
    whole.bytes = zigzag_bytes(whole.count);
    if (whole.count > HEADERS_IN_PLACE && !(headers = PyMem_Malloc((size_t)whole.count * sizeof *headers))) {
        PyErr_NoMemory();
        goto done;
    }
    while (taken < whole.count) {
        header_t *header = headers + taken;
        int failed = take_header(PyTuple_GET_ITEM(fixed, taken), header, taken);
        taken++;
        if (failed)
            goto done;
        whole.bytes += sized_bytes(header->name) + sized_bytes(header->value.span);
    }
    whole.first = headers;
    put = put_record(self, time_ms, key, value, &whole, INT64_MAX);
done:
    while (taken--)
        release_span(&headers[taken].value);
    if (headers != in_place)
        PyMem_Free(headers);
    Py_DECREF(fixed);
    return put;
}

/* append(timestamp_ms, key, value, headers=()) -> bytes of the batch so far, its header included. */
static PyObject *append(builder_t *self, PyObject *const *args, Py_ssize_t count)
{
    long long time_ms;
    held_t key, value;
    if (count != 4 && !takes("append", 3, count))
        return NULL;
    if (!take_time(args[0], &time_ms) || take_span(args[1], &key, "key", -1))
        return NULL;
    int put = -1;
    if (!take_span(args[2], &value, "value", -1)) {
        if (count == 3 || (PyTuple_CheckExact(args[3]) && !PyTuple_GET_SIZE(args[3])))
            put = put_record(self, time_ms, key.span, value.span, &no_headers, INT64_MAX);
        else
            put = put_with_headers(self, time_ms, key.span, value.span, args[3]);
        release_span(&value);
    }
    release_span(&key);
    return put < 0 ? NULL : PyLong_FromLongLong(self->used);
}

/* What a builder was before a call that appends several records. */
static void go_back(builder_t *self, const builder_t *before)
{
    self->used = before->used;
    self->count = before->count;
    self->first_ms = before->first_ms;
    self->max_ms = before->max_ms;
}

int take_list(PyObject *from, const char *name)
{
    if (PyList_Check(from) || PyTuple_Check(from))
        return 1;
    PyErr_Format(PyExc_TypeError, "%s: %s is not list or tuple", name, Py_TYPE(from)->tp_name);
    return 0;
}

int put_held(builder_t *self, PyObject *one, PyObject *its_key, Py_ssize_t index, int64_t time_ms, int64_t limit)
{
    /* The list may be all that holds them, and a `__buffer__` in Python may change the list. */
    Py_INCREF(one);
    Py_INCREF(its_key);
    held_t value, key;
    int put = -1;
    if (!take_span(its_key, &key, "keys", index)) {
        if (!take_span(one, &value, "values", index)) {
            put = put_record(self, time_ms, key.span, value.span, &no_headers, limit);
            release_span(&value);
        }
        release_span(&key);
    }
    Py_DECREF(its_key);
    Py_DECREF(one);
    return put;
}

/* extend(values, keys or None, timestamp_ms, start, limit_bytes, stop=the end) -> index of the first value that was not taken. */
static PyObject *extend(builder_t *self, PyObject *const *args, Py_ssize_t count)
{
    long long time_ms, start, limit, stop;
    if ((count != 6 && !takes("extend", 5, count)) || !take_list(args[0], "values"))
        return NULL;
    PyObject *values = args[0], *keys = args[1] == Py_None ? NULL : args[1];
    if (keys && !take_list(keys, "keys"))
        return NULL;
    Py_ssize_t size = PySequence_Fast_GET_SIZE(values);
    if (keys && PySequence_Fast_GET_SIZE(keys) != size) {
        PyErr_Format(PyExc_ValueError, "keys: %zd of them for %zd values", PySequence_Fast_GET_SIZE(keys), size);
        return NULL;
    }
    if (!take_time(args[2], &time_ms) || !take_number(args[3], "start", 0, size, &start)
        || !take_number(args[4], "limit_bytes", INT64_MIN, INT64_MAX, &limit))
        return NULL;
    stop = size;
    if (count == 6 && !take_number(args[5], "stop", start, size, &stop))
        return NULL;
    limit = limit > BATCH_BYTES_MAX ? BATCH_BYTES_MAX : limit < 0 ? 0 : limit;
    builder_t before = *self;
    int put = 1;
    for (; put > 0 && start < stop; start += put > 0) {
        if (start >= PySequence_Fast_GET_SIZE(values) || (keys && start >= PySequence_Fast_GET_SIZE(keys))) {
            PyErr_SetString(PyExc_ValueError, "values: the list changed while it was read");
            put = -1;
            break;
        }
        PyObject *key = keys ? PySequence_Fast_GET_ITEM(keys, start) : Py_None;
        put = put_listed(self, PySequence_Fast_GET_ITEM(values, start), key, (Py_ssize_t)start, time_ms, limit);
    }
    if (put >= 0)
        return PyLong_FromLongLong(start);
    go_back(self, &before);
    return NULL;
}

/* extend_columns(values, keys or None, timestamp_ms, start, stop, limit_bytes) -> the first row that was not taken.
   timestamp_ms   of all rows, or a buffer of 64 bits for each, in the order of the processor */
static PyObject *extend_columns(builder_t *self, PyObject *const *args, Py_ssize_t count)
{
    long long time_ms = 0, row, stop, limit;
    if (!takes("extend_columns", 6, count))
        return NULL;
    int has_times = !PyLong_Check(args[2]), has_keys = args[1] != Py_None, put = -1;
    if (!take_number(args[4], "stop", 0, INT64_MAX / 2, &stop) || !take_number(args[3], "start", 0, stop, &row)
        || !take_number(args[5], "limit_bytes", INT64_MIN, INT64_MAX, &limit) || (!has_times && !take_time(args[2], &time_ms)))
        return NULL;
    limit = limit > BATCH_BYTES_MAX ? BATCH_BYTES_MAX : limit < 0 ? 0 : limit;
    column_t values = {.name = NULL}, keys = {.name = NULL};
    Py_buffer times;
    builder_t before = *self;
    if (has_times && PyObject_GetBuffer(args[2], &times, PyBUF_SIMPLE))
        return NULL;
    if (!take_column(args[0], "values", stop, &values) || (has_keys && !take_column(args[1], "keys", stop, &keys)))
        goto done;
    if (has_times && times.len / 8 < stop) {
        PyErr_Format(PyExc_ValueError, "timestamp_ms: the column has %zd rows, stop is %lld", times.len / 8, stop);
        goto done;
    }
    for (put = 1; put > 0 && row < stop; row += put > 0) {
        span_t key = null_span, value;
        if ((has_keys && !take_row(&keys, row, &key)) || !take_row(&values, row, &value)) {
            put = -1;
            break;
        }
        if (has_times)
            memcpy(&time_ms, (bytes_t)times.buf + 8 * row, 8);
        put = put_record(self, time_ms, key, value, &no_headers, limit);
    }
    if (put < 0)
        go_back(self, &before);
done:
    release_column(&values);
    release_column(&keys);
    if (has_times)
        PyBuffer_Release(&times);
    return put < 0 ? NULL : PyLong_FromLongLong(row);
}

typedef struct {
    long long attributes, producer, epoch, sequence;
} stamp_t;

static int take_stamp(PyObject *const *args, stamp_t *stamp)
{
    return take_number(args[0], "attributes", INT16_MIN, INT16_MAX, &stamp->attributes)
        && take_number(args[1], "producer_id", INT64_MIN, INT64_MAX, &stamp->producer)
        && take_number(args[2], "producer_epoch", INT16_MIN, INT16_MAX, &stamp->epoch)
        && take_number(args[3], "base_sequence", INT32_MIN, INT32_MAX, &stamp->sequence);
}

/* The header of a batch of `size` bytes, whose body is in place. */
static void write_header(const builder_t *self, uint8_t *at, size_t size, const stamp_t *stamp)
{
    batch_header_t header = {
        .base_offset = 0, .size = (int64_t)size, .leader_epoch = -1, .magic = MAGIC_V2, .attributes = (int16_t)stamp->attributes,
        .last_delta = (int32_t)(self->count - 1), .base_ms = self->first_ms, .max_ms = self->max_ms, .producer_id = stamp->producer,
        .producer_epoch = (int16_t)stamp->epoch, .sequence = (int32_t)stamp->sequence, .count = (int32_t)self->count,
    };
    write_batch_header(at, &header);
}

static int has_records(const builder_t *self)
{
    if (!self->count)
        PyErr_SetString(PyExc_ValueError, "the batch has no records");
    return self->count > 0;
}

/* seal(body or None, attributes, producer_id, producer_epoch, base_sequence) -> the batch, as bytes.
   body   what comes after the header, compressed; None: the records */
static PyObject *seal(builder_t *self, PyObject *const *args, Py_ssize_t count)
{
    stamp_t stamp;
    held_t body = {.is_held = 0};
    if (!takes("seal", 5, count) || !take_stamp(args + 1, &stamp) || !has_records(self))
        return NULL;
    if (args[0] != Py_None && take_span(args[0], &body, "body", -1))
        return NULL;
    span_t from = args[0] != Py_None ? body.span : (span_t){.at = self->data + HEADER_BYTES, .size = self->used - HEADER_BYTES};
    PyObject *batch = NULL;
    if (from.size > BATCH_BYTES_MAX - HEADER_BYTES)
        PyErr_Format(PyExc_ValueError, "body: %lld bytes do not fit into a batch: the limit is %d", (long long)from.size, BATCH_BYTES_MAX);
    else
        batch = PyBytes_FromStringAndSize(NULL, HEADER_BYTES + (Py_ssize_t)from.size);
    if (batch) {
        uint8_t *at = (uint8_t *)PyBytes_AS_STRING(batch);
        memcpy(at + HEADER_BYTES, from.at, (size_t)from.size);
        write_header(self, at, HEADER_BYTES + (size_t)from.size, &stamp);
    }
    release_span(&body);
    return batch;
}

/* seal_in_place(attributes, producer_id, producer_epoch, base_sequence) -> a view of the batch, where its records were written. */
static PyObject *seal_in_place(builder_t *self, PyObject *const *args, Py_ssize_t count)
{
    stamp_t stamp;
    if (!takes("seal_in_place", 4, count) || !take_stamp(args, &stamp) || !has_records(self))
        return NULL;
    if (self->views) {
        refuse_views();
        return NULL;
    }
    write_header(self, self->data, (size_t)self->used, &stamp);
    return PyMemoryView_FromObject((PyObject *)self);
}

static PyObject *records(builder_t *self, PyObject *unused)
{
    PyObject *whole = PyMemoryView_FromObject((PyObject *)self);
    PyObject *body = whole ? PySequence_GetSlice(whole, HEADER_BYTES, PY_SSIZE_T_MAX) : NULL;
    Py_XDECREF(whole);
    return body;
}

static PyObject *clear(builder_t *self, PyObject *unused)
{
    if (self->views && self->count) {
        refuse_views();
        return NULL;
    }
    self->used = HEADER_BYTES;
    self->count = 0;
    self->first_ms = self->max_ms = NO_TIMESTAMP_MS;
    return Py_NewRef(Py_None);
}

static PyObject *size_of(builder_t *self, PyObject *unused)
{
    return PyLong_FromLongLong((long long)sizeof *self + self->capacity);
}

/* All of the batch; its header is written by `seal_in_place`. */
static int view_batch(builder_t *self, Py_buffer *view, int flags)
{
    static const uint8_t nothing[1];
    void *at = self->count ? self->data : (uint8_t *)nothing;
    if (PyBuffer_FillInfo(view, (PyObject *)self, at, self->count ? (Py_ssize_t)self->used : 0, 1, flags))
        return -1;
    self->views++;
    return 0;
}

static void release_batch(builder_t *self, Py_buffer *view)
{
    self->views--;
}

static PyObject *make_builder(PyTypeObject *type, PyObject *args, PyObject *named)
{
    if (PyTuple_GET_SIZE(args) || (named && PyDict_GET_SIZE(named))) {
        PyErr_SetString(PyExc_TypeError, "BatchBuilder takes no arguments");
        return NULL;
    }
    builder_t *self = (builder_t *)type->tp_alloc(type, 0);
    if (self) {
        self->used = HEADER_BYTES;
        self->first_ms = self->max_ms = NO_TIMESTAMP_MS;
    }
    return (PyObject *)self;
}

static void free_builder(builder_t *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyMem_Free(self->data);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

#define METHOD(name, function, flags) {name, (PyCFunction)(void (*)(void))function, flags, NULL}

static PyMethodDef methods[] = {
    METHOD("append", append, METH_FASTCALL), METHOD("extend", extend, METH_FASTCALL), METHOD("extend_columns", extend_columns, METH_FASTCALL),
    METHOD("seal", seal, METH_FASTCALL), METHOD("seal_in_place", seal_in_place, METH_FASTCALL), METHOD("records", records, METH_NOARGS), METHOD("clear", clear, METH_NOARGS),
    METHOD("__sizeof__", size_of, METH_NOARGS), {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"count", T_LONGLONG, offsetof(builder_t, count), READONLY, NULL},
    {"size_bytes", T_LONGLONG, offsetof(builder_t, used), READONLY, NULL},
    {"capacity_bytes", T_LONGLONG, offsetof(builder_t, capacity), READONLY, NULL},
    {"first_timestamp_ms", T_LONGLONG, offsetof(builder_t, first_ms), READONLY, NULL},
    {"max_timestamp_ms", T_LONGLONG, offsetof(builder_t, max_ms), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, make_builder}, {Py_tp_dealloc, free_builder}, {Py_tp_methods, methods}, {Py_tp_members, members},
    {Py_bf_getbuffer, view_batch}, {Py_bf_releasebuffer, release_batch}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "headrace_record_kernel.BatchBuilder", .basicsize = sizeof(builder_t), .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .slots = slots,
};

PyTypeObject *builder_type;

int add_batch_builder(PyObject *module)
{
    builder_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return builder_type ? PyModule_AddObjectRef(module, "BatchBuilder", (PyObject *)builder_type) : -1;
}
