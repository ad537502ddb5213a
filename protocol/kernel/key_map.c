/* Hashes of keys, and the table of their last offsets: compaction's memory.

   Stand for log/compaction/record_columns.py (`hash_keys`) and log/compaction/offset_map.py (`OffsetMap.put`, `get`): open
   addressing over two hashes, offsets plus one, 0 is free. A wrong argument is an error of the caller's. */
#include "kernel.h"

#define HASHES 2
#define SECRETS 4
#define AHEAD 8 /* keys whose slot is fetched before it is needed */

typedef struct {
    Py_buffer buffers[7];
    int held;
} columns_t;

/* Columns of 64 bits, `writable` of them from the last backwards; -1 with an exception. */
static int take_columns(PyObject *const *args, int count, int writable, columns_t *columns)
{
    for (columns->held = 0; columns->held < count; columns->held++) {
        Py_buffer *buffer = &columns->buffers[columns->held];
        if (PyObject_GetBuffer(args[columns->held], buffer, columns->held >= count - writable ? PyBUF_WRITABLE : PyBUF_SIMPLE))
            return -1;
        if (buffer->len % 8 || (uintptr_t)buffer->buf & 7) {
            columns->held++;
            PyErr_SetString(PyExc_ValueError, "a column is not of 64 bits");
            return -1;
        }
    }
    return 0;
}

static void release(columns_t *columns)
{
    while (columns->held)
        PyBuffer_Release(&columns->buffers[--columns->held]);
}

static PyObject *refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

/* A bijection of 64 bits for each length: the finalizer of MurmurHash3. */
static uint64_t mixed(uint64_t value, uint64_t length)
{
    value += length * 0x9E3779B97F4A7C15u;
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCDu;
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53u;
    return value ^ value >> 33;
}

/* hash_keys(data, secrets, starts, lengths, first, second): of keys that are longer than the secrets the beginning alone counts. */
TAKES(hash_keys)
{
    Py_buffer data;
    columns_t columns = {.held = 0};
    PyObject *done = NULL;
    if (!takes("hash_keys", 6, count) || take_bytes(args[0], &data))
        return NULL;
    if (take_columns(args + 1, 5, HASHES, &columns))
        goto end;
    Py_buffer *taken = columns.buffers;
    const uint64_t *secrets = taken[0].buf;
    const int64_t *starts = taken[1].buf, *lengths = taken[2].buf;
    uint64_t *first = taken[3].buf, *second = taken[4].buf;
    int64_t words_max = taken[0].len / 8 / SECRETS;
    Py_ssize_t keys = taken[1].len / 8;
    if (taken[0].len % (8 * SECRETS) || taken[2].len != taken[1].len || taken[3].len != taken[1].len || taken[4].len != taken[1].len) {
        refuse("columns of different lengths");
        goto end;
    }
    for (Py_ssize_t index = 0; index < keys; index++) {
        int64_t length = lengths[index], left = length;
        if (starts[index] < 0 || length < 0 || starts[index] > data.len || length > data.len - starts[index]) {
            refuse("a key that is not in the data");
            goto end;
        }
        bytes_t key = (bytes_t)data.buf + starts[index];
        uint64_t one = 0, other = 0;
        for (int64_t word = 0; word < words_max && left > 0; word++, left -= 8, key += 8) {
            uint64_t value = 0;
            if (left >= 8)
                memcpy(&value, key, 8);
            else
                memcpy(&value, key, (size_t)left);
            uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);
            const uint64_t *secret = secrets + word;
            one += (uint64_t)(uint32_t)(low + (uint32_t)secret[0]) * (uint32_t)(high + (uint32_t)secret[words_max]);
            other += (uint64_t)(uint32_t)(low + (uint32_t)secret[2 * words_max]) * (uint32_t)(high + (uint32_t)secret[3 * words_max]);
        }
        first[index] = mixed(one, (uint64_t)length);
        second[index] = mixed(other, (uint64_t)length);
    }
    done = Py_NewRef(Py_None);
end:
    release(&columns);
    PyBuffer_Release(&data);
    return done;
}

typedef struct {
    uint64_t *first, *second;
    int64_t *offsets;
    uint64_t slots;
    const uint64_t *wanted_first, *wanted_second;
    Py_ssize_t keys;
} table_t;

/* The columns of a table and of what is looked up; 0 with an exception, where they don't fit together. */
static int take_table(Py_buffer *taken, table_t *table)
{
    *table = (table_t){
        .first = taken[0].buf, .second = taken[1].buf, .offsets = taken[2].buf, .slots = (uint64_t)taken[0].len / 8,
        .wanted_first = taken[3].buf, .wanted_second = taken[4].buf, .keys = taken[3].len / 8,
    };
    if (table->slots >= 2 && taken[1].len == taken[0].len && taken[2].len == taken[0].len && taken[4].len == taken[3].len
        && taken[5].len == taken[3].len)
        return 1;
    refuse("columns of different lengths");
    return 0;
}

static void fetch_slot(const table_t *table, Py_ssize_t index)
{
    if (index >= table->keys)
        return;
    uint64_t place = table->wanted_first[index] % table->slots;
    __builtin_prefetch(table->offsets + place);
    __builtin_prefetch(table->first + place);
    __builtin_prefetch(table->second + place);
}

/* The slot of a key, or the free one where it would be; -1 where all are taken. */
static int64_t find_slot(const table_t *table, uint64_t first, uint64_t second)
{
    uint64_t place = first % table->slots, step = second % (table->slots - 1) + 1;
    for (uint64_t tries = 0; tries < table->slots; tries++) {
        if (table->offsets[place] <= 0 || (table->first[place] == first && table->second[place] == second))
            return (int64_t)place;
        place += step;
        if (place >= table->slots)
            place -= table->slots;
    }
    return -1;
}

/* put_offsets(first, second, offsets of the keys; first, second, offsets of the table) -> how many keys are new. */
TAKES(put_offsets)
{
    columns_t columns = {.held = 0};
    table_t table;
    PyObject *done = NULL;
    if (!takes("put_offsets", 6, count) || take_columns(args, 6, 3, &columns))
        goto end;
    Py_buffer *given = columns.buffers;
    Py_buffer taken[6] = {given[3], given[4], given[5], given[0], given[1], given[2]};
    if (!take_table(taken, &table))
        goto end;
    const int64_t *offsets = given[2].buf;
    long long fresh = 0;
    for (Py_ssize_t index = 0; index < table.keys; index++) {
        fetch_slot(&table, index + AHEAD);
        int64_t place = find_slot(&table, table.wanted_first[index], table.wanted_second[index]);
        if (place < 0) {
            refuse("the table is full");
            goto end;
        }
        if (table.offsets[place] <= 0) {
            table.first[place] = table.wanted_first[index];
            table.second[place] = table.wanted_second[index];
            fresh++;
        }
        table.offsets[place] = offsets[index] + 1;
    }
    done = PyLong_FromLongLong(fresh);
end:
    release(&columns);
    return done;
}

/* get_offsets(first, second, offsets of the table; first, second of the keys, found): -1 where a key was never put. */
TAKES(get_offsets)
{
    columns_t columns = {.held = 0};
    table_t table;
    PyObject *done = NULL;
    if (!takes("get_offsets", 6, count) || take_columns(args, 6, 1, &columns) || !take_table(columns.buffers, &table))
        goto end;
    int64_t *found = columns.buffers[5].buf;
    for (Py_ssize_t index = 0; index < table.keys; index++) {
        fetch_slot(&table, index + AHEAD);
        int64_t place = find_slot(&table, table.wanted_first[index], table.wanted_second[index]);
        found[index] = place < 0 || table.offsets[place] <= 0 ? -1 : table.offsets[place] - 1;
    }
    done = Py_NewRef(Py_None);
end:
    release(&columns);
    return done;
}
