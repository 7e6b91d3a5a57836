// The Linux calls that Swift's Glibc module does not import, or imports only as variadic functions. Each returns the
// result of its system call: -1 with errno set on failure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

// accept4(2) with SOCK_NONBLOCK | SOCK_CLOEXEC. `address` may be NULL.
int photod_accept(int listener, struct sockaddr *address, socklen_t *length);

// One registration with an epoll descriptor; `identifier` comes back as the event's data.
int photod_epoll_add(int epoll, int descriptor, uint32_t events, uint64_t identifier);
int photod_epoll_modify(int epoll, int descriptor, uint32_t events, uint64_t identifier);
int photod_epoll_remove(int epoll, int descriptor);
uint64_t photod_epoll_identifier(const struct epoll_event *event);

// An eventfd(2), non-blocking. Negative with errno on error.
int photod_eventfd(void);
// Adds one to its counter: an edge for epoll, also if the descriptor is readable already.
void photod_eventfd_signal(int descriptor);

typedef struct {
  uint64_t device, inode;
  int64_t size;
  // Nanoseconds since 1970; a time after the year 2262 becomes the largest value. `changed` is the time of the last
  // change of contents, name or mode (st_ctim), which programs can't set.
  int64_t modified, changed;
  bool is_regular_file;
  bool is_symbolic_link;
} photod_file_status;

// Opens a path (bytes, relative, NUL-terminated) beneath a directory (openat2(2), RESOLVE_BENEATH). Never follows "..",
// a magic link or a symbolic link out of the directory, and never waits for a FIFO or a device. An absolute link that
// points into the directory is followed. errno EXDEV: the path would leave the directory.
int photod_open_beneath(int directory, const char *path, bool directory_wanted);
int photod_file_status_of(int descriptor, photod_file_status *status);
// The status of an entry of a directory, without following a symbolic link.
int photod_file_status_at(int directory, const char *name, photod_file_status *status);

// The mount of an open file (statx(2), STATX_MNT_ID). One device can be mounted several times. 0 if the kernel does not
// report it; -1 with errno on failure.
int photod_mount_of(int descriptor, uint64_t *mount);

// Moves an entry to another directory or name. Never replaces an existing entry (errno EEXIST). Uses renameat2(2) with
// RENAME_NOREPLACE; on a file system without it, link and unlink; on one without hard links, a check and rename.
int photod_rename_noreplace(int from, const char *name, int to, const char *new_name);

// Creates an unnamed file on the directory's file system, open for reading and writing (open(2), O_TMPFILE). errno
// EOPNOTSUPP, EISDIR or EINVAL: the file system does not support unnamed files.
int photod_open_unnamed(int directory);
// Gives an unnamed file a name. Never replaces an existing entry (errno EEXIST).
int photod_link_unnamed(int descriptor, int directory, const char *name);
// Creates a file, open for reading and writing; errno EEXIST if the name is taken.
int photod_create_file(int directory, const char *name);
// Opens a directory in a directory; refuses a symbolic link.
int photod_open_subdirectory(int directory, const char *name);

// Sends bytes of a file to a socket (sendfile(2)) and returns how many the socket took: 0 at the end of the file.
int64_t photod_send_file(int socket, int descriptor, int64_t offset, int64_t length);
// Loads a range of a file into the page cache, so that sending it does not wait for the disk. Returns when its first
// byte and the last one of each 128 KiB are cached; nearly always the whole range is. -1 with errno if a read failed.
int photod_load_range(int descriptor, int64_t offset, int64_t length);
// Reads bytes of a file that are in the page cache, and never waits for the disk (preadv2(2), RWF_NOWAIT). Returns the
// number of bytes read: fewer than `length` at the first byte that is not cached, and 0 on a file system without this
// flag.
int64_t photod_read_cached(int descriptor, void *bytes, size_t length, int64_t offset);

typedef struct {
  // Free bytes that this user may use.
  int64_t available_bytes;
  bool is_read_only;
} photod_space_status;

int photod_free_space(int descriptor, photod_space_status *status);

typedef struct {
  // statfs(2): f_fsid, both its words, and f_type.
  uint64_t identifier;
  int64_t type;
} photod_file_system_status;

int photod_file_system_of(int descriptor, photod_file_system_status *status);

// Limits glibc's malloc to one arena, and lets it keep freed memory for the next render: getting the pages for the
// coefficients of a progressive picture from the kernel each time takes a tenth of the render. Call it before there is
// a second thread, because a thread that has already allocated memory keeps its own arena.
void photod_configure_malloc(void);
// Returns freed memory to the kernel. Takes about a millisecond for each 100 MB.
void photod_release_memory(void);
// Bytes that are allocated and not freed, including malloc's overhead for each block: mallinfo(3). Locks malloc for a
// moment.
size_t photod_allocated_bytes(void);

// Flushes standard output (fflush(3)). -1 with errno if this or an earlier write failed; EIO for an earlier write,
// whose error is not known.
int photod_flush_output(void);

// Fills `bytes` with random bytes from the kernel (getrandom(2)). Returns 0 when all bytes are filled, or -1 with
// errno. A call for at most 256 bytes is never interrupted; larger counts are allowed.
int photod_random(void *bytes, size_t count);

// The number of cores that this process may use: sched_getaffinity(2). At least 1.
int photod_usable_cores(void);

// Raises the niceness of the calling thread to at least this value (setpriority(2), which is per thread on Linux). Only
// root could lower it again. 0 is the default, 19 the maximum.
void photod_set_thread_niceness(int niceness);

// Opens a non-blocking inotify(7) descriptor that is closed on exec. errno EMFILE: the user's limit of inotify
// instances is reached.
int photod_inotify_open(void);
// Watches an open folder for the events in `mask`. The folder is identified by its descriptor, so a rename does not
// matter. Watching the same folder again returns the same watch. Needs /proc. errno ENOSPC: the user's limit of watches
// is reached.
int photod_inotify_watch(int inotify, int folder, uint32_t mask);
int photod_inotify_unwatch(int inotify, int watch);

// Whether any process has the file open for writing or mapped for writing: takes a read lease and returns it at once
// (fcntl(2), F_SETLEASE). 1: yes; 0: no; -1: unknown, because the file belongs to another user or is on a network file
// system. The descriptor must be open for reading only.
int photod_has_writers(int descriptor);
