/* CRC-32C, which batches of v2 carry: what a walk over batches compares each of them with.

   With SSE4.2 three streams go through the processor's `crc32` instruction side by side (its latency is three cycles, one can begin
   in each) and are joined by a table; with VPCLMULQDQ longer data is folded first, 256 bytes a step, into 64 bytes that leave the same
   remainder; elsewhere eight tables serve. Source: RFC 3720; the joining as in Mark Adler's crc32c.c; the folding as in Gopal and
   others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ". */
#include "kernel.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define POLYNOMIAL 0x82F63B78u
#define STEP 8
#define WAYS_MAX 3
#define GIL_KEPT_BYTES 65536 /* a few microseconds: what others would wait for is no longer than what it takes to have it back */
#define STREAM_BYTES 256 /* of each of the three: longer ones run away from the prefetcher */
#define SHORT_BYTES 64   /* in what is left, or in a short batch */

typedef uint32_t state_table[4][256];

#define LANE_BYTES 64
#define FOLDED_BYTES (4 * LANE_BYTES) /* of a step */
#define FOLDED_FROM 1024              /* a shorter one is through sooner by the instruction */

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

static uint32_t by_tables(uint32_t state, bytes_t data, size_t size)
{
    for (; size >= STEP; size -= STEP, data += STEP) {
        uint64_t word;
        __builtin_memcpy(&word, data, 8);
        word ^= state;
        state = tables[7][word & 255] ^ tables[6][word >> 8 & 255] ^ tables[5][word >> 16 & 255] ^ tables[4][word >> 24 & 255]
            ^ tables[3][word >> 32 & 255] ^ tables[2][word >> 40 & 255] ^ tables[1][word >> 48 & 255] ^ tables[0][word >> 56];
    }
    return by_byte(state, data, size);
}

typedef uint32_t (*way_t)(uint32_t state, bytes_t data, size_t size);

static way_t chosen = by_tables, ways[WAYS_MAX] = {by_tables};

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

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t before, bytes_t data, size_t size)
{
    uint64_t state = before;
    state = in_streams(state, &data, &size, STREAM_BYTES, after_stream);
    state = in_streams(state, &data, &size, SHORT_BYTES, after_short);
    for (; size >= 8; size -= 8, data += 8)
        state = __builtin_ia32_crc32di(state, load_word(data));
    return by_byte((uint32_t)state, data, size);
}

static uint64_t over_step[2], over_lane[2]; /* what moves the halves of 128 bits on by a step, and by a lane */

/* x to the power of `bits` modulo the polynomial: both reflected, as the product of two reflected numbers has to have it. */
static uint64_t power(int bits)
{
    uint32_t state = 0x80000000u;
    while (bits--)
        state = state >> 1 ^ (state & 1 ? POLYNOMIAL : 0);
    return (uint64_t)state << 1;
}

static void make_powers(uint64_t powers[2], int bytes)
{
    powers[0] = power(8 * bytes + 32);
    powers[1] = power(8 * bytes - 32);
}

#define FOLDS __attribute__((target("sse4.2,avx512f,vpclmulqdq")))

FOLDS static inline __m512i folded(__m512i lane, __m512i powers, __m512i following)
{
    __m512i low = _mm512_clmulepi64_epi128(lane, powers, 0x00), high = _mm512_clmulepi64_epi128(lane, powers, 0x11);
    return _mm512_ternarylogic_epi64(low, high, following, 0x96); /* of all three, exclusive or */
}

FOLDS static uint32_t by_folding(uint32_t before, bytes_t data, size_t size)
{
    if (size < FOLDED_FROM)
        return by_instruction(before, data, size);
    __m512i lanes[4], step = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)over_step));
    for (int lane = 0; lane < 4; lane++)
        lanes[lane] = _mm512_loadu_si512(data + lane * LANE_BYTES);
    lanes[0] = _mm512_xor_si512(lanes[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)before)));
    for (size -= FOLDED_BYTES, data += FOLDED_BYTES; size >= FOLDED_BYTES; size -= FOLDED_BYTES, data += FOLDED_BYTES)
        for (int lane = 0; lane < 4; lane++)
            lanes[lane] = folded(lanes[lane], step, _mm512_loadu_si512(data + lane * LANE_BYTES));
    step = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)over_lane));
    for (int lane = 1; lane < 4; lane++)
        lanes[0] = folded(lanes[0], step, lanes[lane]);
    for (; size >= LANE_BYTES; size -= LANE_BYTES, data += LANE_BYTES)
        lanes[0] = folded(lanes[0], step, _mm512_loadu_si512(data));
    uint64_t words[LANE_BYTES / 8], state = 0;
    _mm512_storeu_si512(words, lanes[0]);
    for (int word = 0; word < LANE_BYTES / 8; word++)
        state = __builtin_ia32_crc32di(state, words[word]);
    for (; size >= 8; size -= 8, data += 8)
        state = __builtin_ia32_crc32di(state, load_word(data));
    return by_byte((uint32_t)state, data, size);
}
#endif

void make_crc32c_tables(void)
{
    fill_crc_tables(tables, STEP, POLYNOMIAL);
    make_state_table(after_stream, STREAM_BYTES);
    make_state_table(after_short, SHORT_BYTES);
#ifdef __x86_64__
    make_powers(over_step, FOLDED_BYTES);
    make_powers(over_lane, LANE_BYTES);
    if (__builtin_cpu_supports("sse4.2"))
        chosen = ways[1] = by_instruction;
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq"))
        chosen = ways[2] = by_folding;
#endif
}

uint32_t crc32c_of(bytes_t data, size_t size)
{
    return ~chosen(~0u, data, size);
}

/* crc32c(data[, value]) -> the checksum of the bytes after those that have `value`. Long data is not under the GIL. */
PyObject *crc32c(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    long long value = 0;
    Py_buffer data;
    if (count != 1 && !takes("crc32c", 2, count))
        return NULL;
    if ((count == 2 && take_numbers(args + 1, 1, &value)) || take_bytes(args[0], &data))
        return NULL;
    uint32_t state = ~(uint32_t)value;
    if (data.len < GIL_KEPT_BYTES)
        state = chosen(state, data.buf, data.len);
    else {
        Py_BEGIN_ALLOW_THREADS
        state = chosen(state, data.buf, data.len);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(~state);
}

/* crc32c_ways(data, value) -> the checksum by each way that this processor has, the tables first; for tests, which compare them. */
TAKES(crc32c_ways)
{
    long long value;
    Py_buffer data;
    if (!takes("crc32c_ways", 2, count) || take_numbers(args + 1, 1, &value) || take_bytes(args[0], &data))
        return NULL;
    PyObject *found = PyList_New(0);
    for (int way = 0; found != NULL && way < WAYS_MAX && ways[way]; way++) {
        PyObject *sum = PyLong_FromUnsignedLong(~ways[way](~(uint32_t)value, data.buf, data.len));
        if (sum == NULL || PyList_Append(found, sum))
            Py_CLEAR(found);
        Py_XDECREF(sum);
    }
    PyBuffer_Release(&data);
    return found;
}
