/* Whether a compressed batch is built as clients build it: what its codec's frame says of itself, without decompressing.

   Stands for protocol/codec_frames.py, which has the formats; it agrees with it exactly. */
#include "batch.h"
#include "kernel.h"
#include "record.h"

#define ELEMENTS_MAX 64
#define WINDOW_BYTES_MAX (1 << 27)
#define GZIP_RATIO_MAX 1032
#define LZ4_RATIO_MAX 255
#define SNAPPY_RATIO_MAX 22
#define SNAPPY_FREE_BYTES 64
#define XERIAL_BLOCK_BYTES_MIN 1024
#define XERIAL_HEADER_BYTES 16
#define ZSTD_BLOCK_BYTES_MAX (128 * 1024)

static inline uint64_t load_le(bytes_t at, int bytes)
{
    uint64_t value = 0;
    for (int index = 0; index < bytes; index++)
        value |= (uint64_t)at[index] << 8 * index;
    return value;
}

static int is_deflate(bytes_t at, int64_t end)
{
    uint64_t head = load_le(at + 10, 8), kind = head >> 1 & 3;
    if (kind == 0)
        return ((head >> 8 ^ head >> 24) & 0xFFFF) == 0xFFFF && 15 + (int64_t)(head >> 8 & 0xFFFF) <= end;
    if (kind == 1)
        return 1;
    if (kind == 3 || (head >> 3 & 31) > 29 || (head >> 8 & 31) > 29)
        return 0;
    uint64_t lengths = load_le(at + 12, 8) >> 1; /* 63 bits from bit 17 on, three each: 19 of them are 57 */
    int codes = (int)(head >> 13 & 15) + 4, sum = 0;
    for (int index = 0; index < codes && index < 19; index++, lengths >>= 3)
        sum += lengths & 7 ? 128 >> (lengths & 7) : 0;
    return sum == 128;
}

static int is_gzip(bytes_t at, int64_t size, int64_t least, int64_t most)
{
    if (size < 20 || load_le(at, 4) != 0x00088B1F || !is_deflate(at, size - 8))
        return 0;
    int64_t announced = (int64_t)load_le(at + size - 4, 4);
    return least <= announced && announced <= most && announced <= GZIP_RATIO_MAX * size;
}

/* What a raw block says comes out of it, -1 where its first elements say otherwise. */
static int64_t announced_by(bytes_t at, bytes_t end, int elements_max)
{
    bytes_t begin = at;
    int64_t announced = 0, made = 0;
    for (int shift = 0;; shift += 7) {
        if (at == end || shift > 28)
            return -1;
        announced |= (int64_t)(*at & 127) << shift;
        if (*at++ < 128)
            break;
    }
    if (announced > UINT32_MAX || announced > (end - begin) * SNAPPY_RATIO_MAX + SNAPPY_FREE_BYTES)
        return -1;
    for (int element = 0; element < elements_max; element++) {
        if (at == end || made == announced)
            return at == end && made == announced ? announced : -1;
        int tag = *at++, kind = tag & 3, more;
        int64_t length = (tag >> 2) + 1;
        if (kind == 0) {
            if (length > 60) {
                more = (int)length - 60;
                if (more > end - at)
                    return -1;
                length = (int64_t)load_le(at, more) + 1;
                at += more;
            }
            if (length > end - at)
                return -1;
            at += length;
        } else {
            more = kind == 3 ? 4 : kind;
            if (more > end - at)
                return -1;
            int64_t back;
            if (kind == 1) {
                length = (tag >> 2 & 7) + 4;
                back = *at | tag >> 5 << 8;
            } else {
                back = (int64_t)(kind == 2 ? load_le(at, 2) : load_le(at, 4));
            }
            at += more;
            if (back == 0 || back > made)
                return -1;
        }
        made += length;
        if (made > announced)
            return -1;
    }
    return announced;
}

static int is_snappy(bytes_t at, int64_t size, int64_t least, int64_t most, int64_t members_max)
{
    bytes_t end = at + size;
    int64_t total = 0, announced;
    if (size < 8 || load_be64(at) != 0x82534E4150505900) {
        announced = announced_by(at, end, ELEMENTS_MAX);
        return least <= announced && announced <= most;
    }
    if (size < XERIAL_HEADER_BYTES)
        return 0;
    at += XERIAL_HEADER_BYTES;
    for (int64_t blocks = 1; at < end; blocks++) {
        if (end - at < 4 || blocks > members_max + total / XERIAL_BLOCK_BYTES_MIN)
            return 0;
        int64_t length = load_be32(at);
        at += 4;
        if (length > end - at || (announced = announced_by(at, at + length, blocks == 1 ? ELEMENTS_MAX : 0)) < 0)
            return 0;
        total += announced;
        at += length;
    }
    return least <= total && total <= most;
}

static inline uint32_t rotated(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

/* xxHash-32 of fewer than 16 bytes. */
static uint32_t xxh32_short(bytes_t at, int size)
{
    uint32_t value = 374761393u + (uint32_t)size;
    for (; size >= 4; size -= 4, at += 4)
        value = rotated(value + (uint32_t)load_le(at, 4) * 3266489917u, 17) * 668265263u;
    for (; size > 0; size--, at++)
        value = rotated(value + *at * 374761393u, 11) * 2654435761u;
    value = (value ^ value >> 15) * 2246822519u;
    value = (value ^ value >> 13) * 3266489917u;
    return value ^ value >> 16;
}

static int is_lz4(bytes_t at, int64_t size, int64_t least, int64_t most)
{
    if (size < 11 || load_le(at, 4) != 0x184D2204)
        return 0;
    int flags = at[4], largest = at[5];
    if ((flags & 0xE3) != 0x60 || largest & 0x8F || largest >> 4 < 4)
        return 0;
    int64_t position = 6;
    if (flags & 0x08) {
        if (size < position + 9)
            return 0;
        uint64_t announced = load_le(at + position, 8);
        if (announced > (uint64_t)most || (int64_t)announced < least)
            return 0;
        position += 8;
    }
    if ((xxh32_short(at + 4, (int)position - 4) >> 8 & 0xFF) != at[position])
        return 0;
    position++;
    int64_t block_bytes_max = (int64_t)1 << (8 + 2 * (largest >> 4)), check_bytes = flags & 0x10 ? 4 : 0, room = 0;
    for (;;) {
        if (size - position < 4)
            return 0;
        uint32_t word = (uint32_t)load_le(at + position, 4);
        position += 4;
        if (!word)
            break;
        int64_t length = word & 0x7FFFFFFF;
        if (length > block_bytes_max || length + check_bytes > size - position)
            return 0;
        position += length + check_bytes;
        int64_t made = word >> 31 ? length : LZ4_RATIO_MAX * length;
        room += made < block_bytes_max ? made : block_bytes_max;
    }
    return position + (flags & 0x04 ? 4 : 0) == size && least <= room && room <= most;
}

static int is_zstd(bytes_t at, int64_t size, int64_t least, int64_t most)
{
    static const int size_bytes_of[4] = {0, 2, 4, 8};
    if (size < 9 || load_le(at, 4) != 0xFD2FB528)
        return 0;
    int descriptor = at[4], is_single = descriptor >> 5 & 1, is_last = 0;
    if (descriptor & 11)
        return 0;
    int64_t position = 5, room = 0;
    if (!is_single) {
        int64_t window = (int64_t)1 << (10 + (at[5] >> 3));
        if (window + (window >> 3) * (at[5] & 7) > WINDOW_BYTES_MAX)
            return 0;
        position = 6;
    }
    int size_bytes = size_bytes_of[descriptor >> 6];
    if (!size_bytes)
        size_bytes = is_single;
    if (size - position < size_bytes + 3)
        return 0;
    uint64_t announced = load_le(at + position, size_bytes);
    if (size_bytes == 2)
        announced += 256;
    position += size_bytes;
    if (size_bytes && (announced > (uint64_t)most || (int64_t)announced < least || (is_single && announced > WINDOW_BYTES_MAX)))
        return 0;
    while (!is_last) {
        if (size - position < 3)
            return 0;
        uint32_t head = (uint32_t)load_le(at + position, 3);
        position += 3;
        is_last = head & 1;
        int kind = head >> 1 & 3;
        int64_t length = head >> 3, taken = kind == 1 ? 1 : length;
        if (kind == 3 || length > ZSTD_BLOCK_BYTES_MAX || taken > size - position)
            return 0;
        position += taken;
        room += kind == 2 ? ZSTD_BLOCK_BYTES_MAX : length;
    }
    if (position + (descriptor & 4 ? 4 : 0) != size)
        return 0;
    return size_bytes ? room >= (int64_t)announced : least <= room && room <= most;
}

/* usual_frame(batch, most, members_max) -> whether nothing strange is seen of a compressed batch of v2, or its header is one that
   the log's owner refuses.

   most          bytes that may come out of it
   members_max   of a xerial stream, besides one for each XERIAL_BLOCK_BYTES_MIN of what comes out */
TAKES(usual_frame)
{
    long long numbers[2];
    Py_buffer batch;
    int is_usual = 1;
    if (!takes("usual_frame", 3, count) || take_numbers(args + 1, 2, numbers) || take_bytes(args[0], &batch))
        return NULL;
    bytes_t at = batch.buf;
    if (batch.len >= HEADER_BYTES) {
        batch_header_t header = read_batch_header(at);
        int64_t records = header.count, size = batch.len - HEADER_BYTES;
        int64_t least = records * RECORD_BYTES_MIN, most = numbers[0];
        bytes_t body = at + HEADER_BYTES;
        if (records > 0) {
            switch (header.attributes & CODEC_MASK) {
            case 1: is_usual = is_gzip(body, size, least, most); break;
            case 2: is_usual = is_snappy(body, size, least, most, numbers[1]); break;
            case 3: is_usual = is_lz4(body, size, least, most); break;
            case 4: is_usual = is_zstd(body, size, least, most); break;
            }
        }
    }
    PyBuffer_Release(&batch);
    return PyBool_FromLong(is_usual);
}
