/* What the sources here give each other and the module: one function of Python's each, called without a tuple (METH_FASTCALL).

   Every function that judges bytes returns None for those that it does not take, whatever is wrong: the Python walker that it
   stands for runs then, and says it. An exception is a mistake of the caller's, or no memory. */
#ifndef HEADRACE_KERNEL_H
#define HEADRACE_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "varint.h"

#define TAKES(name) PyObject *name(PyObject *self, PyObject *const *args, Py_ssize_t count)

TAKES(scan_records);
TAKES(scan_plain);
TAKES(is_plain);
TAKES(list_records);
TAKES(list_client_records);
TAKES(to_old_messages);
TAKES(to_records);
TAKES(fill_columns);
TAKES(hash_keys);
TAKES(put_offsets);
TAKES(get_offsets);
TAKES(kept_records);
TAKES(load_offsets);
TAKES(walk_batches);
TAKES(walk_listed);
TAKES(whole_end);
TAKES(gather);
TAKES(count_headers);
TAKES(fill_headers);
TAKES(mark_substring);
TAKES(walk_flat);
TAKES(walk_json);
TAKES(find_record);
TAKES(take_run);
TAKES(store_entries);
TAKES(usual_frame);
TAKES(murmur2);
TAKES(partition_of);
TAKES(crc32c);
TAKES(crc32c_ways);

/* Adds the type `BatchBuilder`; -1 with an exception. */
int add_batch_builder(PyObject *module);

/* Adds the types `SendPath`, `SendRoute` and `SendTarget`; -1 with an exception. After `add_batch_builder`. */
int add_send_path(PyObject *module);

uint32_t murmur2_of(bytes_t at, size_t size);

/* Tables of a reflected CRC, one for each byte of a step. */
void fill_crc_tables(uint32_t (*filled)[256], int steps, uint32_t polynomial);
void make_crc_tables(void);
uint32_t crc32_of(bytes_t data, size_t size);
void make_crc32c_tables(void);
uint32_t crc32c_of(bytes_t data, size_t size);

/* The bytes of an argument, held until `PyBuffer_Release`. */
static inline int take_bytes(PyObject *from, Py_buffer *buffer)
{
    return PyObject_GetBuffer(from, buffer, PyBUF_SIMPLE);
}

/* Arguments that are integers of 64 bits; -1 with an exception where one is not. */
static inline int take_numbers(PyObject *const *args, Py_ssize_t count, long long *numbers)
{
    for (Py_ssize_t index = 0; index < count; index++) {
        numbers[index] = PyLong_AsLongLong(args[index]);
        if (numbers[index] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

static inline int takes(const char *name, Py_ssize_t wanted, Py_ssize_t count)
{
    if (wanted == count)
        return 1;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, %zd were given", name, wanted, count);
    return 0;
}

static inline uint64_t load_be64(bytes_t at)
{
    uint64_t value;
    __builtin_memcpy(&value, at, 8);
    return __builtin_bswap64(value);
}

static inline uint32_t load_be32(bytes_t at)
{
    uint32_t value;
    __builtin_memcpy(&value, at, 4);
    return __builtin_bswap32(value);
}

static inline void store_be64(uint8_t *at, uint64_t value)
{
    value = __builtin_bswap64(value);
    __builtin_memcpy(at, &value, 8);
}

static inline void store_be32(uint8_t *at, uint32_t value)
{
    value = __builtin_bswap32(value);
    __builtin_memcpy(at, &value, 4);
}

#endif
