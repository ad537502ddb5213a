/* JSON objects whose fields are read flat, a record each, into columns. What is not plainly one such record is not sound.

   Plain are strings without escapes, whole numbers, short decimal fractions, true, false and null; fields that are not read may be
   nested. Each value of a field that is read has that field's type. All bytes are UTF-8: the caller has looked.

   Stands for spark/decoding/json_records.py, which asks pyarrow.json of what is not sound, and of everything where there is no kernel.
   Source: RFC 8259. A decimal of 15 digits over a power of ten is exact but for one rounding (Clinger, "How to Read Floating Point
   Numbers Accurately", 1990). */
#include "kernel.h"

#include <string.h>

enum { TEXT, BOOLEAN, NUMBER, DOUBLE };
enum { FIELD_KIND, FIELD_BITS, FIELD_NAME_END, FIELD_FIELDS };
enum { SLOTS_MAX = 64, DEPTH_MAX = 16, NUMBER_DIGITS_MAX = 18, DOUBLE_DIGITS_MAX = 15 };

static const double powers[DOUBLE_DIGITS_MAX + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

typedef struct {
    const int64_t *fields;
    bytes_t names;
    int64_t slots, rows;
    int64_t *numbers, *lengths;
} shape_t;

static inline bytes_t skip_space(bytes_t at, bytes_t end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* The quote that ends a string; NULL where an escape or a control character comes first, or none does. Eight bytes at a time: the lowest
   byte that is marked is one that was looked for, those above it may be marked by its borrow. */
static inline bytes_t text_end(bytes_t at, bytes_t end)
{
    const uint64_t ones = 0x0101010101010101, highs = ones << 7;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, 8); /* little-endian, as the processor */
        uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
        uint64_t marked = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word);
        if (marked & highs) {
            at += __builtin_ctzll(marked & highs) / 8;
            break;
        }
    }
    while (at < end && *at != '"' && *at != '\\' && *at >= 0x20)
        at++;
    return at < end && *at == '"' ? at : NULL;
}

static inline bytes_t digits_end(bytes_t at, bytes_t end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Position after a number, NULL where there is none. point, power   where its fraction and its exponent begin, or NULL */
static inline bytes_t number_end(bytes_t at, bytes_t end, bytes_t *point, bytes_t *power)
{
    *point = *power = NULL;
    if (at < end && *at == '-')
        at++;
    bytes_t first = at;
    at = digits_end(at, end);
    if (at == first || (*first == '0' && at - first > 1))
        return NULL;
    if (at < end && *at == '.') {
        *point = at++;
        first = at;
        at = digits_end(at, end);
        if (at == first)
            return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        *power = at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        first = at;
        at = digits_end(at, end);
        if (at == first)
            return NULL;
    }
    return at;
}

static inline bytes_t word_end(bytes_t at, bytes_t end, const char *word, int64_t size)
{
    return end - at >= size && memcmp(at, word, (size_t)size) == 0 ? at + size : NULL;
}

/* Position after a value of any kind, NULL where it is not plain. */
static bytes_t skip_value(bytes_t at, bytes_t end, int depth)
{
    bytes_t point, power;
    if (at == end)
        return NULL;
    if (*at == '"')
        return (at = text_end(at + 1, end)) ? at + 1 : NULL;
    if (*at == 't')
        return word_end(at, end, "true", 4);
    if (*at == 'f')
        return word_end(at, end, "false", 5);
    if (*at == 'n')
        return word_end(at, end, "null", 4);
    if (*at != '{' && *at != '[')
        return number_end(at, end, &point, &power);
    if (depth == 0)
        return NULL;
    int is_object = *at == '{';
    uint8_t last = is_object ? '}' : ']';
    at = skip_space(at + 1, end);
    if (at < end && *at == last)
        return at + 1;
    for (;;) {
        if (is_object) {
            if (at == end || *at != '"' || !(at = text_end(at + 1, end)))
                return NULL;
            at = skip_space(at + 1, end);
            if (at == end || *at++ != ':')
                return NULL;
            at = skip_space(at, end);
        }
        if (!(at = skip_value(at, end, depth - 1)))
            return NULL;
        at = skip_space(at, end);
        if (at == end)
            return NULL;
        if (*at == last)
            return at + 1;
        if (*at++ != ',')
            return NULL;
        at = skip_space(at, end);
    }
}

static inline int64_t name_start(const shape_t *shape, int64_t slot)
{
    return slot ? shape->fields[FIELD_FIELDS * (slot - 1) + FIELD_NAME_END] : 0;
}

static inline int is_name(const shape_t *shape, int64_t slot, bytes_t name, int64_t size)
{
    int64_t start = name_start(shape, slot);
    return shape->fields[FIELD_FIELDS * slot + FIELD_NAME_END] - start == size && memcmp(shape->names + start, name, (size_t)size) == 0;
}

/* The slot of a field, -1 where it is not read. `likely`: records of one producer have their fields in one order. */
static inline int64_t slot_of(const shape_t *shape, bytes_t name, int64_t size, int64_t likely)
{
    if (likely < shape->slots && is_name(shape, likely, name, size))
        return likely;
    for (int64_t slot = 0; slot < shape->slots; slot++)
        if (is_name(shape, slot, name, size))
            return slot;
    return -1;
}

/* Position after a field's value, NULL where it is not plain or of another type. */
static inline bytes_t take_value(const shape_t *shape, int64_t slot, bytes_t base, bytes_t at, bytes_t end, int64_t row)
{
    const int64_t *field = shape->fields + FIELD_FIELDS * slot;
    int64_t number = 0, length = 1;
    if (at < end && *at == 'n')
        return word_end(at, end, "null", 4);
    if (field[FIELD_KIND] == TEXT) {
        if (at == end || *at++ != '"')
            return NULL;
        number = at - base;
        if (!(at = text_end(at, end)))
            return NULL;
        length = at++ - base - number;
    } else if (field[FIELD_KIND] == BOOLEAN) {
        number = at < end && *at == 't';
        at = number ? word_end(at, end, "true", 4) : word_end(at, end, "false", 5);
    } else {
        bytes_t point, power, digit = at;
        if (!(at = number_end(at, end, &point, &power)) || power)
            return NULL;
        int is_negative = *digit == '-', is_double = field[FIELD_KIND] == DOUBLE;
        digit += is_negative;
        if ((point && !is_double) || at - digit - !!point > (is_double ? DOUBLE_DIGITS_MAX : NUMBER_DIGITS_MAX))
            return NULL;
        for (; digit < at; digit++)
            if (digit != point)
                number = 10 * number + (*digit - '0');
        if (is_double) {
            double value = (double)number / powers[point ? at - point - 1 : 0];
            value = is_negative ? -value : value;
            memcpy(&number, &value, 8);
        } else {
            int64_t most = (int64_t)(UINT64_MAX >> (65 - field[FIELD_BITS]));
            if (is_negative && number == 0) /* pyarrow knows what -0 is */
                return NULL;
            number = is_negative ? -number : number;
            if (number < -most - 1 || number > most)
                return NULL;
        }
    }
    if (at) {
        shape->numbers[slot * shape->rows + row] = number;
        shape->lengths[slot * shape->rows + row] = length;
    }
    return at;
}

/* Whether at..end is one record; `base` is where its bytes are counted from. */
static int walk_one(const shape_t *shape, bytes_t base, bytes_t at, bytes_t end, int64_t row)
{
    uint64_t seen = 0;
    int64_t likely = 0;
    if (at == end || *at++ != '{')
        return 0;
    at = skip_space(at, end);
    if (at < end && *at == '}')
        return at + 1 == end;
    for (;;) {
        if (at == end || *at++ != '"')
            return 0;
        bytes_t name = at;
        if (!(at = text_end(at, end)))
            return 0;
        int64_t slot = slot_of(shape, name, at - name, likely);
        at = skip_space(at + 1, end);
        if (at == end || *at++ != ':')
            return 0;
        at = skip_space(at, end);
        if (slot < 0) {
            at = skip_value(at, end, DEPTH_MAX);
        } else {
            if (seen >> slot & 1)
                return 0;
            seen |= (uint64_t)1 << slot;
            likely = slot + 1;
            at = take_value(shape, slot, base, at, end, row);
        }
        if (!at)
            return 0;
        at = skip_space(at, end);
        if (at == end)
            return 0;
        if (*at == '}')
            return at + 1 == end;
        if (*at++ != ',')
            return 0;
        at = skip_space(at, end);
    }
}

/* walk_json(data, ends, present, names, fields, numbers, lengths, is_sound)

   Records data[ends[row]:ends[row + 1]] of the rows that are present into numbers and lengths, int64 (slots, rows); lengths are preset to
   -1, which is null. Of a string the number is where it starts; of a double, its bits. is_sound   a byte a row, preset to 0
   fields   int64 (slots, FIELD_FIELDS): kind, bits of an integer (8 to 64), where its name ends in `names`; SLOTS_MAX of them at most */
TAKES(walk_json)
{
    enum { DATA, ENDS, PRESENT, NAMES, FIELDS, NUMBERS, LENGTHS, IS_SOUND, PARTS };
    Py_buffer parts[PARTS];
    int held = 0;
    PyObject *done = NULL;
    if (!takes("walk_json", PARTS, count))
        return NULL;
    for (; held < PARTS; held++)
        if (PyObject_GetBuffer(args[held], &parts[held], held >= NUMBERS ? PyBUF_WRITABLE : PyBUF_SIMPLE))
            goto release;
    const int64_t *ends = parts[ENDS].buf;
    const uint8_t *present = parts[PRESENT].buf;
    uint8_t *is_sound = parts[IS_SOUND].buf;
    int64_t rows = parts[PRESENT].len, slots = parts[FIELDS].len / 8 / FIELD_FIELDS;
    shape_t shape = {parts[FIELDS].buf, parts[NAMES].buf, slots, rows, parts[NUMBERS].buf, parts[LENGTHS].buf};
    int is_wrong = parts[ENDS].len / 8 - 1 != rows || parts[IS_SOUND].len != rows || parts[LENGTHS].len != 8 * slots * rows
        || parts[NUMBERS].len != parts[LENGTHS].len || parts[FIELDS].len % (8 * FIELD_FIELDS) || slots > SLOTS_MAX
        || ((uintptr_t)ends | (uintptr_t)shape.fields | (uintptr_t)shape.numbers | (uintptr_t)shape.lengths) & 7;
    for (int64_t slot = 0; !is_wrong && slot < slots; slot++) {
        const int64_t *field = shape.fields + FIELD_FIELDS * slot;
        is_wrong = field[FIELD_NAME_END] < name_start(&shape, slot) || field[FIELD_NAME_END] > parts[NAMES].len
            || field[FIELD_BITS] < 8 || field[FIELD_BITS] > 64;
    }
    for (int64_t row = 0; !is_wrong && row < rows; row++)
        is_wrong = ends[row] < 0 || ends[row + 1] < ends[row] || ends[row + 1] > parts[DATA].len;
    if (is_wrong) {
        PyErr_SetString(PyExc_ValueError, "walk_json: arrays of other lengths, records outside of the data, or too many fields");
        goto release;
    }
    Py_BEGIN_ALLOW_THREADS
    for (int64_t row = 0; row < rows; row++) {
        bytes_t base = parts[DATA].buf;
        if (!present[row] || walk_one(&shape, base, base + ends[row], base + ends[row + 1], row)) {
            is_sound[row] = 1;
            continue;
        }
        for (int64_t slot = 0; slot < slots; slot++)
            shape.lengths[slot * rows + row] = -1;
    }
    Py_END_ALLOW_THREADS
    done = Py_NewRef(Py_None);
release:
    while (held--)
        PyBuffer_Release(&parts[held]);
    return done;
}
