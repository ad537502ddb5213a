/* Where the fields of records are, as columns of 64-bit integers: what compaction knows of a record.

   Stands for log/compaction/record_columns.py (`walk_lanes`): headers are carried, not looked at. */
#include "kernel.h"
#include "record.h"

enum { LANE, START, BODY, TIME_END, END, TIME_DELTA, OFFSET_DELTA, KEY_START, KEY_LENGTH, VALUE_LENGTH, COLUMNS };

/* fill_columns(data, starts, ends, counts, out) -> whether every lane holds what it announces.

   starts, ends, counts   int64, by lane: bytes of data, and how many records are between
   out                    int64, COLUMNS times as long as there are records: one column after the other */
TAKES(fill_columns)
{
    Py_buffer data, lanes[3], out;
    int held = 0, is_right = 0;
    if (!takes("fill_columns", 5, count) || take_bytes(args[0], &data))
        return NULL;
    PyObject *found = NULL;
    for (; held < 3; held++)
        if (take_bytes(args[1 + held], &lanes[held]))
            goto release;
    if (PyObject_GetBuffer(args[4], &out, PyBUF_WRITABLE))
        goto release;
    const int64_t *starts = lanes[0].buf, *ends = lanes[1].buf, *counts = lanes[2].buf;
    Py_ssize_t lane_count = lanes[0].len / 8, total = 0;
    if (lanes[1].len != lanes[0].len || lanes[2].len != lanes[0].len || lanes[0].len % 8 || out.len % (8 * COLUMNS)
        || ((uintptr_t)starts | (uintptr_t)ends | (uintptr_t)counts | (uintptr_t)out.buf) & 7) {
        PyErr_SetString(PyExc_ValueError, "columns of different lengths, or not aligned");
        goto release_all;
    }
    Py_ssize_t room = out.len / (8 * COLUMNS);
    int64_t *columns = out.buf;
    for (Py_ssize_t lane = 0; lane < lane_count; lane++) {
        if (starts[lane] < 0 || ends[lane] < starts[lane] || ends[lane] > data.len)
            goto judged;
        if (counts[lane] < 0 || counts[lane] > (ends[lane] - starts[lane]) / RECORD_BYTES_MIN || counts[lane] > room - total)
            goto judged;
        bytes_t base = data.buf, at = base + starts[lane], end = base + ends[lane];
        record_t record;
        for (int64_t left = counts[lane]; left; left--) {
            int64_t *cell = columns + total++;
            cell[LANE * room] = lane;
            cell[START * room] = at - base;
            bytes_t headers = read_record(at, end, &record);
            /* null is -1 and no other; a byte at least is left for the headers */
            if (!headers || headers >= record.end || (record.key_bits & 1 && record.key_bits != 1)
                || (record.value_bits & 1 && record.value_bits != 1))
                goto judged;
            cell[BODY * room] = record.body - base;
            cell[TIME_END * room] = record.time_end - base;
            cell[END * room] = record.end - base;
            cell[TIME_DELTA * room] = unfold(record.time_bits);
            cell[OFFSET_DELTA * room] = unfold(record.offset_bits);
            cell[KEY_START * room] = record.key - base;
            cell[KEY_LENGTH * room] = length_of(record.key_bits);
            cell[VALUE_LENGTH * room] = length_of(record.value_bits);
            at = record.end;
        }
        if (at != end)
            goto judged;
    }
    is_right = total == room;
judged:
    found = PyBool_FromLong(is_right);
release_all:
    PyBuffer_Release(&out);
release:
    while (held--)
        PyBuffer_Release(&lanes[held]);
    PyBuffer_Release(&data);
    return found;
}
