/* read_wall_ns and read_monotonic_ns of headrace/clock.py, in C; these clocks can't fail */
#ifndef HEADRACE_CLOCK_H
#define HEADRACE_CLOCK_H

#include <CPy.h>
#include <stdint.h>
#include <time.h>

static inline CPyTagged hr_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (CPyTagged)(((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) << 1);
}
static inline CPyTagged hr_wall_ns(void) { return hr_clock_ns(CLOCK_REALTIME); }
static inline CPyTagged hr_monotonic_ns(void) { return hr_clock_ns(CLOCK_MONOTONIC); }

#endif
