/* Messages of v0 or v1 as the records of a batch of v2, with the first offset 0, written into one buffer; each is checked.

   Stands for protocol/message_set.py (`read_messages`) with protocol/record_batch.py (`_encode_records`). */
#include "batch.h"

#define CRC_POSITION 12
#define MAGIC_POSITION 16
#define ATTRIBUTES_POSITION 17
#define TIMESTAMP_POSITION 18
#define MESSAGE_BYTES_MIN 26       /* v0, without key and value */
#define NO_TIMESTAMP_MS (-1)
#define RECORD_OVERHEAD_BYTES_MAX 32 /* length 5, attributes 1, timestamp 10, offset 5, key 5, value 5, headers 1 */
#define DATA_BYTES_MAX (1 << 30)     /* a size has 32 bits */

typedef struct {
    bytes_t end;
    bytes_t key;
    int64_t key_bytes;   /* -1: null */
    bytes_t value;
    int64_t value_bytes;
    int64_t offset;
    int64_t time_ms;
} message_t;

/* One message of a magic, without a codec, with the right checksum; 0 for any other. */
static int read_message(bytes_t at, bytes_t end, int magic, message_t *message)
{
    if (end - at < MESSAGE_BYTES_MIN || entry_magic(at) != magic || at[ATTRIBUTES_POSITION] & CODEC_MASK)
        return 0;
    int64_t size = entry_size(at);
    if (size < MESSAGE_BYTES_MIN + 8 * magic || size > end - at)
        return 0;
    message->end = end = at + size;
    message->offset = entry_offset(at);
    message->time_ms = magic ? (int64_t)load_be64(at + TIMESTAMP_POSITION) : NO_TIMESTAMP_MS;
    bytes_t place = at + TIMESTAMP_POSITION + 8 * magic;
    message->key_bytes = (int32_t)load_be32(place);
    message->key = place += 4;
    if (message->key_bytes < -1 || message->key_bytes > end - place - 4)
        return 0;
    place += message->key_bytes > 0 ? message->key_bytes : 0;
    message->value_bytes = (int32_t)load_be32(place);
    message->value = place += 4;
    if (message->value_bytes < -1 || (message->value_bytes > 0 ? message->value_bytes : 0) != end - place)
        return 0;
    return crc32_of(at + MAGIC_POSITION, (size_t)(size - MAGIC_POSITION)) == load_be32(at + CRC_POSITION);
}

static uint8_t *write_sized(uint8_t *at, int64_t size, bytes_t from)
{
    at = write_zigzag(at, size);
    if (size <= 0)
        return at;
    memcpy(at, from, (size_t)size);
    return at + size;
}

/* to_records(data, magic, time_ms or None, count_max, keyless_max)
       -> (records, how many, bytes of their keys and values, indexes of null keys, least and largest timestamp of those that are
           not -1, or -1 twice, first timestamp, largest of all, offset of the last message), or None.
   time_ms   of all of them, in place of their own */
TAKES(to_records)
{
    long long magic, limits[2];
    int64_t given_ms = 0;
    Py_buffer data;
    if (!takes("to_records", 5, count) || take_numbers(args + 1, 1, &magic) || take_numbers(args + 3, 2, limits))
        return NULL;
    int has_ms = args[2] != Py_None;
    if (has_ms && (given_ms = PyLong_AsLongLong(args[2])) == -1 && PyErr_Occurred())
        return NULL;
    if (take_bytes(args[0], &data))
        return NULL;
    PyObject *out = NULL, *keyless = NULL, *found = NULL;
    bytes_t at = data.buf, end = at + data.len;
    if (data.len < MESSAGE_BYTES_MIN || data.len > DATA_BYTES_MAX || magic < 0 || magic > 1)
        goto refused;
    /* Messages of v0 have 6 bytes less than a record may take, those of v1 more. */
    Py_ssize_t room = data.len + data.len / MESSAGE_BYTES_MIN * (RECORD_OVERHEAD_BYTES_MAX - MESSAGE_BYTES_MIN);
    if (!(keyless = PyList_New(0)) || !(out = PyBytes_FromStringAndSize(NULL, room)))
        goto done;
    uint8_t *start = (uint8_t *)PyBytes_AS_STRING(out), *to = start;
    int64_t first_ms = 0, latest_ms = 0, timed_first = NO_TIMESTAMP_MS, timed_last = NO_TIMESTAMP_MS;
    int has_timed = 0;
    long long records = 0, payload = 0;
    message_t message = {.offset = 0};
    while (at < end) {
        if (records == limits[0] || !read_message(at, end, (int)magic, &message))
            goto refused;
        int64_t time_ms = has_ms ? given_ms : message.time_ms, delta;
        if (!records)
            first_ms = latest_ms = time_ms;
        if (__builtin_sub_overflow(time_ms, first_ms, &delta))
            goto refused;
        latest_ms = time_ms > latest_ms ? time_ms : latest_ms;
        if (time_ms != NO_TIMESTAMP_MS) {
            timed_first = has_timed && timed_first < time_ms ? timed_first : time_ms;
            timed_last = has_timed && timed_last > time_ms ? timed_last : time_ms;
            has_timed = 1;
        }
        if (message.key_bytes < 0 && PyList_GET_SIZE(keyless) < limits[1]) {
            PyObject *number = PyLong_FromLongLong(records);
            int failed = !number || PyList_Append(keyless, number);
            Py_XDECREF(number);
            if (failed)
                goto done;
        }
        int64_t held = (message.key_bytes > 0 ? message.key_bytes : 0) + (message.value_bytes > 0 ? message.value_bytes : 0);
        payload += held;
        to = write_zigzag(to, 2 + zigzag_bytes(delta) + zigzag_bytes(records) + zigzag_bytes(message.key_bytes)
            + zigzag_bytes(message.value_bytes) + held);
        *to++ = 0;
        to = write_zigzag(to, delta);
        to = write_zigzag(to, records);
        to = write_sized(to, message.key_bytes, message.key);
        to = write_sized(to, message.value_bytes, message.value);
        *to++ = 0;
        at = message.end;
        records++;
    }
    if (!_PyBytes_Resize(&out, to - start))
        found = Py_BuildValue("(OLLOLLLLL)", out, records, payload, keyless, (long long)timed_first, (long long)timed_last,
            (long long)first_ms, (long long)latest_ms, (long long)message.offset);
    goto done;
refused:
    found = Py_NewRef(Py_None);
done:
    Py_XDECREF(out);
    Py_XDECREF(keyless);
    PyBuffer_Release(&data);
    return found;
}
