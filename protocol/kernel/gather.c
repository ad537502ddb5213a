/* Bytes that lie apart, copied one after the other: columns of bytes, and headers of records with their keys and values.

   Stand for arrow/python_walk.py. Lengths are checked against data and room both times that headers are read. */
#include "target.h"

#define PARTS_MAX 9

typedef struct {
    Py_buffer buffers[PARTS_MAX];
    int held;
} parts_t;

/* Arrays of the caller, the last `writable` of them to be written; -1 with an exception. */
static int take_parts(PyObject *const *args, int count, int writable, parts_t *parts)
{
    for (parts->held = 0; parts->held < count; parts->held++) {
        int flags = parts->held >= count - writable ? PyBUF_WRITABLE : PyBUF_SIMPLE;
        if (PyObject_GetBuffer(args[parts->held], &parts->buffers[parts->held], flags))
            return -1;
    }
    return 0;
}

static void release_parts(parts_t *parts)
{
    while (parts->held)
        PyBuffer_Release(&parts->buffers[--parts->held]);
}

static PyObject *refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

static inline void mark_null(uint8_t *validity, int64_t row)
{
    validity[row >> 3] &= (uint8_t)~(1u << (row & 7));
}

/* gather(data, starts, lengths, out, ends, validity, first, last) -> nulls, or -1 where `out` is too small or a value outside of `data`

   Copies lengths[i] bytes from starts[i] for first <= i < last after what `out` holds; a negative length is null.
   ends   Arrow's int32 offsets, one more than rows; ends[first] is where to begin */
TAKES(gather)
{
    long long range[2];
    parts_t parts;
    PyObject *found = NULL;
    if (!takes("gather", 8, count) || take_numbers(args + 6, 2, range))
        return NULL;
    if (take_parts(args, 6, 3, &parts))
        goto release;
    const Py_buffer *buffers = parts.buffers;
    bytes_t data = buffers[0].buf;
    const int64_t *starts = buffers[1].buf, *lengths = buffers[2].buf;
    uint8_t *out = buffers[3].buf, *validity = buffers[5].buf;
    int32_t *ends = buffers[4].buf;
    int64_t first = range[0], last = range[1], room = buffers[3].len, nulls = 0;
    if (first < 0 || last < first || last > buffers[1].len / 8 || last > buffers[2].len / 8 || last > buffers[4].len / 4 - 1
        || last > buffers[5].len * 8 || room > INT32_MAX || ((uintptr_t)starts | (uintptr_t)lengths) & 7 || (uintptr_t)ends & 3) {
        refuse("gather: rows outside of the arrays");
        goto release;
    }
    int64_t place = ends[first];
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = first; row < last && nulls >= 0; row++) {
        int64_t length = lengths[row], start = starts[row];
        if (length < 0) {
            mark_null(validity, row);
            nulls++;
        } else if (place < 0 || length > room - place || start < 0 || start > buffers[0].len - length) {
            nulls = -1;
        } else {
            memcpy(out + place, data + start, (size_t)length);
            place += length;
        }
        ends[row + 1] = (int32_t)place;
    }
    Py_END_ALLOW_THREADS
    found = PyLong_FromLongLong(nulls);
release:
    release_parts(&parts);
    return found;
}

typedef struct {
    bytes_t key, value;
    int64_t key_bytes, value_bytes; /* value_bytes: -1 for null */
} header_t;

/* Position after one header, NULL where it passes `end` or has no key. */
static inline bytes_t read_header(bytes_t at, bytes_t end, header_t *header)
{
    uint64_t bits;
    if (!(at = read_zigzag(at, end, &bits)) || bits & 1)
        return NULL;
    header->key = at;
    header->key_bytes = (int64_t)(bits >> 1);
    if (!(at = skip_bytes(at, end, bits)) || !(at = read_zigzag(at, end, &bits)))
        return NULL;
    header->value = at;
    header->value_bytes = length_of(bits);
    return skip_bytes(at, end, bits);
}

/* Where the headers of a row begin after their count, NULL where what is told of them can't be; `end` is theirs. */
static inline bytes_t begin_headers(const Py_buffer *data, int64_t start, int64_t length, int64_t *headers, bytes_t *end)
{
    uint64_t bits;
    if (start < 0 || length < 0 || start > data->len - length)
        return NULL;
    bytes_t at = (bytes_t)data->buf + start;
    *end = at + length;
    if (!(at = read_zigzag(at, *end, &bits)) || bits & 1 || bits >> 1 > (uint64_t)length)
        return NULL;
    *headers = (int64_t)(bits >> 1);
    return at;
}

static int are_rows(const Py_buffer *buffers, int64_t first, int64_t last)
{
    return first >= 0 && last >= first && last <= buffers[1].len / 8 && last <= buffers[2].len / 8
        && !(((uintptr_t)buffers[1].buf | (uintptr_t)buffers[2].buf) & 7);
}

/* count_headers(data, starts, lengths, first, last) -> (headers, bytes of their keys, of their values), or the row, below 0, whose
   headers contradict its length: -1 - row. Headers of row i are lengths[i] bytes from starts[i]. */
TAKES(count_headers)
{
    long long range[2];
    parts_t parts;
    PyObject *found = NULL;
    if (!takes("count_headers", 5, count) || take_numbers(args + 3, 2, range))
        return NULL;
    if (take_parts(args, 3, 0, &parts))
        goto release;
    const int64_t *starts = parts.buffers[1].buf, *lengths = parts.buffers[2].buf;
    if (!are_rows(parts.buffers, range[0], range[1])) {
        refuse("count_headers: rows outside of the arrays");
        goto release;
    }
    int64_t total = 0, key_bytes = 0, value_bytes = 0, row = range[0], headers = 0;
    int is_right = 1;
    Py_BEGIN_ALLOW_THREADS
    for (; row < range[1]; row++) {
        bytes_t end = NULL, at = begin_headers(&parts.buffers[0], starts[row], lengths[row], &headers, &end);
        header_t header;
        for (int64_t left = headers; at && left > 0; left--) {
            if (!(at = read_header(at, end, &header)))
                break;
            key_bytes += header.key_bytes;
            value_bytes += header.value_bytes < 0 ? 0 : header.value_bytes;
        }
        if (!at || at != end) {
            is_right = 0;
            break;
        }
        total += headers;
    }
    Py_END_ALLOW_THREADS
    found = is_right ? Py_BuildValue("(LLL)", (long long)total, (long long)key_bytes, (long long)value_bytes) : PyLong_FromLongLong(-1 - row);
release:
    release_parts(&parts);
    return found;
}

/* fill_headers(data, starts, lengths, list_ends, list_validity, keys, key_ends, values, value_ends, value_validity, first, last) -> nulls
   among the values, or -1 where they are not what was counted

   list_ends, list_validity   Arrow's, of the rows: list_ends[first] is how many headers there are before; a row without one is null
   keys, values               room for their bytes, after key_ends and value_ends of that many headers */
TAKES(fill_headers)
{
    enum { DATA, STARTS, LENGTHS, LIST_ENDS, LIST_VALIDITY, KEYS, KEY_ENDS, VALUES, VALUE_ENDS, PARTS };
    long long range[2];
    parts_t parts;
    Py_buffer bits;
    PyObject *found = NULL;
    if (!takes("fill_headers", 12, count) || take_numbers(args + 10, 2, range) || PyObject_GetBuffer(args[9], &bits, PyBUF_WRITABLE))
        return NULL;
    if (take_parts(args, PARTS, PARTS - LIST_ENDS, &parts))
        goto release;
    const Py_buffer *buffers = parts.buffers;
    const int64_t *starts = buffers[STARTS].buf, *lengths = buffers[LENGTHS].buf;
    int32_t *list_ends = buffers[LIST_ENDS].buf, *key_ends = buffers[KEY_ENDS].buf, *value_ends = buffers[VALUE_ENDS].buf;
    uint8_t *keys = buffers[KEYS].buf, *values = buffers[VALUES].buf;
    int64_t key_room = buffers[KEYS].len, value_room = buffers[VALUES].len, nulls = 0;
    int64_t room = buffers[KEY_ENDS].len < buffers[VALUE_ENDS].len ? buffers[KEY_ENDS].len / 4 - 1 : buffers[VALUE_ENDS].len / 4 - 1;
    if (room > bits.len * 8)
        room = bits.len * 8;
    if (!are_rows(buffers, range[0], range[1]) || range[1] > buffers[LIST_ENDS].len / 4 - 1 || range[1] > buffers[LIST_VALIDITY].len * 8
        || key_room > INT32_MAX || value_room > INT32_MAX || ((uintptr_t)list_ends | (uintptr_t)key_ends | (uintptr_t)value_ends) & 3
        || list_ends[range[0]] < 0 || list_ends[range[0]] > room) {
        refuse("fill_headers: rows outside of the arrays");
        goto release;
    }
    int64_t place = list_ends[range[0]], key_place = key_ends[place], value_place = value_ends[place];
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = range[0]; row < range[1] && nulls >= 0; row++) {
        int64_t headers = 0;
        bytes_t end = NULL, at = begin_headers(&buffers[DATA], starts[row], lengths[row], &headers, &end);
        header_t header;
        if (!at || headers > room - place || key_place < 0 || value_place < 0) {
            nulls = -1;
            break;
        }
        if (!headers)
            mark_null(buffers[LIST_VALIDITY].buf, row);
        for (int64_t left = headers; left > 0; left--, place++) {
            at = read_header(at, end, &header);
            int64_t value_bytes = at && header.value_bytes > 0 ? header.value_bytes : 0;
            if (!at || header.key_bytes > key_room - key_place || value_bytes > value_room - value_place) {
                nulls = -1;
                break;
            }
            memcpy(keys + key_place, header.key, (size_t)header.key_bytes);
            memcpy(values + value_place, header.value, (size_t)value_bytes);
            key_ends[place + 1] = (int32_t)(key_place += header.key_bytes);
            value_ends[place + 1] = (int32_t)(value_place += value_bytes);
            if (header.value_bytes < 0) {
                mark_null(bits.buf, place);
                nulls++;
            }
        }
        list_ends[row + 1] = (int32_t)place;
    }
    Py_END_ALLOW_THREADS
    found = PyLong_FromLongLong(nulls);
release:
    release_parts(&parts);
    PyBuffer_Release(&bits);
    return found;
}
