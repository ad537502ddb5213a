/* record_batch.crc_from in C: a short stretch by the processor's instruction, a long one by headrace/checksum.py */
#ifndef HEADRACE_CHECKSUM_H
#define HEADRACE_CHECKSUM_H

#include "memory.h"
#include <nmmintrin.h>

#define HR_SHORT_CRC_BYTES 1024  /* above, what keeps several sums going at once is faster */

__attribute__((target("sse4.2"))) static inline uint32_t hr_short_crc(const unsigned char *place, Py_ssize_t size)
{
    uint64_t crc = 0xffffffff;
    for (; size >= 8; size -= 8, place += 8) {
        uint64_t word;
        memcpy(&word, place, sizeof word);
        crc = _mm_crc32_u64(crc, word);
    }
    for (; size > 0; size--, place++) crc = _mm_crc32_u8((uint32_t)crc, *place);
    return ~(uint32_t)crc;
}

static inline CPyTagged hr_crc32c_from(PyObject *buffer, CPyTagged position)
{
    Py_ssize_t has;
    unsigned char *start = hr_bytes(buffer, &has, 0);
    unsigned char *place = start == NULL ? NULL : hr_place(buffer, position, 0, 0);
    if (likely(place != NULL && start + has - place <= HR_SHORT_CRC_BYTES && __builtin_cpu_supports("sse4.2")))
        return (CPyTagged)hr_short_crc(place, start + has - place) << 1;
    static PyObject *crc32c = NULL;
    if (crc32c == NULL) {
        PyObject *module = PyImport_ImportModule("headrace.checksum");
        crc32c = module == NULL ? NULL : PyObject_GetAttrString(module, "crc32c");
        Py_XDECREF(module);
        if (crc32c == NULL) return CPY_INT_TAG;
    }
    PyObject *rest = hr_view(buffer, position, (CPyTagged)PyObject_Size(buffer) << 1);
    PyObject *sum = rest == NULL ? NULL : PyObject_CallOneArg(crc32c, rest);
    Py_XDECREF(rest);
    return sum == NULL ? CPY_INT_TAG : CPyTagged_StealFromObject(sum);
}

#endif
