/* CRC-32, the checksum of messages of v0 and v1 (zlib's): 16 bytes a step from tables.

   Source: Kounavis and Berry, "A systematic approach to building high performance, software-based, CRC generators". */
#include "kernel.h"

#define POLYNOMIAL 0xEDB88320u
#define STEP 16

static uint32_t tables[STEP][256];

void fill_crc_tables(uint32_t (*filled)[256], int steps, uint32_t polynomial)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (polynomial & -(value & 1));
        filled[0][byte] = value;
    }
    for (int step = 1; step < steps; step++)
        for (int byte = 0; byte < 256; byte++)
            filled[step][byte] = filled[step - 1][byte] >> 8 ^ filled[0][filled[step - 1][byte] & 255];
}

void make_crc_tables(void)
{
    fill_crc_tables(tables, STEP, POLYNOMIAL);
}

uint32_t crc32_of(bytes_t data, size_t size)
{
    uint32_t crc = ~0u;
    for (; size >= STEP; size -= STEP, data += STEP) {
        uint64_t first, second;
        __builtin_memcpy(&first, data, 8);
        __builtin_memcpy(&second, data + 8, 8);
        first ^= crc;
        crc = tables[15][first & 255] ^ tables[14][first >> 8 & 255] ^ tables[13][first >> 16 & 255] ^ tables[12][first >> 24 & 255]
            ^ tables[11][first >> 32 & 255] ^ tables[10][first >> 40 & 255] ^ tables[9][first >> 48 & 255] ^ tables[8][first >> 56]
            ^ tables[7][second & 255] ^ tables[6][second >> 8 & 255] ^ tables[5][second >> 16 & 255] ^ tables[4][second >> 24 & 255]
            ^ tables[3][second >> 32 & 255] ^ tables[2][second >> 40 & 255] ^ tables[1][second >> 48 & 255] ^ tables[0][second >> 56];
    }
    while (size--)
        crc = crc >> 8 ^ tables[0][(crc ^ *data++) & 255];
    return ~crc;
}
