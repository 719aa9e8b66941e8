/* A library that is preloaded to make the k-th write to a folder fail, or to be the last one.
 *
 * Counted are the calls that write, sync, make, rename, link, cut or remove a file below the
 * folder. At the k-th of them, by mode:
 *   1  it fails with EIO, once
 *   2  it and all that follow fail with ENOSPC
 *   3  the process is killed before it
 *   4  half of it is written (or all of it is done) and the process is killed
 *   5  the process is killed after it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { NONE, FAIL, FULL, BEFORE, TORN, AFTER };

static char root[PATH_MAX];
static size_t root_length;
static long wanted;
static int mode;
static atomic_long calls;

void rumor_fault_arm(const char *folder, long at, int how)
{
    root_length = 0;
    calls = 0;
    wanted = at;
    mode = how;
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
}

long rumor_fault_calls(void) { return calls; }

static int inside(const char *path)
{
    return root_length && strncmp(path, root, root_length) == 0;
}

static int fd_inside(int fd)
{
    char link[64], path[PATH_MAX];
    if (!root_length)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return inside(path);
}

static int path_inside(int folder, const char *path)
{
    char whole[PATH_MAX];
    if (!root_length)
        return 0;
    if (path[0] == '/')
        return inside(path);
    if (folder != AT_FDCWD)
        return fd_inside(folder);
    return getcwd(whole, sizeof whole) != NULL && inside(whole);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* What is to happen at this call: an error number, or 0; kills by itself where it is before. */
static int fate(int *last)
{
    long number = atomic_fetch_add(&calls, 1) + 1;
    *last = NONE;
    if (mode == FULL && wanted && number >= wanted)
        return ENOSPC;
    if (number != wanted)
        return 0;
    if (mode == BEFORE)
        die();
    if (mode == FAIL)
        return EIO;
    *last = mode;
    return 0;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* A call that only passes through: `here` says whether it counts. */
#define GUARDED(here, call) \
    int last; \
    if (!(here)) \
        return call; \
    int error = fate(&last); \
    if (error) { \
        errno = error; \
        return -1; \
    } \
    __typeof__(call) result = call; \
    if (last != NONE) \
        die(); \
    return result

/* A call that writes `size` bytes: it can be torn. */
#define WRITTEN(whole, half) \
    int last; \
    if (!fd_inside(fd)) \
        return whole; \
    int error = fate(&last); \
    if (error) { \
        errno = error; \
        return -1; \
    } \
    ssize_t result = last == TORN ? (half) : (whole); \
    if (last != NONE) \
        die(); \
    return result

ssize_t write(int fd, const void *data, size_t size)
{
    REAL(write);
    WRITTEN(real(fd, data, size), real(fd, data, size / 2));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    REAL(pwrite);
    WRITTEN(real(fd, data, size, at), real(fd, data, size / 2, at));
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    REAL(pwrite64);
    WRITTEN(real(fd, data, size, at), real(fd, data, size / 2, at));
}

int fsync(int fd) { REAL(fsync); GUARDED(fd_inside(fd), real(fd)); }
int fdatasync(int fd) { REAL(fdatasync); GUARDED(fd_inside(fd), real(fd)); }
int ftruncate(int fd, off_t size) { REAL(ftruncate); GUARDED(fd_inside(fd), real(fd, size)); }
int ftruncate64(int fd, off64_t size) { REAL(ftruncate64); GUARDED(fd_inside(fd), real(fd, size)); }

int rename(const char *from, const char *to)
{
    REAL(rename);
    GUARDED(path_inside(AT_FDCWD, to), real(from, to));
}

int renameat(int a, const char *from, int b, const char *to)
{
    REAL(renameat);
    GUARDED(path_inside(b, to), real(a, from, b, to));
}

int link(const char *from, const char *to)
{
    REAL(link);
    GUARDED(path_inside(AT_FDCWD, to), real(from, to));
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
    REAL(linkat);
    GUARDED(path_inside(b, to), real(a, from, b, to, flags));
}

int unlink(const char *path) { REAL(unlink); GUARDED(path_inside(AT_FDCWD, path), real(path)); }
int rmdir(const char *path) { REAL(rmdir); GUARDED(path_inside(AT_FDCWD, path), real(path)); }

int unlinkat(int folder, const char *path, int flags)
{
    REAL(unlinkat);
    GUARDED(path_inside(folder, path), real(folder, path, flags));
}

int mkdir(const char *path, mode_t bits)
{
    REAL(mkdir);
    GUARDED(path_inside(AT_FDCWD, path), real(path, bits));
}

/* Opening counts where it may make a file. */
#define OPENED(function, folder, call) \
    REAL(function); \
    mode_t bits = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        bits = va_arg(rest, mode_t); \
        va_end(rest); \
    } \
    GUARDED((flags & O_CREAT) && path_inside(folder, path) && access(path, F_OK) != 0, call)

int open(const char *path, int flags, ...) { OPENED(open, AT_FDCWD, real(path, flags, bits)); }
int open64(const char *path, int flags, ...) { OPENED(open64, AT_FDCWD, real(path, flags, bits)); }

int openat(int folder, const char *path, int flags, ...)
{
    OPENED(openat, folder, real(folder, path, flags, bits));
}

int openat64(int folder, const char *path, int flags, ...)
{
    OPENED(openat64, folder, real(folder, path, flags, bits));
}
