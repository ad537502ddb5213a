/* Walks that make no records: the deep check, and what every uncompressed batch of a producer is compared with.

   Stand for protocol/record_scan.py (`scan_records`), protocol/plain_records.py (`scan_plain`) and the answer of
   workers/network/plain_admission.py (`check_plain`) to a batch that has nothing wrong with it. */
#include "batch.h"
#include "record.h"

#define BODY_BITS_MIN (2 * (RECORD_BYTES_MIN - 1))

/* scan_records(data, count, keyless_max) -> (indexes of null keys, least and largest timestamp delta), or None.
   Without a record both deltas are 0. */
TAKES(scan_records)
{
    long long numbers[2];
    Py_buffer data;
    if (!takes("scan_records", 3, count) || take_numbers(args + 1, 2, numbers) || take_bytes(args[0], &data))
        return NULL;
    long long records = numbers[0], keyless_max = numbers[1];
    int64_t earliest = records > 0 ? INT64_MAX : 0, latest = records > 0 ? INT64_MIN : 0;
    bytes_t at = data.buf, end = at + data.len;
    PyObject *keyless = PyList_New(0), *found = NULL;
    record_t record;
    if (!keyless)
        goto done;
    for (long long index = 0; index < records; index++) {
        if (!(at = read_whole_record(at, end, &record)) || record.offset_bits != (uint64_t)index << 1)
            goto refused;
        int64_t delta = unfold(record.time_bits);
        earliest = delta < earliest ? delta : earliest;
        latest = delta > latest ? delta : latest;
        if (record.key_bits & 1 && PyList_GET_SIZE(keyless) < keyless_max) {
            PyObject *number = PyLong_FromLongLong(index);
            int failed = !number || PyList_Append(keyless, number);
            Py_XDECREF(number);
            if (failed)
                goto done;
        }
    }
    if (at == end)
        found = Py_BuildValue("(OLL)", keyless, (long long)earliest, (long long)latest);
    else
refused:
        found = Py_NewRef(Py_None);
done:
    Py_XDECREF(keyless);
    PyBuffer_Release(&data);
    return found;
}

/* Whether there are `count` records up to `end`. Up to whole_max of them are looked at wholly, of more the first ones so and of the
   others the length. `most` is the largest timestamp delta of those, as zigzag bits. */
static int walk_plain(bytes_t at, bytes_t end, int64_t count, int64_t whole_max, int64_t first, uint64_t *most)
{
    record_t record;
    uint64_t bits;
    *most = 0;
    if (count > (end - at) / RECORD_BYTES_MIN)
        return 0;
    int64_t whole = count <= whole_max ? count : first < count ? first : count;
    for (int64_t index = 0; index < whole; index++) {
        if (!(at = read_whole_record(at, end, &record)))
            return 0;
        if (*record.offset_at != (uint8_t)(index << 1) || record.offset_bits != (uint64_t)index << 1)
            return 0;
        if (record.time_bits > *most)
            *most = record.time_bits;
    }
    for (int64_t left = count - whole; left > 0; left--) {
        if (!(at = read_zigzag(at, end, &bits)) || bits & 1 || bits < BODY_BITS_MIN || !(at = skip_bytes(at, end, bits)))
            return 0;
    }
    return at == end;
}

/* scan_plain(data, count, whole_max, first) -> the largest timestamp delta of those that were looked at, as zigzag bits, or None. */
TAKES(scan_plain)
{
    long long numbers[3];
    Py_buffer data;
    uint64_t most;
    if (!takes("scan_plain", 4, count) || take_numbers(args + 1, 3, numbers) || take_bytes(args[0], &data))
        return NULL;
    int is_right = walk_plain(data.buf, (bytes_t)data.buf + data.len, numbers[0], numbers[1], numbers[2], &most);
    PyBuffer_Release(&data);
    return is_right ? PyLong_FromUnsignedLongLong(most) : Py_NewRef(Py_None);
}

/* is_plain(batch, whole_max, first) -> whether an uncompressed batch of v2 needs nothing: its records are what its header says, or
   its header is one that the log's owner refuses. */
TAKES(is_plain)
{
    long long numbers[2];
    Py_buffer batch;
    uint64_t most;
    int needs_nothing = 0;
    if (!takes("is_plain", 3, count) || take_numbers(args + 1, 2, numbers) || take_bytes(args[0], &batch))
        return NULL;
    bytes_t at = batch.buf;
    if (batch.len >= HEADER_BYTES) {
        batch_header_t header = read_batch_header(at);
        if (header.size != batch.len || header.count <= 0 || header.last_delta != header.count - 1) {
            needs_nothing = 1;
        } else if (walk_plain(at + HEADER_BYTES, at + batch.len, header.count, numbers[0], numbers[1], &most)) {
            int64_t base_ms = header.base_ms, max_ms = header.max_ms;
            needs_nothing = base_ms >= 0 && (header.count > numbers[0] || (max_ms >= base_ms && (uint64_t)(max_ms - base_ms) == most >> 1));
        }
    }
    PyBuffer_Release(&batch);
    return PyBool_FromLong(needs_nothing);
}
