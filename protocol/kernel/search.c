/* The first record of a time, by the heads of records.

   Stands for protocol/record_search.py. */
#include "kernel.h"
#include "record.h"

#define HEAD_BYTES 31
#define LENGTH_BITS_MOST (2 * (uint64_t)INT32_MAX)

/* find_record(data, position, left, least_time, least_offset, last_offset, is_end)
       -> (position, left, offset delta or -1, time delta), or None.

   A position after the data means that the last record reaches over its end. */
TAKES(find_record)
{
    long long numbers[6];
    Py_buffer data;
    if (!takes("find_record", 7, count) || take_numbers(args + 1, 6, numbers) || take_bytes(args[0], &data))
        return NULL;
    int64_t position = numbers[0], left = numbers[1], least_time = numbers[2], least_offset = numbers[3], last_offset = numbers[4];
    int64_t total = data.len, stop = numbers[5] ? total : total - HEAD_BYTES + 1, offset = -1, time = 0;
    bytes_t start = data.buf, end = start + total;
    PyObject *found = NULL;
    int is_right = position >= 0;
    while (is_right && left > 0 && position < stop) {
        uint64_t bits, time_bits, offset_bits;
        bytes_t at = read_zigzag(start + position, end, &bits);
        if (!at || bits & 1 || bits < 2 * (RECORD_BYTES_MIN - 1) || bits > LENGTH_BITS_MOST || at >= end) {
            is_right = 0;
            break;
        }
        uint64_t size = bits >> 1, room = (uint64_t)(end - at);
        bytes_t body = at, limit = size < room ? at + size : end;
        is_right = !(numbers[5] && size > room) && (at = read_zigzag(at + 1, limit, &time_bits))
                   && (at = read_zigzag(at, limit, &offset_bits)) && !(offset_bits & 1) && (int64_t)(offset_bits >> 1) <= last_offset;
        if (!is_right)
            break;
        position = (body - start) + (int64_t)size;
        left--;
        if (unfold(time_bits) >= least_time && (int64_t)(offset_bits >> 1) >= least_offset) {
            offset = (int64_t)(offset_bits >> 1);
            time = unfold(time_bits);
            break;
        }
    }
    found = is_right ? Py_BuildValue("(LLLL)", (long long)position, (long long)left, (long long)offset, (long long)time) : Py_NewRef(Py_None);
    PyBuffer_Release(&data);
    return found;
}
