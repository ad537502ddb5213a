/* The hash of keys that chooses a partition: 32-bit MurmurHash2 with Kafka's seed, words in little endian.

   Stands for client/partitioner.py. Source: Kafka `Utils.murmur2`, `BuiltInPartitioner.partitionForKey`. */
#include "kernel.h"

#define SEED 0x9747B28Cu
#define MULTIPLIER 0x5BD1E995u

uint32_t murmur2_of(bytes_t at, size_t size)
{
    uint32_t hash = SEED ^ (uint32_t)size, rest = 0;
    for (; size >= 4; size -= 4, at += 4) {
        uint32_t word;
        __builtin_memcpy(&word, at, 4);
        word *= MULTIPLIER;
        word = (word ^ word >> 24) * MULTIPLIER;
        hash = hash * MULTIPLIER ^ word;
    }
    for (size_t index = 0; index < size; index++)
        rest |= (uint32_t)at[index] << (8 * index);
    if (size)
        hash = (hash ^ rest) * MULTIPLIER;
    hash = (hash ^ hash >> 13) * MULTIPLIER;
    return hash ^ hash >> 15;
}

static int hash_key(PyObject *key, uint32_t *hash)
{
    Py_buffer buffer;
    if (PyBytes_CheckExact(key)) {
        *hash = murmur2_of((bytes_t)PyBytes_AS_STRING(key), (size_t)PyBytes_GET_SIZE(key));
        return 0;
    }
    if (take_bytes(key, &buffer))
        return -1;
    *hash = murmur2_of(buffer.buf, (size_t)buffer.len);
    PyBuffer_Release(&buffer);
    return 0;
}

/* murmur2(key) -> the hash, without a sign. */
TAKES(murmur2)
{
    uint32_t hash;
    return takes("murmur2", 1, count) && !hash_key(args[0], &hash) ? PyLong_FromUnsignedLong(hash) : NULL;
}

/* partition_of(key, count) -> the partition of a key among `count`, 1 or more. */
TAKES(partition_of)
{
    uint32_t hash;
    long long partitions;
    if (!takes("partition_of", 2, count) || take_numbers(args + 1, 1, &partitions) || hash_key(args[0], &hash))
        return NULL;
    if (partitions < 1) {
        PyErr_Format(PyExc_ValueError, "count: %lld is not a number of partitions", partitions);
        return NULL;
    }
    return PyLong_FromLongLong((long long)(hash & 0x7FFFFFFF) % partitions);
}
