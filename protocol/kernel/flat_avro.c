/* Flat Avro records, a field after the other, into columns. What is not exactly one record of the schema is not sound.

   Stands for spark/decoding/avro_records.py, which asks fastavro of what is not sound, and of everything where there is no kernel.
   Source: Avro 1.12 specification, binary encoding. */
#include "kernel.h"

enum { NOTHING, BOOLEAN, NUMBER, FLOAT, DOUBLE, BYTES, ENUM, FIXED };
enum { STEP_KIND, STEP_NULL_BRANCH, STEP_SLOT, STEP_SIZE, STEP_IS_INT, STEP_FIELDS };

typedef struct {
    const int64_t *steps;
    int64_t count, rows;
    int64_t *numbers, *lengths;
} flat_t;

/* Whether data[at..end] is one record; `start` is where its bytes are counted from. */
static int walk_one(const flat_t *flat, bytes_t base, bytes_t at, bytes_t end, int64_t row)
{
    for (const int64_t *step = flat->steps, *last = step + STEP_FIELDS * flat->count; step < last; step += STEP_FIELDS) {
        int64_t kind = step[STEP_KIND], size = step[STEP_SIZE], length = 0, number = 0;
        uint64_t bits;
        if (step[STEP_NULL_BRANCH] >= 0) {
            if (!(at = read_zigzag(at, end, &bits)) || (bits != 0 && bits != 2))
                return 0;
            if ((int64_t)(bits >> 1) == step[STEP_NULL_BRANCH])
                continue;
        }
        if (kind == NUMBER || kind == ENUM || kind == BYTES) {
            if (!(at = read_zigzag(at, end, &bits)))
                return 0;
            number = unfold(bits);
            if (kind == ENUM && (number < 0 || number >= size))
                return 0;
            if (step[STEP_IS_INT] && number != (int32_t)number)
                return 0;
            if (kind == BYTES) {
                if (number < 0 || number > end - at)
                    return 0;
                length = number;
                number = at - base;
                at += length;
            }
        } else if (kind != NOTHING) {
            length = kind == FIXED ? size : kind == DOUBLE ? 8 : kind == FLOAT ? 4 : 1;
            if (length < 0 || length > end - at)
                return 0;
            number = at - base;
            if (kind != FIXED) {
                number = 0;
                memcpy(&number, at, (size_t)length); /* little-endian, as the processor */
                if (kind == BOOLEAN && number > 1)
                    return 0;
            }
            at += length;
        }
        if (step[STEP_SLOT] >= 0) {
            flat->numbers[step[STEP_SLOT] * flat->rows + row] = number;
            flat->lengths[step[STEP_SLOT] * flat->rows + row] = length;
        }
    }
    return at == end;
}

/* walk_flat(data, ends, present, skipped, steps, numbers, lengths, is_sound)

   Records data[ends[row] + skipped:ends[row + 1]] of the rows that are present into numbers and lengths, int64 (slots, rows); lengths are
   preset to -1, which is null. is_sound   a byte a row, preset to 0
   steps   int64 (fields, STEP_FIELDS): kind, branch of a union that is null or -1, slot or -1, symbols or bytes, whether it is an int */
TAKES(walk_flat)
{
    enum { DATA, ENDS, PRESENT, STEPS, NUMBERS, LENGTHS, IS_SOUND, PARTS };
    static const int of[PARTS] = {0, 1, 2, 4, 5, 6, 7};
    long long skipped;
    Py_buffer parts[PARTS];
    int held = 0;
    PyObject *done = NULL;
    if (!takes("walk_flat", PARTS + 1, count) || take_numbers(args + 3, 1, &skipped))
        return NULL;
    for (; held < PARTS; held++)
        if (PyObject_GetBuffer(args[of[held]], &parts[held], held >= NUMBERS ? PyBUF_WRITABLE : PyBUF_SIMPLE))
            goto release;
    const int64_t *ends = parts[ENDS].buf;
    const uint8_t *present = parts[PRESENT].buf;
    uint8_t *is_sound = parts[IS_SOUND].buf;
    int64_t rows = parts[PRESENT].len, slots = rows ? parts[LENGTHS].len / 8 / rows : 0;
    flat_t flat = {parts[STEPS].buf, parts[STEPS].len / 8 / STEP_FIELDS, rows, parts[NUMBERS].buf, parts[LENGTHS].buf};
    int is_wrong = skipped < 0 || parts[ENDS].len / 8 - 1 != rows || parts[IS_SOUND].len != rows || parts[LENGTHS].len != 8 * slots * rows
        || parts[NUMBERS].len != parts[LENGTHS].len || parts[STEPS].len % (8 * STEP_FIELDS)
        || ((uintptr_t)ends | (uintptr_t)flat.steps | (uintptr_t)flat.numbers | (uintptr_t)flat.lengths) & 7;
    for (int64_t step = 0; !is_wrong && step < flat.count; step++)
        is_wrong = flat.steps[STEP_FIELDS * step + STEP_SLOT] >= (rows ? slots : INT64_MAX);
    for (int64_t row = 0; !is_wrong && row < rows; row++)
        is_wrong = ends[row] < 0 || ends[row + 1] < ends[row] || ends[row + 1] > parts[DATA].len;
    if (is_wrong) {
        PyErr_SetString(PyExc_ValueError, "walk_flat: arrays of other lengths, or records outside of the data");
        goto release;
    }
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        bytes_t base = parts[DATA].buf;
        if (!present[row]
            || (skipped <= ends[row + 1] - ends[row] && walk_one(&flat, base, base + ends[row] + skipped, base + ends[row + 1], row))) {
            is_sound[row] = 1;
            continue;
        }
        for (int64_t slot = 0; slot < slots; slot++)
            flat.lengths[slot * rows + row] = -1;
    }
    Py_END_ALLOW_THREADS
    done = Py_NewRef(Py_None);
release:
    while (held--)
        PyBuffer_Release(&parts[held]);
    return done;
}
