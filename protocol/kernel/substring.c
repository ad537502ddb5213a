/* Which values hold some bytes: first and last byte of the needle are compared with whole blocks of all values of a batch, one after
   the other as they lie; only where both fit the bytes between are. A match that runs into the next value is none.

   Stands for pyarrow's match_substring, which arrow/substring.py calls where there is no kernel. */
#include "kernel.h"

#define BLOCK_BYTES 64

typedef uint64_t block_t __attribute__((vector_size(16)));
typedef uint8_t lanes_t __attribute__((vector_size(16)));

static inline lanes_t load_lanes(bytes_t at)
{
    lanes_t lanes;
    __builtin_memcpy(&lanes, at, sizeof lanes);
    return lanes;
}

/* Whether the needle may begin in the BLOCK_BYTES from a position; its last byte is `distance` after its first. */
static inline int may_begin(bytes_t at, lanes_t first, lanes_t last, int64_t distance)
{
    block_t found = {0, 0};
    for (int index = 0; index < BLOCK_BYTES; index += sizeof(lanes_t))
        found |= (block_t)((load_lanes(at + index) == first) & (load_lanes(at + index + distance) == last));
    return (found[0] | found[1]) != 0;
}

static inline int64_t end_at(const void *ends, int width, int64_t row)
{
    return width == 4 ? ((const int32_t *)ends)[row] : ((const int64_t *)ends)[row];
}

static void mark(bytes_t data, const void *ends, int width, bytes_t needle, int64_t size, uint8_t *out, int64_t rows)
{
    lanes_t first, last;
    memset(&first, needle[0], sizeof first);
    memset(&last, needle[size - 1], sizeof last);
    int64_t position = end_at(ends, width, 0), end = end_at(ends, width, rows), row = 0;
    while (position <= end - size) {
        if (end - position >= BLOCK_BYTES + size && !may_begin(data + position, first, last, size - 1)) {
            position += BLOCK_BYTES;
            continue;
        }
        int64_t stop = end - size + 1 < position + BLOCK_BYTES ? end - size + 1 : position + BLOCK_BYTES;
        while (position < stop) {
            if (data[position] == needle[0] && !memcmp(data + position, needle, (size_t)size)) {
                int64_t low = row, high = rows; /* the row of this position: ends[low] <= position < ends[low + 1] */
                while (high - low > 1) {
                    int64_t middle = (low + high) / 2;
                    if (end_at(ends, width, middle) <= position)
                        low = middle;
                    else
                        high = middle;
                }
                row = low;
                int64_t following = end_at(ends, width, row + 1);
                if (position + size <= following) {
                    out[row] = 1;
                    position = following;
                    continue;
                }
            }
            position++;
        }
    }
}

/* mark_substring(data, ends, width, needle, out): sets out[row] to 1, where data[ends[row]:ends[row + 1]] holds the needle.

   ends   Arrow's offsets, of `width` 4 or 8 bytes, ascending, one more than rows
   out    a byte for each row, preset to 0 */
TAKES(mark_substring)
{
    long long width;
    Py_buffer data, ends, needle, out;
    PyObject *done = NULL;
    if (!takes("mark_substring", 5, count) || take_numbers(args + 2, 1, &width) || take_bytes(args[0], &data))
        return NULL;
    if (take_bytes(args[1], &ends))
        goto release_data;
    if (take_bytes(args[3], &needle))
        goto release_ends;
    if (PyObject_GetBuffer(args[4], &out, PyBUF_WRITABLE))
        goto release_needle;
    if ((width != 4 && width != 8) || ends.len / width - 1 != out.len || ends.len % width || (uintptr_t)ends.buf & (width - 1) || !needle.len
        || end_at(ends.buf, width, 0) < 0 || end_at(ends.buf, width, out.len) > data.len) {
        PyErr_SetString(PyExc_ValueError, "mark_substring: ends that are not those of the data, or no needle");
    } else {
        Py_BEGIN_ALLOW_THREADS
        mark(data.buf, ends.buf, width, needle.buf, needle.len, out.buf, out.len);
        Py_END_ALLOW_THREADS
        done = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
release_needle:
    PyBuffer_Release(&needle);
release_ends:
    PyBuffer_Release(&ends);
release_data:
    PyBuffer_Release(&data);
    return done;
}
