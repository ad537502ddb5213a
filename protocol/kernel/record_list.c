/* Records as objects, for readers that want them: a run at a time.

   Stands for protocol/record_batch.py, `read_records`. */
#include "kernel.h"
#include "record.h"

static PyObject *bytes_of(uint64_t bits, bytes_t at)
{
    return bits & 1 ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize((const char *)at, (Py_ssize_t)(bits >> 1));
}

/* Headers that `skip_headers` has seen. */
static PyObject *headers_of(bytes_t at, bytes_t end)
{
    uint64_t count = 0, name_bits = 0, content_bits = 0;
    at = read_zigzag(at, end, &count);
    PyObject *headers = PyTuple_New((Py_ssize_t)(count >> 1));
    for (Py_ssize_t index = 0; headers && index < (Py_ssize_t)(count >> 1); index++) {
        bytes_t name_at = read_zigzag(at, end, &name_bits);
        bytes_t content_at = read_zigzag(name_at + (name_bits >> 1), end, &content_bits);
        at = skip_bytes(content_at, end, content_bits);
        PyObject *name = PyUnicode_DecodeUTF8((const char *)name_at, (Py_ssize_t)(name_bits >> 1), "replace");
        PyObject *content = bytes_of(content_bits, content_at);
        PyObject *header = name && content ? PyTuple_Pack(2, name, content) : NULL;
        Py_XDECREF(name);
        Py_XDECREF(content);
        if (!header)
            Py_CLEAR(headers);
        else
            PyTuple_SET_ITEM(headers, index, header);
    }
    return headers;
}

/* The sum as Python's integer: offsets that pass 64 bits are the reader's to judge. */
static PyObject *offset_of(int64_t base, int64_t delta)
{
    int64_t sum;
    if (!__builtin_add_overflow(base, delta, &sum))
        return PyLong_FromLongLong(sum);
    PyObject *left = PyLong_FromLongLong(base), *right = PyLong_FromLongLong(delta);
    PyObject *whole = left && right ? PyNumber_Add(left, right) : NULL;
    Py_XDECREF(left);
    Py_XDECREF(right);
    return whole;
}

/* Where the fields of a listed record are, and what it is made with. */
typedef struct {
    PyTypeObject *kind;
    Py_ssize_t first;            /* of the five fields that are read: offset, timestamp, key, value, headers */
    PyObject *topic, *partition; /* before them, where `first` is 2 */
    PyObject *leader_epoch;      /* after them */
    PyObject *no_headers;
    int64_t base_offset, base_ms, append_ms;
    int has_append_ms;
} form_t;

/* Fields that a client adds. */
#define CLIENT_FIELDS_BEFORE 2
#define CLIENT_FIELDS_AFTER 1
#define READ_FIELDS 5

/* The record at a place of `records`, or -1 with an exception. */
static inline int list_record(PyObject *records, Py_ssize_t index, const form_t *form, const record_t *record)
{
    int is_client = form->first > 0;
    PyObject *one = form->kind->tp_alloc(form->kind, READ_FIELDS + (is_client ? CLIENT_FIELDS_BEFORE + CLIENT_FIELDS_AFTER : 0));
    if (!one)
        return -1;
    PyList_SET_ITEM(records, index, one);
    int64_t time_ms = form->has_append_ms ? form->append_ms : saturated_sum(form->base_ms, unfold(record->time_bits));
    PyObject *offset = offset_of(form->base_offset, unfold(record->offset_bits)), *time = PyLong_FromLongLong(time_ms);
    PyObject *key = bytes_of(record->key_bits, record->key), *value = bytes_of(record->value_bits, record->value);
    PyObject *headers = *record->headers ? headers_of(record->headers, record->end) : Py_NewRef(form->no_headers);
    Py_ssize_t at = form->first;
    PyTuple_SET_ITEM(one, at, offset);
    PyTuple_SET_ITEM(one, at + 1, time);
    PyTuple_SET_ITEM(one, at + 2, key);
    PyTuple_SET_ITEM(one, at + 3, value);
    PyTuple_SET_ITEM(one, at + 4, headers);
    if (is_client) {
        PyTuple_SET_ITEM(one, 0, Py_NewRef(form->topic));
        PyTuple_SET_ITEM(one, 1, Py_NewRef(form->partition));
        PyTuple_SET_ITEM(one, at + READ_FIELDS, Py_NewRef(form->leader_epoch));
    }
    return offset && time && key && value && headers ? 0 : -1;
}

/* What both functions do, of their last arguments: data, position, count, last_delta, base_offset, base_ms, append_ms or None. */
static PyObject *list_with(form_t *form, PyObject *kind, PyObject *const *args, int64_t first_offset)
{
    long long numbers[5], append_ms = 0;
    Py_buffer data;
    form->has_append_ms = args[6] != Py_None;
    if (take_numbers(args + 1, 5, numbers) || (form->has_append_ms && take_numbers(args + 6, 1, &append_ms)))
        return NULL;
    if (!PyType_Check(kind) || !PyType_IsSubtype((PyTypeObject *)kind, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "kind: not a class of tuples");
        return NULL;
    }
    long long position = numbers[0], wanted = numbers[1], last_delta = numbers[2];
    form->kind = (PyTypeObject *)kind;
    form->base_offset = numbers[3];
    form->base_ms = numbers[4];
    form->append_ms = append_ms;
    if (take_bytes(args[0], &data))
        return NULL;
    PyObject *records = NULL, *found = NULL;
    record_t record;
    if (!(form->no_headers = PyTuple_New(0)))
        goto done;
    if (position < 0 || position > data.len || wanted < 0 || wanted > (data.len - position) / RECORD_BYTES_MIN)
        goto refused;
    bytes_t at = (bytes_t)data.buf + position, end = (bytes_t)data.buf + data.len;
    if (!(records = PyList_New((Py_ssize_t)wanted)))
        goto done;
    Py_ssize_t listed = 0;
    for (long long index = 0; index < wanted; index++) {
        if (!(at = read_whole_record(at, end, &record)) || !is_delta_right(&record, last_delta))
            goto refused;
        /* A sum that passes 64 bits is above or below every offset. */
        if (first_offset > INT64_MIN && saturated_sum(form->base_offset, unfold(record.offset_bits)) < first_offset)
            continue;
        if (list_record(records, listed++, form, &record))
            goto done;
    }
    Py_SET_SIZE((PyVarObject *)records, listed); /* the places after them are empty */
    found = Py_BuildValue("(On)", records, (Py_ssize_t)(at - (bytes_t)data.buf));
    goto done;
refused:
    found = Py_NewRef(Py_None);
done:
    Py_XDECREF(records);
    Py_XDECREF(form->no_headers);
    PyBuffer_Release(&data);
    return found;
}

/* list_records(kind, data, position, count, last_delta, base_offset, base_ms, append_ms or None)
       -> (records of the class `kind`, a tuple of five, position after them), or None.
   Offset deltas of three bytes and more must be within last_delta. */
TAKES(list_records)
{
    form_t form = {.first = 0};
    if (!takes("list_records", 8, count))
        return NULL;
    return list_with(&form, args[0], args + 1, INT64_MIN);
}

/* list_client_records(kind, topic, partition, leader_epoch, data, position, count, last_delta, base_offset, base_ms, append_ms or None,
       first_offset)
       -> (records of the class `kind`: topic, partition, offset, timestamp, key, value, headers, leader epoch; position after them), or None.
   Records below first_offset are checked and left out. */
TAKES(list_client_records)
{
    form_t form = {.first = CLIENT_FIELDS_BEFORE};
    long long first_offset;
    if (!takes("list_client_records", 12, count) || take_numbers(args + 11, 1, &first_offset))
        return NULL;
    form.topic = args[1];
    form.partition = args[2];
    form.leader_epoch = args[3];
    return list_with(&form, args[0], args + 4, first_offset);
}
