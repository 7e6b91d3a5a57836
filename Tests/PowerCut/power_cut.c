// Records what a process writes to files, and when it syncs them, so that a test can build the files that a power cut
// would leave: those with every write that was synced, and none after the last sync. Loaded with LD_PRELOAD.
//
//     POWER_CUT_LOG    the file to append records to
//     POWER_CUT_ROOT   only files of the file system of this folder are recorded, by inode
//     POWER_CUT_DEAF   1: syncs are not recorded, as if the disk lied; for a test of the test
//     POWER_CUT_FAIL   while this file exists, writes and syncs fail with EIO
//     POWER_CUT_FAIL_FOLDERS   while this file exists, syncs of folders fail with EIO
//     POWER_CUT_FAIL_COMMIT   while this file exists, the first sync of a file after a rename fails with EIO, and then
//                             all syncs do: the commit of a change that moves files fails, and so does its undoing
//     POWER_CUT_FAIL_READS    while this file exists, reads of the catalogue and of its log fail with EIO
//
// A record is a struct record, followed by `length` bytes for a write. Names are not recorded: the test assumes that
// they are durable at once. Memory that is mapped is not recorded: SQLite maps only its -shm file, which it makes anew.
//
// The log is appended with the kernel's own atomicity of O_APPEND, and survives the death of the process.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
  uint64_t inode;
  int64_t offset;
  // Of the file before the call. A file that is new has the inode of a removed one, and no bytes.
  int64_t size;
  uint32_t length;
  // 1 write, 2 truncate to `offset`, 3 sync
  uint32_t kind;
};

static int log_descriptor = -1;
static dev_t device;
static int is_deaf;
static const char *fail_path, *fail_folders_path, *fail_commit_path, *fail_reads_path;
static volatile int has_renamed, has_failed_commit;

__attribute__((constructor)) static void power_cut_begin(void) {
  const char *path = getenv("POWER_CUT_LOG"), *root = getenv("POWER_CUT_ROOT"), *deaf = getenv("POWER_CUT_DEAF");
  struct stat status;
  if (!path || !root || stat(root, &status) != 0) return;
  // The decoder programs allow fewer system calls than this needs.
  if (strcmp(program_invocation_short_name, "photod") != 0) return;
  device = status.st_dev;
  fail_path = getenv("POWER_CUT_FAIL");
  fail_folders_path = getenv("POWER_CUT_FAIL_FOLDERS");
  fail_commit_path = getenv("POWER_CUT_FAIL_COMMIT");
  fail_reads_path = getenv("POWER_CUT_FAIL_READS");
  is_deaf = deaf && deaf[0] == '1';
  int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  // Out of the way of programs that count on low numbers.
  log_descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 500);
  close(descriptor);
}

static int is_recorded(int descriptor, struct stat *status) {
  return log_descriptor >= 0 && descriptor != log_descriptor && fstat(descriptor, status) == 0
      && S_ISREG(status->st_mode) && status->st_dev == device;
}

static int fails(int recorded) {
  if (!recorded || !fail_path) return 0;
  int code = errno, exists = access(fail_path, F_OK) == 0;
  errno = exists ? EIO : code;
  return exists;
}

static int is_failing_folder(int descriptor) {
  struct stat status;
  int code = errno;
  int fails = fail_folders_path && fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)
      && access(fail_folders_path, F_OK) == 0;
  errno = fails ? EIO : code;
  return fails;
}

static int is_failing_commit(int is_file) {
  if (!fail_commit_path) return 0;
  int code = errno;
  int fails = access(fail_commit_path, F_OK) == 0 && (has_failed_commit || (is_file && has_renamed));
  if (fails) has_failed_commit = 1;
  errno = fails ? EIO : code;
  return fails;
}

static int is_failing_read(int descriptor) {
  if (!fail_reads_path) return 0;
  int code = errno, fails = 0;
  if (access(fail_reads_path, F_OK) == 0) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    fails = strstr(path, "/catalogue.sqlite") != 0;
  }
  errno = fails ? EIO : code;
  return fails;
}

static void append(const struct stat *status, uint32_t kind, int64_t offset, const void *bytes, size_t length) {
  int code = errno;
  struct record head = {status->st_ino, offset, status->st_size, (uint32_t)length, kind};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)bytes, length}};
  syscall(SYS_writev, log_descriptor, parts, length > 0 ? 2 : 1);
  errno = code;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  struct stat status;
  int recorded = is_recorded(descriptor, &status);
  int64_t offset = 0;
  if (fails(recorded)) return -1;
  if (recorded) {
    int flags = (int)syscall(SYS_fcntl, descriptor, F_GETFL);
    offset = flags >= 0 && (flags & O_APPEND) ? status.st_size : lseek(descriptor, 0, SEEK_CUR);
  }
  ssize_t written = syscall(SYS_write, descriptor, bytes, count);
  if (recorded && written > 0) append(&status, 1, offset, bytes, (size_t)written);
  return written;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  struct stat status;
  int recorded = is_recorded(descriptor, &status);
  if (fails(recorded)) return -1;
  ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, count, offset);
  if (recorded && written > 0) append(&status, 1, offset, bytes, (size_t)written);
  return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  return pwrite64(descriptor, bytes, count, offset);
}

int ftruncate64(int descriptor, off64_t length) {
  struct stat status;
  int recorded = is_recorded(descriptor, &status);
  int result = (int)syscall(SYS_ftruncate, descriptor, length);
  if (recorded && result == 0) append(&status, 2, length, 0, 0);
  return result;
}

int ftruncate(int descriptor, off_t length) { return ftruncate64(descriptor, length); }

static int sync_with(long number, int descriptor) {
  struct stat status;
  int recorded = is_recorded(descriptor, &status);
  if (fails(recorded) || is_failing_folder(descriptor) || is_failing_commit(recorded)) return -1;
  int result = (int)syscall(number, descriptor);
  if (result == 0 && !is_deaf && recorded) append(&status, 3, 0, 0, 0);
  return result;
}

int fsync(int descriptor) { return sync_with(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return sync_with(SYS_fdatasync, descriptor); }

int renameat2(int from, const char *name, int to, const char *new_name, unsigned int flags) {
  int result = (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
  if (result == 0 && fail_commit_path && access(fail_commit_path, F_OK) == 0) has_renamed = 1;
  return result;
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
  if (is_failing_read(descriptor)) return -1;
  return syscall(SYS_pread64, descriptor, bytes, count, offset);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
  return pread64(descriptor, bytes, count, offset);
}
