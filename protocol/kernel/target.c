/* A target is checked once for each call, and filled record by record. Stands for arrow/python_walk.py (`put_records`). */
#include "target.h"

static int refuse(const char *why)
{
    PyErr_Format(PyExc_ValueError, "target: %s", why);
    return -1;
}

/* Memory of a part that may be written; its length in *size. Sets *at to NULL for None. */
static int take_part(PyObject *parts, int part, target_t *target, void *at, int64_t *size)
{
    PyObject *from = PyTuple_GET_ITEM(parts, part);
    *(void **)at = NULL;
    *size = 0;
    if (from == Py_None)
        return 0;
    if (PyObject_GetBuffer(from, &target->held[part], PyBUF_WRITABLE))
        return -1;
    target->has[part] = 1;
    if ((uintptr_t)target->held[part].buf & 3)
        return refuse("memory that is not aligned");
    *(void **)at = target->held[part].buf;
    *size = target->held[part].len;
    return 0;
}

static int take_place(PyObject *parts, int part, target_t *target, int64_t row, place_t *place)
{
    int64_t out_bytes, ends_bytes, validity_bytes, capacity = target->capacity;
    if (take_part(parts, part, target, &place->out, &out_bytes) || take_part(parts, part + 1, target, &place->ends, &ends_bytes)
        || take_part(parts, part + 2, target, &place->validity, &validity_bytes))
        return -1;
    if (!place->out)
        return place->ends || place->validity ? refuse("a part of what is not wanted") : 0;
    if (!place->validity || validity_bytes < capacity / 8 + 1)
        return refuse("a bitmap that is too short");
    if (!place->ends)
        return out_bytes / VIEW_BYTES < capacity ? refuse("views that are too few") : 0;
    if (ends_bytes / 4 - 1 < capacity || out_bytes > INT32_MAX)
        return refuse("ends that are too few, or more bytes than they can tell");
    place->room = out_bytes;
    place->used = place->ends[row];
    return place->used < 0 || place->used > place->room ? refuse("an end outside of the bytes") : 0;
}

int take_target(PyObject *from, int64_t row, target_t *target)
{
    int64_t columns_bytes, slots_bytes, sums_bytes, *columns, *slots;
    memset(target, 0, sizeof *target);
    if (!PyTuple_Check(from) || PyTuple_GET_SIZE(from) != PARTS_OF_TARGET)
        return refuse("it is a tuple of other parts");
    target->capacity = PyLong_AsLongLong(PyTuple_GET_ITEM(from, OF_CAPACITY));
    if (target->capacity == -1 && PyErr_Occurred())
        return -1;
    if (take_part(from, OF_COLUMNS, target, &columns, &columns_bytes) || take_part(from, OF_SLOTS, target, &slots, &slots_bytes)
        || take_part(from, OF_SUMS, target, &target->sums, &sums_bytes))
        return -1;
    if (target->capacity < 0 || target->capacity > INT64_MAX / 64 || row < 0 || row > target->capacity)
        return refuse("a row or a capacity that can't be");
    if (!columns || !slots || !target->sums || slots_bytes != 8 * FIELDS || sums_bytes != 8 * SUMS
        || ((uintptr_t)columns | (uintptr_t)slots | (uintptr_t)target->sums) & 7)
        return refuse("columns, slots or sums that are not of 64 bits, or of other lengths");
    int64_t fitting = target->capacity ? columns_bytes / 8 / target->capacity : FIELDS;
    for (int field = 0; field < FIELDS; field++) {
        if (slots[field] < -1 || slots[field] >= fitting || (slots[field] < 0 && field == FIELD_OFFSET))
            return refuse("a slot outside of the columns");
        target->fields[field] = slots[field] < 0 ? NULL : columns + slots[field] * target->capacity;
    }
    if (!target->fields[FIELD_HEADERS_START] != !target->fields[FIELD_HEADERS_LENGTH])
        return refuse("headers by half");
    return take_place(from, OF_KEY, target, row, &target->key) || take_place(from, OF_VALUE, target, row, &target->value) ? -1 : 0;
}

void release_target(target_t *target)
{
    for (int part = 0; part < PARTS_OF_TARGET; part++)
        if (target->has[part])
            PyBuffer_Release(&target->held[part]);
}

void add_sums(const target_t *target)
{
    target->sums[SUM_KEY_NULLS] += target->key.nulls;
    target->sums[SUM_VALUE_NULLS] += target->value.nulls;
    target->sums[SUM_BYTES] += target->bytes;
    if (target->body_max > target->sums[SUM_BODY_MAX])
        target->sums[SUM_BODY_MAX] = target->body_max;
}

/* One view: length i32 | 12 bytes, where it is that short, or length i32 | first 4 bytes | buffer i32 | offset i32. */
static inline void put_view(uint8_t *at, bytes_t source, int32_t buffer, bytes_t from, int64_t length)
{
    uint32_t words[VIEW_BYTES / 4] = {(uint32_t)length, 0, 0, 0};
    if (length > VIEW_INLINE_MAX) {
        __builtin_memcpy(&words[1], from, 4);
        words[2] = (uint32_t)buffer;
        words[3] = (uint32_t)(from - source);
    } else {
        memcpy(&words[1], from, (size_t)length);
    }
    __builtin_memcpy(at, words, VIEW_BYTES);
}

/* A key or a value, `length` bytes from `from`; -1 is null. Returns how many bytes it has. */
static inline int64_t put_bytes(place_t *place, bytes_t source, int32_t buffer, bytes_t from, int64_t length, int64_t row)
{
    int64_t size = length < 0 ? 0 : length;
    if (length < 0) {
        place->validity[row >> 3] &= (uint8_t)~(1u << (row & 7));
        place->nulls++;
    }
    if (!place->ends) {
        put_view(place->out + VIEW_BYTES * row, source, buffer, from, size);
        return size;
    }
    memcpy(place->out + place->used, from, (size_t)size);
    place->used += size;
    place->ends[row + 1] = (int32_t)place->used;
    return size;
}

int64_t put_records(target_t *target, bytes_t source, int32_t buffer, bytes_t at, bytes_t end, const batch_t *batch, int64_t low, int64_t high, int64_t row)
{
    int64_t *const offsets = target->fields[FIELD_OFFSET], *const times = target->fields[FIELD_TIMESTAMP];
    int64_t *const types = target->fields[FIELD_TYPE];
    int64_t *const key_lengths = target->fields[FIELD_KEY_LENGTH], *const value_lengths = target->fields[FIELD_VALUE_LENGTH];
    int64_t *const header_starts = target->fields[FIELD_HEADERS_START], *const header_lengths = target->fields[FIELD_HEADERS_LENGTH];
    place_t key = target->key, value = target->value;
    int64_t bytes = 0;
    record_t record;
    int64_t body = end - at;
    for (int64_t left = batch->count; left > 0; left--) {
        bytes_t headers = read_record(at, end, &record);
        if (!headers || headers >= record.end)
            return -1;
        at = record.end;
        int64_t offset = batch->base_offset + unfold(record.offset_bits);
        if (offset < low || offset >= high)
            continue;
        offsets[row] = offset;
        if (times)
            times[row] = batch->append_ms >= 0 ? batch->append_ms : saturated_sum(batch->base_ms, unfold(record.time_bits));
        if (types)
            types[row] = batch->append_ms >= 0;
        if (key_lengths)
            key_lengths[row] = length_of(record.key_bits);
        if (value_lengths)
            value_lengths[row] = length_of(record.value_bits);
        if (header_starts) {
            header_starts[row] = headers - source;
            header_lengths[row] = record.end - headers;
        }
        if (key.out)
            bytes += put_bytes(&key, source, buffer, record.key, length_of(record.key_bits), row);
        if (value.out)
            bytes += put_bytes(&value, source, buffer, record.value, length_of(record.value_bits), row);
        row++;
    }
    target->key = key;
    target->value = value;
    target->bytes += bytes;
    if (body > target->body_max)
        target->body_max = body;
    return row;
}
