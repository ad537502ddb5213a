/* CRC-32C, which batches of v2 carry: what a walk over batches compares each of them with.

   With SSE4.2 three streams go through the processor's `crc32` instruction side by side (its latency is three cycles, one can begin
   in each) and are joined by a table; elsewhere eight tables serve. Source: RFC 3720; the joining as in Mark Adler's crc32c.c. */
#include "kernel.h"

#define POLYNOMIAL 0x82F63B78u
#define STEP 8
#define STREAM_BYTES 256 /* of each of the three: longer ones run away from the prefetcher */
#define SHORT_BYTES 64   /* in what is left, or in a short batch */

typedef uint32_t state_table[4][256];

static uint32_t tables[STEP][256];
static state_table after_stream, after_short;

/* What each byte of a state adds to the state after so many zero bytes: a CRC is linear, so a bit at a time is enough. */
static void make_state_table(state_table table, int zeros)
{
    for (int place = 0; place < 4; place++)
        for (int bit = 0; bit < 8; bit++) {
            uint32_t state = 1u << (8 * place + bit);
            for (int zero = 0; zero < zeros; zero++)
                state = state >> 8 ^ tables[0][state & 255];
            for (int byte = 0; byte < 256; byte++)
                if (byte >> bit & 1)
                    table[place][byte] ^= state;
        }
}

static uint32_t by_byte(uint32_t state, bytes_t data, size_t size)
{
    while (size--)
        state = state >> 8 ^ tables[0][(state ^ *data++) & 255];
    return state;
}

static uint32_t by_tables(bytes_t data, size_t size)
{
    uint32_t state = ~0u;
    for (; size >= STEP; size -= STEP, data += STEP) {
        uint64_t word;
        __builtin_memcpy(&word, data, 8);
        word ^= state;
        state = tables[7][word & 255] ^ tables[6][word >> 8 & 255] ^ tables[5][word >> 16 & 255] ^ tables[4][word >> 24 & 255]
            ^ tables[3][word >> 32 & 255] ^ tables[2][word >> 40 & 255] ^ tables[1][word >> 48 & 255] ^ tables[0][word >> 56];
    }
    return ~by_byte(state, data, size);
}

static uint32_t (*chosen)(bytes_t data, size_t size) = by_tables;

#ifdef __x86_64__
/* The state after two streams: that of the first as if the second were zeros, and that of the second begun with 0. */
static inline uint64_t joined(state_table table, uint64_t state, uint64_t following)
{
    return table[0][state & 255] ^ table[1][state >> 8 & 255] ^ table[2][state >> 16 & 255] ^ table[3][state >> 24 & 255] ^ following;
}

static inline uint64_t load_word(bytes_t at)
{
    uint64_t word;
    __builtin_memcpy(&word, at, 8);
    return word;
}

/* The state after as many triples of streams of `bytes` as there are; moves what it is given. */
__attribute__((target("sse4.2"))) static inline uint64_t in_streams(uint64_t state, bytes_t *data, size_t *size, size_t bytes, state_table table)
{
    for (; *size >= 3 * bytes; *size -= 3 * bytes, *data += 3 * bytes) {
        uint64_t second = 0, third = 0;
        for (bytes_t at = *data, end = at + bytes; at < end; at += 8) {
            state = __builtin_ia32_crc32di(state, load_word(at));
            second = __builtin_ia32_crc32di(second, load_word(at + bytes));
            third = __builtin_ia32_crc32di(third, load_word(at + 2 * bytes));
        }
        state = joined(table, joined(table, state, second), third);
    }
    return state;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(bytes_t data, size_t size)
{
    uint64_t state = ~0u;
    state = in_streams(state, &data, &size, STREAM_BYTES, after_stream);
    state = in_streams(state, &data, &size, SHORT_BYTES, after_short);
    for (; size >= 8; size -= 8, data += 8)
        state = __builtin_ia32_crc32di(state, load_word(data));
    return ~by_byte((uint32_t)state, data, size);
}
#endif

void make_crc32c_tables(void)
{
    fill_crc_tables(tables, STEP, POLYNOMIAL);
    make_state_table(after_stream, STREAM_BYTES);
    make_state_table(after_short, SHORT_BYTES);
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        chosen = by_instruction;
#endif
}

uint32_t crc32c_of(bytes_t data, size_t size)
{
    return chosen(data, size);
}

/* crc32c(data, has_instruction) -> the checksum; for tests, which compare both ways. */
TAKES(crc32c)
{
    Py_buffer data;
    if (!takes("crc32c", 2, count))
        return NULL;
    int is_any = PyObject_IsTrue(args[1]);
    if (is_any < 0 || take_bytes(args[0], &data))
        return NULL;
    uint32_t found = (is_any ? chosen : by_tables)(data.buf, data.len);
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(found);
}
