/* Records of a batch of v2 as messages of v0 or v1, each with its checksum, written into one buffer.

   message   offset i64 | size i32 | crc u32 | magic i8 | attributes i8 | timestamp i64 (v1) | key | value; sizes are i32

   Stands for protocol/record_batch.py (`read_records`) with protocol/message_set.py (`build_message_set`). */
#include "batch.h"
#include "record.h"

#define PREFIX_BYTES 16        /* what the checksum leaves out: offset, size, itself */
#define OVERHEAD_BYTES_MAX 34  /* of a message of v1 */
#define DATA_BYTES_MAX (1 << 30) /* a size has 32 bits */

static uint8_t *write_sized(uint8_t *at, uint64_t bits, bytes_t from)
{
    if (bits & 1) {
        store_be32(at, ~0u);
        return at + 4;
    }
    store_be32(at, (uint32_t)(bits >> 1));
    memcpy(at + 4, from, bits >> 1);
    return at + 4 + (bits >> 1);
}

/* to_old_messages(data, count, last_delta, base_offset, base_ms, append_ms or None, magic, attributes, from_offset, is_relative)
       -> (messages, how many, last offset, largest offset, largest timestamp), or None.
   Records below from_offset are left out; is_relative: offsets count from the first record's. Without a message the numbers are 0. */
TAKES(to_old_messages)
{
    long long numbers[4], more[4];
    Py_buffer data;
    int64_t append_ms = 0;
    if (!takes("to_old_messages", 10, count) || take_numbers(args + 1, 4, numbers) || take_numbers(args + 6, 4, more))
        return NULL;
    int has_append_ms = args[5] != Py_None;
    if (has_append_ms && (append_ms = PyLong_AsLongLong(args[5])) == -1 && PyErr_Occurred())
        return NULL;
    long long records = numbers[0], last_delta = numbers[1];
    int64_t base_offset = numbers[2], base_ms = numbers[3];
    int magic = more[0] != 0;
    if (take_bytes(args[0], &data))
        return NULL;
    PyObject *out = NULL;
    bytes_t at = data.buf, end = at + data.len;
    if (data.len > DATA_BYTES_MAX || records < 0 || records > data.len / RECORD_BYTES_MIN)
        goto refused;
    /* A record takes RECORD_BYTES_MIN beside its key and value. */
    if (!(out = PyBytes_FromStringAndSize(NULL, data.len + records * (OVERHEAD_BYTES_MAX - RECORD_BYTES_MIN))))
        goto failed;
    uint8_t *start = (uint8_t *)PyBytes_AS_STRING(out), *to = start;
    int64_t first = 0, last = 0, largest = 0, latest_ms = 0;
    long long written = 0;
    record_t record;
    for (long long index = 0; index < records; index++) {
        int64_t offset, shown, time_ms;
        if (!(at = read_whole_record(at, end, &record)) || !is_delta_right(&record, last_delta))
            goto refused;
        if (__builtin_add_overflow(base_offset, unfold(record.offset_bits), &offset))
            goto refused;
        if (!index)
            first = offset;
        if (offset < more[2])
            continue;
        if (__builtin_sub_overflow(offset, more[3] ? first : 0, &shown))
            goto refused;
        time_ms = has_append_ms ? append_ms : saturated_sum(base_ms, unfold(record.time_bits));
        latest_ms = written && latest_ms > time_ms ? latest_ms : time_ms;
        largest = written && largest > offset ? largest : offset;
        last = offset;
        written++;
        uint8_t *body = to + PREFIX_BYTES, *place = body;
        *place++ = (uint8_t)magic;
        *place++ = (uint8_t)more[1];
        if (magic) {
            store_be64(place, (uint64_t)time_ms);
            place += 8;
        }
        place = write_sized(place, record.key_bits, record.key);
        place = write_sized(place, record.value_bits, record.value);
        store_be64(to, (uint64_t)shown);
        store_be32(to + 8, (uint32_t)(place - to - LOG_OVERHEAD_BYTES));
        store_be32(to + LOG_OVERHEAD_BYTES, crc32_of(body, (size_t)(place - body)));
        to = place;
    }
    if (at != end)
        goto refused;
    PyBuffer_Release(&data);
    if (_PyBytes_Resize(&out, to - start))
        return NULL;
    return Py_BuildValue("(NLLLL)", out, written, (long long)last, (long long)largest, (long long)latest_ms);
refused:
    Py_XDECREF(out);
    PyBuffer_Release(&data);
    return Py_NewRef(Py_None);
failed:
    PyBuffer_Release(&data);
    return NULL;
}
