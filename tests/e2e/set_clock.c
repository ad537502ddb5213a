/* The date, shifted by the seconds in CLOCK_OFFSET_FILE (an int64); the monotonic clocks stay as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int (*real_gettime)(clockid_t, struct timespec *);
static volatile int64_t *offset_s;

__attribute__((constructor)) static void prepare(void) {
    const char *path = getenv("CLOCK_OFFSET_FILE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (fd >= 0) {
        void *map = mmap(NULL, sizeof *offset_s, PROT_READ, MAP_SHARED, fd, 0);
        offset_s = map == MAP_FAILED ? NULL : map;
        close(fd);
    }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_gettime) prepare();
    int failed = real_gettime(clock, now);
    if (!failed && offset_s && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *offset_s;
    return failed;
}
