/* The records of a batch that compaction keeps, one after the other: as they are, or with timestamps from another base.

   Stands for log/compaction/batch_cleaner.py (`_runs`, `_with_horizon`). A wrong argument is an error of the caller's. */
#include "kernel.h"

enum { START, BODY, TIME_END, END, TIME_DELTA, COLUMNS };

#define LENGTHS_BYTES_MAX 20 /* what a new length and a new timestamp may take beside the record as it was */

/* kept_records(data, start, body, time_end, end, time_delta, stays, from, to, base_ms, new_base_ms or None) -> bytes
   Columns of 64 bits as of `fill_columns`, and a byte for each record that says whether it stays; of them those in from..to. */
TAKES(kept_records)
{
    Py_buffer buffers[COLUMNS + 2];
    long long range[3], new_base_ms = 0;
    int held = 0;
    PyObject *out = NULL;
    if (!takes("kept_records", COLUMNS + 6, count) || take_numbers(args + COLUMNS + 2, 3, range))
        return NULL;
    int is_moved = args[COLUMNS + 5] != Py_None;
    if (is_moved && take_numbers(args + COLUMNS + 5, 1, &new_base_ms))
        return NULL;
    for (; held < COLUMNS + 2; held++)
        if (take_bytes(args[held], &buffers[held]))
            goto end;
    const int64_t *columns[COLUMNS];
    const uint8_t *stays = buffers[COLUMNS + 1].buf, *data = buffers[0].buf;
    Py_ssize_t records = buffers[COLUMNS + 1].len;
    int is_wrong = range[0] < 0 || range[1] < range[0] || range[1] > records;
    for (int column = 0; column < COLUMNS; column++) {
        columns[column] = buffers[column + 1].buf;
        is_wrong |= buffers[column + 1].len != 8 * records || (uintptr_t)columns[column] & 7;
    }
    Py_ssize_t room = 0;
    for (long long index = range[0]; !is_wrong && index < range[1]; index++) {
        int64_t start = columns[START][index], body = columns[BODY][index], time_end = columns[TIME_END][index], end = columns[END][index];
        is_wrong |= start < 0 || body < start || time_end <= body || end < time_end || end > buffers[0].len;
        room += stays[index] ? end - start + LENGTHS_BYTES_MAX : 0;
    }
    if (is_wrong) {
        PyErr_SetString(PyExc_ValueError, "columns that don't fit the data");
        goto end;
    }
    if (!(out = PyBytes_FromStringAndSize(NULL, room)))
        goto end;
    uint8_t *first = (uint8_t *)PyBytes_AS_STRING(out), *to = first;
    for (long long index = range[0]; index < range[1]; index++) {
        if (!stays[index])
            continue;
        const uint8_t *from = data + columns[START][index];
        const uint8_t *end = data + columns[END][index];
        if (is_moved) {
            __int128 delta = (__int128)columns[TIME_DELTA][index] + range[2] - new_base_ms;
            int64_t shown = delta > INT64_MAX ? INT64_MAX : delta < INT64_MIN ? INT64_MIN : (int64_t)delta;
            const uint8_t *body = data + columns[BODY][index];
            from = data + columns[TIME_END][index];
            to = write_zigzag(to, 1 + zigzag_bytes(shown) + (end - from));
            *to++ = *body;
            to = write_zigzag(to, shown);
        }
        memcpy(to, from, (size_t)(end - from));
        to += end - from;
    }
    _PyBytes_Resize(&out, to - first);
end:
    while (held--)
        PyBuffer_Release(&buffers[held]);
    return out;
}
