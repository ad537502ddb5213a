/* Where the fields of a batch's header are: `record_batch.py` has the whole of it. */
#ifndef HEADRACE_BATCH_H
#define HEADRACE_BATCH_H

#define HEADER_BYTES 61
#define LOG_OVERHEAD_BYTES 12
#define ENTRY_BYTES_MIN 17 /* of a batch or an old entry whose length and format can be told */

#define LENGTH_AT 8
#define EPOCH_AT 12
#define MAGIC_AT 16
#define CRC_AT 17
#define ATTRIBUTES_AT 21 /* where what the checksum covers begins */
#define LAST_DELTA_AT 23
#define BASE_MS_AT 27
#define MAX_MS_AT 35
#define PRODUCER_AT 43
#define PRODUCER_EPOCH_AT 51
#define SEQUENCE_AT 53
#define COUNT_AT 57

#define CODEC_BITS 7
#define APPEND_TIME_BIT 0x08
#define TRANSACTIONAL_BIT 0x10
#define CONTROL_BIT 0x20

#endif
