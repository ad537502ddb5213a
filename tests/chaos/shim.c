/* What a node's processes are shown of the machine: another date, names that a directory keeps, a slow disk. LD_PRELOAD, by shim.py.

   CHAOS_TABLE    a file of 4096 bytes, mapped: struct table
   CHAOS_JOURNAL  where renames and synced directories below CHAOS_ROOT are written down, a line each: R old<TAB>new, S directory */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 32, WORD = 200 };

struct table {
    struct { int64_t pid, offset_s; } clock[ROWS]; /* pid 0: an end; -1: every process */
    int64_t open_us, write_us;                     /* before each open, or write, of a file whose path has the word */
    char open_word[WORD], write_word[WORD];
};

static volatile struct table *table;
static int64_t self;
static int (*real_clock)(clockid_t, struct timespec *);

static void look_up(void) { self = getpid(); }

__attribute__((constructor)) static void begin(void) {
    real_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    pthread_atfork(NULL, NULL, look_up);
    look_up();
    const char *path = getenv("CHAOS_TABLE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *place = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (place != MAP_FAILED) table = place;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!real_clock) begin();
    int result = real_clock(clock, time);
    if (result || !table || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
    for (int i = 0; i < ROWS && table->clock[i].pid; i++)
        if (table->clock[i].pid == self || table->clock[i].pid == -1) {
            time->tv_sec += table->clock[i].offset_s;
            break;
        }
    return result;
}

static void wait_us(int64_t us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void before_open(const char *path) {
    if (table && table->open_us && path && strstr(path, (const char *)table->open_word)) wait_us(table->open_us);
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, 4095);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

static void before_write(int fd) {
    char path[4096];
    if (!table || !table->write_us) return;
    if (path_of(fd, path) && strstr(path, (const char *)table->write_word)) wait_us(table->write_us);
}

static void note(char what, const char *first, const char *second) {
    const char *journal = getenv("CHAOS_JOURNAL"), *root = getenv("CHAOS_ROOT");
    char line[9000];
    if (!journal || !root || strncmp(first, root, strlen(root))) return;
    int length = snprintf(line, sizeof line, "%c %s%s%s\n", what, first, second ? "\t" : "", second ? second : "");
    int fd = open(journal, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (write(fd, line, length) != length) abort();
    close(fd);
}

int rename(const char *old, const char *new) {
    static int (*real)(const char *, const char *);
    if (!real) real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    int result = real(old, new);
    if (!result) note('R', old, new);
    return result;
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    int result = real(fd);
    struct stat stat;
    char path[4096];
    if (!result && !fstat(fd, &stat) && S_ISDIR(stat.st_mode) && path_of(fd, path)) note('S', path, NULL);
    return result;
}

#define OPENS(NAME)                                                                        \
    int NAME(const char *path, int flags, ...) {                                           \
        static int (*real)(const char *, int, ...);                                        \
        if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #NAME);        \
        va_list more;                                                                      \
        va_start(more, flags);                                                             \
        int mode = va_arg(more, int);                                                      \
        va_end(more);                                                                      \
        before_open(path);                                                                 \
        return real(path, flags, mode);                                                    \
    }

#include <stdarg.h>
OPENS(open)
OPENS(open64)

#define WRITES(NAME, DECLARED, GIVEN)                                                      \
    ssize_t NAME DECLARED {                                                                \
        static ssize_t (*real) DECLARED;                                                   \
        if (!real) real = (ssize_t (*) DECLARED)dlsym(RTLD_NEXT, #NAME);                   \
        before_write(fd);                                                                  \
        return real GIVEN;                                                                 \
    }

struct iovec;
WRITES(write, (int fd, const void *data, size_t size), (fd, data, size))
WRITES(pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRITES(pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WRITES(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRITES(pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
WRITES(pwritev64, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at))
WRITES(pwritev2, (int fd, const struct iovec *parts, int count, off_t at, int flags), (fd, parts, count, at, flags))
WRITES(pwritev64v2, (int fd, const struct iovec *parts, int count, off64_t at, int flags), (fd, parts, count, at, flags))
