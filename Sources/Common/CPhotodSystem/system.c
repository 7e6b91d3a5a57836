#define _GNU_SOURCE
#include "CPhotodSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

int photod_accept(int listener, struct sockaddr *address, socklen_t *length) {
  return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static int control(int epoll, int operation, int descriptor, uint32_t events, uint64_t identifier) {
  struct epoll_event event = {.events = events, .data = {.u64 = identifier}};
  return epoll_ctl(epoll, operation, descriptor, &event);
}

int photod_epoll_add(int epoll, int descriptor, uint32_t events, uint64_t identifier) {
  return control(epoll, EPOLL_CTL_ADD, descriptor, events, identifier);
}

int photod_epoll_modify(int epoll, int descriptor, uint32_t events, uint64_t identifier) {
  return control(epoll, EPOLL_CTL_MOD, descriptor, events, identifier);
}

int photod_epoll_remove(int epoll, int descriptor) { return control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0); }

uint64_t photod_epoll_identifier(const struct epoll_event *event) { return event->data.u64; }

int photod_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void photod_eventfd_signal(int descriptor) {
  // It fails only if the counter is full. Nothing reads it, and 2^64 signals take centuries.
  (void)eventfd_write(descriptor, 1);
}

static int open_resolved(int directory, const char *path, bool directory_wanted, uint64_t resolve) {
  struct open_how how = {
      .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (directory_wanted ? O_DIRECTORY : 0),
      .resolve = resolve,
  };
  // EAGAIN: a rename raced with the check of "..", and the call should be repeated (openat2(2)). But another machine's
  // lease on the file gives the same error and may last, so the number of attempts is limited.
  int descriptor = -1;
  for (int attempt = 0; attempt < 8; attempt++) {
    descriptor = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (descriptor >= 0 || (errno != EINTR && errno != EAGAIN)) break;
  }
  return descriptor;
}

int photod_open_beneath(int directory, const char *path, bool directory_wanted) {
  int descriptor = open_resolved(directory, path, directory_wanted, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
  if (descriptor >= 0 || errno != EXDEV) return descriptor;
  // RESOLVE_BENEATH refuses every absolute link, also one that points into the directory. If the resolved path lies
  // beneath the directory, it is opened again from there, without links, so a race can only make it fail.
  char link[64], root[PATH_MAX], whole[PATH_MAX * 2], resolved[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  ssize_t length = readlink(link, root, sizeof root - 1);
  if (length <= 0) return -1;
  root[length] = 0;
  snprintf(whole, sizeof whole, "%s/%s", root, path);
  if (!realpath(whole, resolved)) return -1;
  if (strncmp(resolved, root, (size_t)length) != 0 || resolved[length] != '/') {
    errno = EXDEV;
    return -1;
  }
  return open_resolved(directory, resolved + length + 1, directory_wanted, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

static int64_t nanoseconds(struct timespec time) {
  int64_t seconds, whole;
  if (__builtin_mul_overflow((int64_t)time.tv_sec, (int64_t)1000000000, &seconds) ||
      __builtin_add_overflow(seconds, (int64_t)time.tv_nsec, &whole))
    return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
  return whole;
}

static void describe(const struct stat *s, photod_file_status *status) {
  status->device = s->st_dev;
  status->inode = s->st_ino;
  status->size = s->st_size;
  status->modified = nanoseconds(s->st_mtim);
  status->changed = nanoseconds(s->st_ctim);
  status->is_regular_file = S_ISREG(s->st_mode);
  status->is_symbolic_link = S_ISLNK(s->st_mode);
}

int photod_file_status_of(int descriptor, photod_file_status *status) {
  struct stat s;
  if (fstat(descriptor, &s) != 0) return -1;
  describe(&s, status);
  return 0;
}

int photod_file_status_at(int directory, const char *name, photod_file_status *status) {
  struct stat s;
  if (fstatat(directory, name, &s, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  describe(&s, status);
  return 0;
}

int photod_file_system_of(int descriptor, photod_file_system_status *status) {
  struct statfs s;
  int result;
  do {
    result = fstatfs(descriptor, &s);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return -1;
  status->identifier = 0;
  memcpy(&status->identifier, &s.f_fsid, sizeof s.f_fsid < 8 ? sizeof s.f_fsid : 8);
  status->type = s.f_type;
  return 0;
}

int photod_mount_of(int descriptor, uint64_t *mount) {
  *mount = 0;
  struct statx s;
  if (statx(descriptor, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &s) != 0) return errno == ENOSYS ? 0 : -1;
  if (s.stx_mask & STATX_MNT_ID) *mount = s.stx_mnt_id;
  return 0;
}

int photod_rename_noreplace(int from, const char *name, int to, const char *new_name) {
  if (renameat2(from, name, to, new_name, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (linkat(from, name, to, new_name, 0) == 0) return unlinkat(from, name, 0);
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return -1;
  struct stat s;
  if (fstatat(to, new_name, &s, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return -1;
  }
  if (errno != ENOENT) return -1;
  return renameat(from, name, to, new_name);
}

int photod_open_unnamed(int directory) { return openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644); }

int photod_link_unnamed(int descriptor, int directory, const char *name) {
  // Through /proc, because AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH (open(2), O_TMPFILE).
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW);
}

int photod_create_file(int directory, const char *name) {
  return openat(directory, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0644);
}

int photod_open_subdirectory(int directory, const char *name) {
  return openat(directory, name, O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);
}

int photod_free_space(int descriptor, photod_space_status *status) {
  struct statvfs s;
  int result;
  do {
    result = fstatvfs(descriptor, &s);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return -1;
  if (__builtin_mul_overflow((int64_t)s.f_bavail, (int64_t)s.f_frsize, &status->available_bytes))
    status->available_bytes = INT64_MAX;
  status->is_read_only = (s.f_flag & ST_RDONLY) != 0;
  return 0;
}

void photod_configure_malloc(void) {
  // malloc_trim(3) does not return the end of any arena but the first: another one would keep up to 64 MB forever.
  mallopt(M_ARENA_MAX, 1);
  // The largest threshold that glibc accepts. Larger blocks go back to the kernel as soon as they are freed; smaller
  // ones stay for the next render, until photod_release_memory.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

void photod_release_memory(void) { malloc_trim(0); }

size_t photod_allocated_bytes(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

int photod_flush_output(void) {
  bool has_failed = ferror(stdout);
  if (fflush(stdout) != 0) return -1;
  if (has_failed) errno = EIO;
  return has_failed ? -1 : 0;
}

int photod_random(void *bytes, size_t count) {
  while (count > 0) {
    ssize_t filled = getrandom(bytes, count, 0);
    if (filled < 0 && errno != EINTR) return -1;
    if (filled > 0) {
      bytes = (char *)bytes + filled;
      count -= (size_t)filled;
    }
  }
  return 0;
}

void photod_set_thread_niceness(int niceness) {
  static _Thread_local int already = 0;
  if (already >= niceness) return;
  // A failure does no harm: the thread then keeps the default priority.
  setpriority(PRIO_PROCESS, (id_t)gettid(), niceness);
  already = niceness;
}

int photod_usable_cores(void) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  int count = CPU_COUNT(&cores);
  return count > 0 ? count : 1;
}

int photod_inotify_open(void) { return inotify_init1(IN_NONBLOCK | IN_CLOEXEC); }

int photod_inotify_watch(int inotify, int folder, uint32_t mask) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  return inotify_add_watch(inotify, link, mask);
}

int photod_inotify_unwatch(int inotify, int watch) { return inotify_rm_watch(inotify, watch); }

int photod_has_writers(int descriptor) {
  // If a process opens the file for writing while the lease is held, it waits for the end of the lease, and the kernel
  // sends us a signal. SIGURG is ignored by default; the default action of SIGIO would end this process.
  if (fcntl(descriptor, F_SETSIG, SIGURG) != 0) return -1;
  if (fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN ? 1 : -1;
  fcntl(descriptor, F_SETLEASE, F_UNLCK);
  return 0;
}

int64_t photod_send_file(int socket, int descriptor, int64_t offset, int64_t length) {
  off_t from = offset;
  return sendfile(socket, descriptor, &from, (size_t)length);
}

// Waits until a byte of a file is in the page cache. -1 with errno if the read failed.
static int load_byte(int descriptor, int64_t offset) {
  char byte;
  ssize_t count;
  do count = pread(descriptor, &byte, 1, offset);
  while (count < 0 && errno == EINTR);
  return count < 0 ? -1 : 0;
}

int photod_load_range(int descriptor, int64_t offset, int64_t length) {
  // One call of readahead(2) starts at most one request of the disk, of 128 KiB or more, and does not wait for it.
  const int64_t step = 128 << 10;
  const int64_t end = offset + length;
  for (int64_t start = offset; start < end; start += step) {
    (void)readahead(descriptor, start, (size_t)(end - start < step ? end - start : step));
  }
  if (load_byte(descriptor, offset) != 0) return -1;
  for (int64_t start = offset; start < end; start += step) {
    if (load_byte(descriptor, (end - start < step ? end : start + step) - 1) != 0) return -1;
  }
  return 0;
}

int64_t photod_read_cached(int descriptor, void *bytes, size_t length, int64_t offset) {
  size_t done = 0;
  while (done < length) {
    struct iovec rest = {.iov_base = (char *)bytes + done, .iov_len = length - done};
    ssize_t count = preadv2(descriptor, &rest, 1, offset + (int64_t)done, RWF_NOWAIT);
    if (count > 0) {
      done += (size_t)count;
    } else if (count == 0 || errno != EINTR) {
      // The end of the file, bytes that are not cached, or a file system without RWF_NOWAIT.
      break;
    }
  }
  return (int64_t)done;
}
