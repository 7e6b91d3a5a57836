#define _GNU_SOURCE
#include "CPhotodDecoder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int photod_decoder_spawn(const char *path, int control, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return errno = error, -1;
  if ((error = posix_spawnattr_init(&attributes))) {
    posix_spawn_file_actions_destroy(&actions);
    return errno = error, -1;
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  char *const arguments[] = {(char *)path, NULL};
  char *const environment[] = {NULL};
  // The control socket first: its number may be 0 or 1.
  if (!(error = posix_spawn_file_actions_adddup2(&actions, control, DECODER_CONTROL)) &&
      !(error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)) &&
      !(error = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)) &&
      !(error = posix_spawn_file_actions_addclosefrom_np(&actions, DECODER_CONTROL + 1)) &&
      !(error = posix_spawnattr_setsigmask(&attributes, &none)) &&
      !(error = posix_spawnattr_setsigdefault(&attributes, &all)) &&
      !(error = posix_spawnattr_setpgroup(&attributes, 0)) &&
      !(error = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))) {
    error = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error) return errno = error, -1;
  return 0;
}

int photod_decoder_socketpair(int sockets[2]) {
  return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets);
}

static int sealed_memory(const void *contents, size_t bytes, int seals) {
  const int descriptor = memfd_create("photod-decoder", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return -1;
  int failed = ftruncate(descriptor, (off_t)bytes);
  for (size_t written = 0; !failed && contents && written < bytes;) {
    const ssize_t count = pwrite(descriptor, (const char *)contents + written, bytes - written, (off_t)written);
    if (count > 0) written += (size_t)count;
    else if (count == 0 || errno != EINTR) failed = -1;
  }
  if (!failed) failed = fcntl(descriptor, F_ADD_SEALS, seals);
  if (!failed) return descriptor;
  const int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

int photod_decoder_memory(size_t bytes) {
  return sealed_memory(NULL, bytes, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int photod_decoder_memory_with(const void *contents, size_t bytes) {
  return sealed_memory(contents, bytes, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
}

int photod_decoder_send(int socket, const void *message, size_t bytes, const int *descriptors, int count) {
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(DECODER_DESCRIPTORS * sizeof(int))];
  } control = {0};
  struct iovec part = {(void *)message, bytes};
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  if (count < 0 || count > DECODER_DESCRIPTORS) return errno = EINVAL, -1;
  if (count) {
    header.msg_control = control.bytes;
    header.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(rights), descriptors, (size_t)count * sizeof(int));
  }
  ssize_t sent;
  do sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)bytes ? 0 : -1;
}

ssize_t photod_decoder_receive(int socket, void *message, size_t bytes, int *descriptor) {
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {message, bytes};
  struct msghdr header = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  *descriptor = -1;
  ssize_t count;
  // The kernel closes descriptors that do not fit. It reports once, before messages that are still queued, that the other
  // side has ended without reading everything.
  do count = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  while (count < 0 && (errno == EINTR || errno == ECONNRESET));
  if (count < 0) return -1;
  for (struct cmsghdr *rights = CMSG_FIRSTHDR(&header); rights; rights = CMSG_NXTHDR(&header, rights)) {
    if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
    const size_t found = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int received[1 + sizeof control.bytes / sizeof(int)];
    memcpy(received, CMSG_DATA(rights), found * sizeof(int));
    // Alignment of the buffer may leave room for a second descriptor.
    for (size_t i = 0; i < found; i++) {
      if (*descriptor < 0) *descriptor = received[i];
      else close(received[i]);
    }
  }
  if (header.msg_flags & MSG_TRUNC) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
    return errno = EMSGSIZE, -1;
  }
  return count;
}

int photod_decoder_kill(int pidfd) { return (int)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0); }

int photod_decoder_reap(pid_t pid) {
  pid_t ended;
  int status = 0;
  do ended = waitpid(pid, &status, 0);
  while (ended < 0 && errno == EINTR);
  return ended < 0 ? -1 : status;
}
