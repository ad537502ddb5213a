/* The header of a batch: where its fields are, the bits of its attributes, and what reads and writes it. No other file here knows
   a position. Agrees with protocol/record_batch.py, which has the whole layout. */
#ifndef HEADRACE_BATCH_H
#define HEADRACE_BATCH_H

#include "kernel.h"

#define HEADER_BYTES 61
#define LOG_OVERHEAD_BYTES 12
#define ENTRY_BYTES_MIN 17 /* of a batch or an old entry whose length and format can be told */
#define MAGIC_V2 2

#define CODEC_MASK 0x07
#define LOG_APPEND_TIME_BIT 0x08
#define TRANSACTIONAL_BIT 0x10
#define CONTROL_BIT 0x20

enum {
    LENGTH_AT = 8, EPOCH_AT = 12, MAGIC_AT = 16, CRC_AT = 17, ATTRIBUTES_AT = 21, LAST_DELTA_AT = 23, BASE_MS_AT = 27, MAX_MS_AT = 35,
    PRODUCER_AT = 43, PRODUCER_EPOCH_AT = 51, SEQUENCE_AT = 53, COUNT_AT = 57,
};

typedef struct {
    int64_t base_offset, size; /* what the length says of the whole batch; it may be negative */
    int64_t base_ms, max_ms, producer_id;
    uint32_t crc;
    int32_t leader_epoch, last_delta, sequence, count;
    int16_t attributes, producer_epoch;
    uint8_t magic;
} batch_header_t;

static inline int16_t load_be16(bytes_t at)
{
    return (int16_t)(at[0] << 8 | at[1]);
}

static inline void store_be16(uint8_t *at, int16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Of any format; v0 and v1 have these three fields at the same places. ENTRY_BYTES_MIN bytes have to be there. */
static inline int64_t entry_offset(bytes_t at)
{
    return (int64_t)load_be64(at);
}

static inline int64_t entry_size(bytes_t at)
{
    return (int64_t)(int32_t)load_be32(at + LENGTH_AT) + LOG_OVERHEAD_BYTES;
}

static inline int entry_magic(bytes_t at)
{
    return at[MAGIC_AT];
}

/* HEADER_BYTES have to be there. What a caller does not use is not loaded. */
static inline batch_header_t read_batch_header(bytes_t at)
{
    return (batch_header_t){
        .base_offset = entry_offset(at), .size = entry_size(at), .base_ms = (int64_t)load_be64(at + BASE_MS_AT),
        .max_ms = (int64_t)load_be64(at + MAX_MS_AT), .producer_id = (int64_t)load_be64(at + PRODUCER_AT), .crc = load_be32(at + CRC_AT),
        .leader_epoch = (int32_t)load_be32(at + EPOCH_AT), .last_delta = (int32_t)load_be32(at + LAST_DELTA_AT),
        .sequence = (int32_t)load_be32(at + SEQUENCE_AT), .count = (int32_t)load_be32(at + COUNT_AT),
        .attributes = load_be16(at + ATTRIBUTES_AT), .producer_epoch = load_be16(at + PRODUCER_EPOCH_AT), .magic = at[MAGIC_AT],
    };
}

/* The checksum of a batch of `size` bytes. */
static inline uint32_t batch_crc(bytes_t at, int64_t size)
{
    return crc32c_of(at + ATTRIBUTES_AT, (size_t)(size - ATTRIBUTES_AT));
}

/* All fields, and the checksum of the whole batch, whose records are in place. */
static inline void write_batch_header(uint8_t *at, const batch_header_t *header)
{
    store_be64(at, (uint64_t)header->base_offset);
    store_be32(at + LENGTH_AT, (uint32_t)(header->size - LOG_OVERHEAD_BYTES));
    store_be32(at + EPOCH_AT, (uint32_t)header->leader_epoch);
    at[MAGIC_AT] = header->magic;
    store_be16(at + ATTRIBUTES_AT, header->attributes);
    store_be32(at + LAST_DELTA_AT, (uint32_t)header->last_delta);
    store_be64(at + BASE_MS_AT, (uint64_t)header->base_ms);
    store_be64(at + MAX_MS_AT, (uint64_t)header->max_ms);
    store_be64(at + PRODUCER_AT, (uint64_t)header->producer_id);
    store_be16(at + PRODUCER_EPOCH_AT, header->producer_epoch);
    store_be32(at + SEQUENCE_AT, (uint32_t)header->sequence);
    store_be32(at + COUNT_AT, (uint32_t)header->count);
    store_be32(at + CRC_AT, batch_crc(at, header->size));
}

#endif
