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

/* list_records(kind, data, position, count, last_delta, base_offset, base_ms, append_ms or None)
       -> (records of the class `kind`, a tuple of five, position after them), or None.
   Offset deltas of three bytes and more must be within last_delta. */
TAKES(list_records)
{
    long long numbers[5];
    int64_t append_ms = 0;
    Py_buffer data;
    if (!takes("list_records", 8, count) || take_numbers(args + 2, 5, numbers))
        return NULL;
    int has_append_ms = args[7] != Py_None;
    if (has_append_ms && (append_ms = PyLong_AsLongLong(args[7])) == -1 && PyErr_Occurred())
        return NULL;
    if (!PyType_Check(args[0]) || !PyType_IsSubtype((PyTypeObject *)args[0], &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "kind: not a class of tuples");
        return NULL;
    }
    PyTypeObject *kind = (PyTypeObject *)args[0];
    long long position = numbers[0], wanted = numbers[1], last_delta = numbers[2];
    if (take_bytes(args[1], &data))
        return NULL;
    PyObject *records = NULL, *found = NULL, *none = PyTuple_New(0);
    record_t record;
    if (!none)
        goto done;
    if (position < 0 || position > data.len || wanted < 0 || wanted > (data.len - position) / RECORD_BYTES_MIN)
        goto refused;
    bytes_t at = (bytes_t)data.buf + position, end = (bytes_t)data.buf + data.len;
    if (!(records = PyList_New((Py_ssize_t)wanted)))
        goto done;
    for (long long index = 0; index < wanted; index++) {
        if (!(at = read_whole_record(at, end, &record)) || !is_delta_right(&record, last_delta))
            goto refused;
        PyObject *one = kind->tp_alloc(kind, 5);
        if (!one)
            goto done;
        PyList_SET_ITEM(records, (Py_ssize_t)index, one);
        int64_t time_ms = has_append_ms ? append_ms : saturated_sum(numbers[4], unfold(record.time_bits));
        PyObject *offset = offset_of(numbers[3], unfold(record.offset_bits)), *time = PyLong_FromLongLong(time_ms);
        PyObject *key = bytes_of(record.key_bits, record.key), *value = bytes_of(record.value_bits, record.value);
        PyObject *headers = *record.headers ? headers_of(record.headers, record.end) : Py_NewRef(none);
        PyTuple_SET_ITEM(one, 0, offset);
        PyTuple_SET_ITEM(one, 1, time);
        PyTuple_SET_ITEM(one, 2, key);
        PyTuple_SET_ITEM(one, 3, value);
        PyTuple_SET_ITEM(one, 4, headers);
        if (!offset || !time || !key || !value || !headers)
            goto done;
    }
    found = Py_BuildValue("(On)", records, (Py_ssize_t)(at - (bytes_t)data.buf));
    goto done;
refused:
    found = Py_NewRef(Py_None);
done:
    Py_XDECREF(records);
    Py_XDECREF(none);
    PyBuffer_Release(&data);
    return found;
}
