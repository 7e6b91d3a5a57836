// The Linux calls that Swift's Glibc module does not show, or shows only as varargs.
// Each returns what its system call returns: -1 with errno set on failure.
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

typedef struct {
  uint64_t device, inode;
  int64_t size;
  // Nanoseconds since 1970, as far as 64 bits reach: a time beyond the year 2262 is the last there is. `changed` is
  // the kernel's own note of the last change to contents, name or rights, which nobody can set (st_ctim).
  int64_t modified, changed;
  bool is_regular_file;
  bool is_symbolic_link;
} photod_file_status;

// Opens a path (bytes, relative, NUL-terminated) beneath a directory: never through "..", a magic link or a symbolic
// link that leaves it, and never waiting on a FIFO or a device. A link that is absolute but points inside is followed.
// openat2(2), RESOLVE_BENEATH. errno EXDEV: it would leave the directory.
int photod_open_beneath(int directory, const char *path, bool directory_wanted);
int photod_file_status_of(int descriptor, photod_file_status *status);
// The same of an entry of a directory; a symbolic link is told of itself.
int photod_file_status_at(int directory, const char *name, photod_file_status *status);

// Which mount an open file is on (statx(2), STATX_MNT_ID): two of one device may be another's. 0 where the kernel does not
// tell; -1 with errno on failure.
int photod_mount_of(int descriptor, uint64_t *mount);

// Renames an entry of one directory to one of another, never in place of what stands there: errno EEXIST. renameat2(2),
// RENAME_NOREPLACE; where the file system does not know that, a link and an unlink; where it has no links either, a look
// and a rename.
int photod_rename_noreplace(int from, const char *name, int to, const char *new_name);

// A file without a name in the directory's file system, to be written and read (open(2), O_TMPFILE). errno EOPNOTSUPP,
// EISDIR or EINVAL where it has none.
int photod_open_unnamed(int directory);
// Gives such a file a name, never in place of what stands there: errno EEXIST.
int photod_link_unnamed(int descriptor, int directory, const char *name);
// A new file, to be written and read; errno EEXIST where there is one.
int photod_create_file(int directory, const char *name);
// A directory in a directory, and no link to one.
int photod_open_subdirectory(int directory, const char *name);

// Sends bytes of a file to a socket (sendfile(2)) and returns how many the socket took: 0 at the end of the file.
int64_t photod_send_file(int socket, int descriptor, int64_t offset, int64_t length);
// Returns when a range of a file is in the page cache, or as good as: reads from the disk if it was not. Then sending it
// does not wait for the disk. -1 with errno if a read failed.
int photod_load_range(int descriptor, int64_t offset, int64_t length);
// Reads bytes of a file that are in the page cache, and never waits for the disk (preadv2(2), RWF_NOWAIT). Returns how many it
// read: fewer than `length` at the first byte that is not cached, and 0 on a file system without this flag.
int64_t photod_read_cached(int descriptor, void *bytes, size_t length, int64_t offset);

typedef struct {
  // Of what this user may write.
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

// Gives glibc's malloc fewer arenas, and lets it keep what one render frees for the next: the pages of a progressive
// picture's coefficients cost a tenth of its render when each has to be had from the kernel anew.
void photod_configure_malloc(void);
// Gives what is free back to the kernel. Takes about a millisecond for each 100 MB.
void photod_release_memory(void);
// Bytes that malloc has handed out and not got back, with what it keeps beside each block: mallinfo(3). Locks each arena for
// a moment.
size_t photod_allocated_bytes(void);

// Fills `bytes` from the kernel's generator: getrandom(2), all of it or not at all. At most 256 bytes are never
// interrupted; more may be asked for. 0, or -1 with errno.
int photod_random(void *bytes, size_t count);

// How many cores this process may run on: sched_getaffinity(2). At least 1.
int photod_usable_cores(void);

// Makes the calling thread at least this nice (setpriority(2), which is per thread on Linux), once: there is no way back for
// one who is not root. 0 is the ordinary niceness, 19 the greatest.
void photod_set_thread_niceness(int niceness);

// inotify(7). A descriptor that does not wait and is closed on exec; errno EMFILE: this user has no more of them.
int photod_inotify_open(void);
// Watches an open folder for `mask`, as its descriptor stands for it, whatever its name is by now. The same folder again
// gives the same number. Needs /proc. errno ENOSPC: this user's watches are all taken.
int photod_inotify_watch(int inotify, int folder, uint32_t mask);
int photod_inotify_unwatch(int inotify, int watch);

// Whether any process has the file open for writing or mapped for writing: takes a read lease and returns it at once
// (fcntl(2), F_SETLEASE). 1: yes; 0: no; -1: unknown, because the file belongs to another user or is on a network file
// system. The descriptor must be open for reading only.
int photod_has_writers(int descriptor);
