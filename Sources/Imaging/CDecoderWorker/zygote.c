// The zygote: waits for requests, forks a child for each, and reports how each child ended. It reads no payload, and it
// ends when the daemon closes the control socket, however the daemon ends.
//
// It has one thread, which sleeps in poll: requests on the control socket, ended children by a signal descriptor, and
// the status sockets of running children. The daemon closes a status socket, or its writing half, to end the child.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decoder_worker.h"

// The same numbers on every architecture; older headers lack them.
enum { PIDFD_OPEN = 434, CLOSE_RANGE = 436 };

typedef struct {
  pid_t pid;
  int status;
  bool is_killed;
} child;

static const decoder_codec *codec;
static unsigned sandbox_parts;
// Bytes that a process of this program has allocated before it decodes.
static uint64_t base_bytes;
static child children[DECODER_MAX_CHILDREN];
static unsigned child_count;
// Aligned for the structures of a request.
static _Alignas(16) uint8_t buffer[DECODER_MAX_REQUEST_BYTES];

// The child

static _Noreturn void report_and_exit(int reason) {
  if (reason && decoder_allocation_failed && reason != DECODER_REASON_INPUT) reason = DECODER_REASON_MEMORY;
  decoder_send(&(decoder_message){.kind = reason ? DECODER_FAILED : DECODER_DONE, .reason = (uint32_t)reason});
  _exit(0);
}

// A crash after a failed allocation is reported as such. Any other crash ends the child by its signal.
static void crashed(int signal) {
  if (decoder_allocation_failed) report_and_exit(DECODER_REASON_MEMORY);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

static void set_signals(void) {
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
    const struct sigaction action = {.sa_handler = crashed, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
    sigaction(crashes[i], &action, NULL);
  }
  signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool is_valid(const decoder_job *job) {
  const decoder_request *const request = &job->request;
  for (uint32_t i = 0; i < request->tile_count; i++) {
    const decoder_tile tile = job->tiles[i];
    if (tile.first_extent > request->extent_count || tile.extent_count > request->extent_count - tile.first_extent ||
        tile.auxiliary_count > tile.extent_count)
      return false;
  }
  const uint64_t sample_bytes = decoder_sample_bytes(request);
  for (unsigned p = 0; p < request->plane_count; p++) {
    const decoder_plane plane = request->planes[p];
    const uint64_t rows = decoder_plane_rows(request, p, request->band_rows);
    if (plane.width * sample_bytes > plane.stride || plane.offset + rows * plane.stride > request->slot_bytes)
      return false;
  }
  return true;
}

static bool map_slots(decoder_job *job, const int descriptors[]) {
  for (unsigned i = 0; i < DECODER_SLOTS; i++) {
    void *const slot = mmap(
        NULL, job->request.slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[DECODER_FIRST_SLOT + i], 0);
    if (slot == MAP_FAILED) return false;
    job->slots[i] = slot;
    job->is_slot_free[i] = true;
  }
  return true;
}

// Leaves the child with 0, 1 and 2 as /dev/null, 3 as its progress socket and 4 as the payload.
static bool set_descriptors(const int descriptors[]) {
  // Above the final numbers, so that no step closes the source of a later one.
  const int progress = fcntl(descriptors[DECODER_PROGRESS], F_DUPFD, 16);
  const int payload = fcntl(descriptors[DECODER_PAYLOAD], F_DUPFD, 16);
  const int null = open("/dev/null", O_RDWR);
  if (progress < 0 || payload < 0 || null < 0) return false;
  for (int i = 0; i <= 2; i++)
    if (dup2(null, i) != i) return false;
  if (dup2(progress, DECODER_CHILD_PROGRESS) < 0 || dup2(payload, DECODER_CHILD_PAYLOAD) < 0) return false;
  if (syscall(CLOSE_RANGE, DECODER_CHILD_PAYLOAD + 1, ~0U, 0) == 0) return true;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  for (int i = DECODER_CHILD_PAYLOAD + 1; (rlim_t)i < limit.rlim_cur; i++) close(i);
  return true;
}

static _Noreturn void run_child(const int descriptors[], pid_t zygote) {
  decoder_job job;
  memset(&job, 0, sizeof job);
  memcpy(&job.request, buffer, sizeof job.request);
  const decoder_request *const request = &job.request;
  job.tiles = (const decoder_tile *)(buffer + sizeof *request);
  job.extents = (const decoder_extent *)(job.tiles + request->tile_count);
  job.parameters = (const uint8_t *)(job.extents + request->extent_count);
  if (!map_slots(&job, descriptors) || !set_descriptors(descriptors)) _exit(1);
  set_signals();
  const decoder_limits limits = {request->memory_limit_bytes, request->cpu_seconds};
  const unsigned entered = decoder_enter_sandbox(&limits, zygote, base_bytes);
  if ((entered & sandbox_parts) != sandbox_parts) report_and_exit(DECODER_REASON_SANDBOX);
  report_and_exit(is_valid(&job) ? codec->decode(&job) : DECODER_REASON_MISMATCH);
}

// The zygote

static bool send_status(int socket, uint32_t kind, int status, int descriptor, const struct rusage *usage) {
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  decoder_status message = {.kind = kind, .status = status};
  if (usage) {
    const struct timeval user = usage->ru_utime, system = usage->ru_stime;
    message.cpu_microseconds = (uint64_t)(user.tv_sec + system.tv_sec) * 1000000 + (uint64_t)(user.tv_usec + system.tv_usec);
    message.peak_bytes = (uint64_t)usage->ru_maxrss << 10;
  }
  struct iovec part = {&message, sizeof message};
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  if (descriptor >= 0) {
    header.msg_control = control.bytes;
    header.msg_controllen = sizeof control.bytes;
    struct cmsghdr *const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof message;
}

static bool is_complete(ssize_t count) {
  if (count < (ssize_t)sizeof(decoder_request)) return false;
  const decoder_request *const request = (const decoder_request *)buffer;
  return request->version == DECODER_PROTOCOL_VERSION && request->byte_count == (size_t)count &&
         request->tile_count >= 1 && request->tile_count <= DECODER_MAX_TILES &&
         request->extent_count <= DECODER_MAX_EXTENTS && request->parameter_bytes <= DECODER_MAX_PARAMETER_BYTES &&
         request->byte_count == sizeof *request + request->tile_count * sizeof(decoder_tile) +
                                    request->extent_count * sizeof(decoder_extent) + request->parameter_bytes &&
         request->width >= 1 && request->width <= DECODER_MAX_SIDE && request->height >= 1 &&
         request->height <= DECODER_MAX_SIDE && request->coded_width >= 1 &&
         request->coded_width <= DECODER_MAX_SIDE && request->coded_height >= 1 &&
         request->coded_height <= DECODER_MAX_SIDE && request->band_rows >= 2 && request->band_rows % 2 == 0 &&
         request->band_rows <= 2 * DECODER_MAX_SIDE && request->slot_bytes >= 1 &&
         request->slot_bytes <= DECODER_MAX_SLOT_BYTES && request->plane_count >= 1 &&
         request->plane_count <= DECODER_MAX_PLANES && request->cpu_seconds >= 1 &&
         request->memory_limit_bytes <= (uint64_t)1 << 40;
}

static void start_child(ssize_t count, const int descriptors[]) {
  const int status = descriptors[DECODER_STATUS];
  if (!is_complete(count) || child_count == DECODER_MAX_CHILDREN) {
    send_status(status, DECODER_CHILD_REFUSED, child_count == DECODER_MAX_CHILDREN ? EAGAIN : EINVAL, -1, NULL);
    close(status);
    return;
  }
  const pid_t zygote = getpid();
  const pid_t pid = fork();
  if (pid == 0) run_child(descriptors, zygote);
  if (pid < 0) {
    send_status(status, DECODER_CHILD_REFUSED, errno, -1, NULL);
    close(status);
    return;
  }
  // The child has not been reaped, so the number is still its own.
  const int pidfd = (int)syscall(PIDFD_OPEN, pid, 0);
  send_status(status, DECODER_CHILD_STARTED, 0, pidfd, NULL);
  if (pidfd >= 0) close(pidfd);
  children[child_count++] = (child){pid, status, false};
}

// Returns false at the end of the control socket.
static bool receive_request(void) {
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(DECODER_DESCRIPTORS * sizeof(int))];
  } control;
  struct iovec part = {buffer, sizeof buffer};
  struct msghdr header = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  const ssize_t count = recvmsg(DECODER_CONTROL, &header, MSG_CMSG_CLOEXEC);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  int descriptors[DECODER_DESCRIPTORS];
  unsigned found = 0;
  struct cmsghdr *const rights = CMSG_FIRSTHDR(&header);
  if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
    found = (unsigned)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(descriptors, CMSG_DATA(rights), found * sizeof(int));
  }
  if (found == DECODER_DESCRIPTORS && !(header.msg_flags & MSG_TRUNC)) {
    start_child(count, descriptors);
    // The status socket now belongs to the table of children, or is closed.
    close(descriptors[DECODER_PAYLOAD]);
    close(descriptors[DECODER_PROGRESS]);
    for (unsigned i = 0; i < DECODER_SLOTS; i++) close(descriptors[DECODER_FIRST_SLOT + i]);
  } else {
    for (unsigned i = 0; i < found; i++) close(descriptors[i]);
  }
  return true;
}

static void reap_children(void) {
  int status;
  struct rusage usage;
  for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
    for (unsigned i = 0; i < child_count; i++) {
      if (children[i].pid != pid) continue;
      send_status(children[i].status, DECODER_CHILD_ENDED, status, -1, &usage);
      close(children[i].status);
      children[i] = children[--child_count];
      break;
    }
  }
}

// If qsort(3) needs a buffer, it once reads the size of the machine's memory, which children may not do.
static int compare_bytes(const void *a, const void *b) { return *(const uint8_t *)a - *(const uint8_t *)b; }

static void warm_up_sorting(void) {
  static uint8_t bytes[4096];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
  qsort(bytes, sizeof bytes, 1, compare_bytes);
}

// Enters the sandbox in a child of its own, to know which parts the kernel has.
static unsigned try_sandbox(void) {
  const pid_t zygote = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    const decoder_limits limits = {64 << 20, 10};
    _exit((int)decoder_enter_sandbox(&limits, zygote, base_bytes));
  }
  int status = 0;
  pid_t ended;
  do ended = waitpid(pid, &status, 0);
  while (ended < 0 && errno == EINTR);
  return pid > 0 && ended == pid && WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;
}

// The bytes that RLIMIT_DATA counts already (proc_pid_statm(5), field 6), with room for the allocator's own.
static uint64_t allocated_bytes(void) {
  unsigned long pages = 0;
  FILE *const file = fopen("/proc/self/statm", "re");
  if (!file || fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1) pages = 0;
  if (file) fclose(file);
  const uint64_t known = pages ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 8 << 20;
  return known + (1 << 20);
}

static bool send_hello(void) {
  decoder_hello hello;
  memset(&hello, 0, sizeof hello);
  hello.version = DECODER_PROTOCOL_VERSION;
  hello.sandbox_parts = sandbox_parts;
  snprintf(hello.codec, sizeof hello.codec, "%s", codec->name);
  codec->describe(hello.library, sizeof hello.library);
  return send(DECODER_CONTROL, &hello, sizeof hello, MSG_NOSIGNAL) == (ssize_t)sizeof hello;
}

static void lower_priority(void) {
  // Decoding must not slow the daemon's loops. Its children end first when the machine has no memory left.
  setpriority(PRIO_PROCESS, 0, 5);
  FILE *const file = fopen("/proc/self/oom_score_adj", "we");
  if (!file) return;
  fputs("500", file);
  fclose(file);
}

int decoder_main(const decoder_codec *found) {
  codec = found;
  // One arena: a child has one thread, and may not read the number of cores.
  mallopt(M_ARENA_MAX, 1);
  // Buffers of tiles stay in the heap for reuse. Larger ones are returned to the kernel when they are freed.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  // A terminal or a service manager may signal all processes: the daemon decides when this one ends.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  int type = 0;
  socklen_t length = sizeof type;
  if (getsockopt(DECODER_CONTROL, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) {
    fprintf(
        stderr, "photod-%s-%s %s pictures for photod, which starts it.\n", codec->is_encoder ? "encoder" : "decoder",
        codec->name, codec->is_encoder ? "encodes" : "decodes");
    return 64;
  }
  lower_priority();
  warm_up_sorting();
  if (codec->warm_up) codec->warm_up();
  base_bytes = allocated_bytes();
  sandbox_parts = try_sandbox();
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &ended, NULL) != 0) return 1;
  const int signals = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0 || !send_hello()) return 1;
  while (true) {
    struct pollfd polled[2 + DECODER_MAX_CHILDREN] = {{DECODER_CONTROL, POLLIN, 0}, {signals, POLLIN, 0}};
    // reap_children and start_child change child_count.
    const unsigned count = child_count;
    // poll ignores negative descriptors. The closed socket of a killed child would stay readable until it has ended.
    for (unsigned i = 0; i < count; i++)
      polled[2 + i] = (struct pollfd){children[i].is_killed ? -1 : children[i].status, POLLRDHUP, 0};
    if (poll(polled, 2 + count, -1) < 0 && errno != EINTR) return 1;
    for (unsigned i = 0; i < count; i++) {
      if (!polled[2 + i].revents) continue;
      kill(children[i].pid, SIGKILL);
      children[i].is_killed = true;
    }
    if (polled[1].revents) {
      struct signalfd_siginfo information;
      while (read(signals, &information, sizeof information) > 0) {
      }
      reap_children();
    }
    // The daemon has closed the control socket. Children are killed by PDEATHSIG.
    if (polled[0].revents && !receive_request()) return 0;
  }
}
