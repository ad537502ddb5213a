/* Zigzag varints, bounded: at most 10 bytes and 64 bits, nothing is read at `end` or after it.

   Agrees with protocol/varint.py, `read_zigzag`: a value is given as its bits, twice the value or, of a negative one, odd. */
#ifndef HEADRACE_VARINT_H
#define HEADRACE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define VARLONG_BYTES_MAX 10

typedef const uint8_t *bytes_t;

/* Position after the varint, NULL where it has no end before `end`, or more than 64 bits. Needs at <= end. */
static inline bytes_t read_long_zigzag(bytes_t at, bytes_t end, uint64_t *bits)
{
    uint64_t value = 0;
    for (int index = 0; index < VARLONG_BYTES_MAX && at < end; index++) {
        uint64_t byte = *at++;
        if (index == VARLONG_BYTES_MAX - 1 && byte > 1)
            return NULL;
        value |= (byte & 127) << (7 * index);
        if (byte < 128) {
            *bits = value;
            return at;
        }
    }
    return NULL;
}

/* The same; one byte and two are read in place. */
static inline bytes_t read_zigzag(bytes_t at, bytes_t end, uint64_t *bits)
{
    if (end - at >= 2) {
        uint64_t low = at[0], high = at[1];
        if (low < 128) {
            *bits = low;
            return at + 1;
        }
        if (high < 128) {
            *bits = (low & 127) | high << 7;
            return at + 2;
        }
    }
    return read_long_zigzag(at, end, bits);
}

static inline int64_t unfold(uint64_t bits)
{
    return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
}

static inline uint64_t fold(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* Position after what was written: 10 bytes at most. */
static inline uint8_t *write_zigzag(uint8_t *at, int64_t value)
{
    uint64_t bits = fold(value);
    while (bits > 127) {
        *at++ = (uint8_t)(bits | 128);
        bits >>= 7;
    }
    *at++ = (uint8_t)bits;
    return at;
}

static inline int zigzag_bytes(int64_t value)
{
    return (70 - __builtin_clzll(fold(value) | 1)) / 7;
}

#endif
