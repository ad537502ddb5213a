/* Committed offsets of a batch of `__consumer_offsets` into the dictionaries of a load.

   Stands for workers/coordinators/group/loader.py (`Loader._take_plain`). The batch is walked twice: nothing is put before all of it is
   known to be right. */
#include "kernel.h"
#include "record.h"

#define PREFIX_BYTES 4       /* of an offset's key: version i16, length of the group i16 */
#define SUFFIX_BYTES_MIN 6   /* an empty topic and a partition */
#define KEY_BYTES_MIN 9
#define VERSION_MAX 1

typedef struct {
    bytes_t group, suffix, suffix_end;
} name_t;

/* Whether a key names a group and a partition: 1; 0 for another record's, -1 where it contradicts itself. */
static int read_name(const record_t *record, name_t *name)
{
    int64_t length = length_of(record->key_bits);
    bytes_t key = record->key;
    if (length < KEY_BYTES_MIN || key[0] || key[1] > VERSION_MAX)
        return 0;
    int64_t group_bytes = key[2] << 8 | key[3];
    if (PREFIX_BYTES + group_bytes + SUFFIX_BYTES_MIN > length)
        return -1;
    name->group = key + PREFIX_BYTES;
    name->suffix = name->group + group_bytes;
    name->suffix_end = key + length;
    return 1;
}

static PyObject *bytes_between(bytes_t from, bytes_t to)
{
    return PyBytes_FromStringAndSize((const char *)from, to - from);
}

static PyObject *bytes_or_none(uint64_t bits, bytes_t at)
{
    return bits & 1 ? Py_NewRef(Py_None) : bytes_between(at, at + (bits >> 1));
}

/* The dictionary of a group, borrowed; made where it is missing and is to be; NULL without an exception, where it is not. */
static PyObject *known_of(PyObject *offsets, PyObject *group, int is_made)
{
    PyObject *known = PyDict_GetItemWithError(offsets, group);
    if (known || PyErr_Occurred() || !is_made)
        return known;
    if (!(known = PyDict_New()))
        return NULL;
    int failed = PyDict_SetItem(offsets, group, known);
    Py_DECREF(known);
    return failed ? NULL : known;
}

/* A value put, or, where it is null, taken away; -1 with an exception. */
static int put_offset(PyObject *offsets, PyObject *suffixes, const name_t *name, const record_t *record)
{
    int is_put = !(record->value_bits & 1), failed = -1;
    PyObject *group = bytes_between(name->group, name->suffix), *suffix = bytes_between(name->suffix, name->suffix_end);
    PyObject *value = bytes_or_none(record->value_bits, record->value);
    if (!group || !suffix || !value)
        goto end;
    PyObject *known = known_of(offsets, group, is_put);
    if (!known) {
        failed = PyErr_Occurred() ? -1 : 0;
    } else if (!PyDict_Check(known)) {
        PyErr_SetString(PyExc_TypeError, "offsets: a group without a dictionary");
    } else if (is_put) {
        PyObject *shared = PyDict_SetDefault(suffixes, suffix, suffix);
        failed = shared ? PyDict_SetItem(known, shared, value) : -1;
    } else {
        int has = PyDict_Contains(known, suffix);
        failed = has > 0 ? PyDict_DelItem(known, suffix) : has;
    }
end:
    Py_XDECREF(group);
    Py_XDECREF(suffix);
    Py_XDECREF(value);
    return failed;
}

/* load_offsets(data, count, offsets, suffixes) -> (key, value) of the records that are no offsets, in order, or None.

   offsets    group -> suffix of the key -> value
   suffixes   suffix -> itself: one object for all groups */
TAKES(load_offsets)
{
    long long records;
    Py_buffer data;
    if (!takes("load_offsets", 4, count) || take_numbers(args + 1, 1, &records))
        return NULL;
    if (records < 0)
        return Py_NewRef(Py_None);
    if (!PyDict_Check(args[2]) || !PyDict_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "offsets and suffixes are dictionaries");
        return NULL;
    }
    if (take_bytes(args[0], &data))
        return NULL;
    bytes_t at = data.buf, end = at + data.len;
    record_t record;
    name_t name;
    PyObject *others = NULL;
    for (long long index = 0; index < records; index++)
        if (!(at = read_whole_record(at, end, &record)) || read_name(&record, &name) < 0)
            goto refused;
    if (!(others = PyList_New(0)))
        goto failed;
    at = data.buf;
    for (long long index = 0; index < records; index++) {
        at = read_whole_record(at, end, &record);
        if (read_name(&record, &name)) {
            if (put_offset(args[2], args[3], &name, &record))
                goto failed;
            continue;
        }
        PyObject *key = bytes_or_none(record.key_bits, record.key), *value = bytes_or_none(record.value_bits, record.value);
        PyObject *pair = key && value ? PyTuple_Pack(2, key, value) : NULL;
        int is_lost = !pair || PyList_Append(others, pair);
        Py_XDECREF(key);
        Py_XDECREF(value);
        Py_XDECREF(pair);
        if (is_lost)
            goto failed;
    }
    PyBuffer_Release(&data);
    return others;
refused:
    PyBuffer_Release(&data);
    return Py_NewRef(Py_None);
failed:
    Py_XDECREF(others);
    PyBuffer_Release(&data);
    return NULL;
}
