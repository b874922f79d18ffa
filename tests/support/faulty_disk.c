/* A disk that fails, dawdles, ends the process, or forgets what was not synced.

   Loaded into the service by LD_PRELOAD. It stands before the calls with which SQLite writes the files
   bandits.db and bandits.db-wal. A page of memory shared with the test says what is to go wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, READ = 4 };
enum { NOTHING, FAIL, SLEEP, KILL, TEAR, HOLD };

static struct {
    int64_t calls;   /* which calls are meant: a sum of WRITE, SYNC, READ */
    int64_t after;   /* how many of them still go well */
    int64_t times;   /* how many are met then */
    int64_t action;  /* what happens to them */
    int64_t number;  /* FAIL: the error; SLEEP: microseconds */
    int64_t met;     /* how many were met */
    int64_t seen[8]; /* how many calls there were, by kind */
} *plan;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int diary = -1; /* where writes and syncs are noted, if that is wanted */

__attribute__((constructor)) static void begin(void)
{
    const char *page = getenv("FAULTY_DISK"), *path = getenv("FAULTY_DISK_DIARY");
    int file = page ? open(page, O_RDWR) : -1;
    if (file >= 0) {
        void *found = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        plan = found == MAP_FAILED ? NULL : found;
        close(file);
    }
    if (path)
        diary = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* 'd' for the database, 'w' for its write-ahead log, 0 for all other files. */
static char kind_of_name(const char *name)
{
    const char *last = strrchr(name, '/');
    if (last && !strcmp(last, "/bandits.db"))
        return 'd';
    return last && !strcmp(last, "/bandits.db-wal") ? 'w' : 0;
}

static char kind_of(int file)
{
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length < 0)
        return 0;
    name[length] = 0;
    return kind_of_name(name);
}

/* What is to happen to this call. */
static int64_t fate(int file, int64_t call)
{
    int64_t action = NOTHING;
    if (!plan || !kind_of(file))
        return NOTHING;
    pthread_mutex_lock(&lock);
    plan->seen[call]++;
    if ((plan->calls & call) && plan->times) {
        if (plan->after > 0) {
            plan->after--;
        } else {
            plan->times--;
            plan->met++;
            action = plan->action;
        }
    }
    pthread_mutex_unlock(&lock);
    if (action == SLEEP)
        usleep(plan->number);
    if (action == KILL)
        kill(getpid(), SIGKILL);
    while (action == HOLD && *(volatile int64_t *)&plan->action == HOLD)
        usleep(1000);
    return action;
}

/* Note what a write is about to replace, so that the test can take it back. */
static void note(char what, int file, const void *new, size_t length, off_t place)
{
    char kind = kind_of(file);
    if (diary < 0 || !kind)
        return;
    struct stat state;
    fstat(file, &state);
    char *old = calloc(1, length + 1);
    if (what == 'W' && place < state.st_size) {
        ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");
        (void)!real(file, old, length, place);
    }
    int64_t numbers[3] = {length, place, state.st_size};
    char kinds[8] = {what, kind};
    struct iovec parts[] = {
        {kinds, sizeof kinds}, {numbers, sizeof numbers}, {old, length}, {(void *)new, length}};
    pthread_mutex_lock(&lock);
    (void)!writev(diary, parts, 4);
    pthread_mutex_unlock(&lock);
    free(old);
}

static ssize_t written(const char *name, int file, const void *from, size_t length, off_t place)
{
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, name);
    int64_t action = fate(file, WRITE);
    if (action == FAIL) {
        errno = plan->number;
        return -1;
    }
    if (action == TEAR) {
        note('W', file, from, length / 2, place);
        real(file, from, length / 2, place);
        kill(getpid(), SIGKILL);
    }
    note('W', file, from, length, place);
    return real(file, from, length, place);
}

ssize_t pwrite(int file, const void *from, size_t length, off_t place)
{
    return written("pwrite", file, from, length, place);
}

ssize_t pwrite64(int file, const void *from, size_t length, off_t place)
{
    return written("pwrite64", file, from, length, place);
}

static int synced(const char *name, int file)
{
    int (*real)(int) = dlsym(RTLD_NEXT, name);
    if (fate(file, SYNC) == FAIL) {
        note('F', file, "", 0, 0);
        errno = plan->number;
        return -1;
    }
    int result = real(file);
    note('S', file, "", 0, 0);
    return result;
}

int fsync(int file) { return synced("fsync", file); }

int fdatasync(int file) { return synced("fdatasync", file); }

int unlink(const char *name)
{
    int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
    char kind = kind_of_name(name);
    if (diary >= 0 && kind) {
        char entry[32] = {'U', kind};
        pthread_mutex_lock(&lock);
        (void)!write(diary, entry, sizeof entry);
        pthread_mutex_unlock(&lock);
    }
    return real(name);
}

static ssize_t got(const char *name, int file, void *to, size_t length, off_t place)
{
    ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, name);
    if (fate(file, READ) == FAIL) {
        errno = plan->number;
        return -1;
    }
    return real(file, to, length, place);
}

ssize_t pread(int file, void *to, size_t length, off_t place)
{
    return got("pread", file, to, length, place);
}

ssize_t pread64(int file, void *to, size_t length, off_t place)
{
    return got("pread64", file, to, length, place);
}
