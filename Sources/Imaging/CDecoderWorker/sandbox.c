// The sandbox of a child: limits, no new privileges, Landlock, and a list of allowed system calls.
//
// The filter does most: without it, a child could use the network. Landlock and the limits are a second line of
// defence, in case the kernel's filter or our list has a hole. No part needs privileges.

#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "decoder_worker.h"

// System call numbers of Landlock are the same on every architecture; older headers lack them.
enum { LANDLOCK_CREATE_RULESET = 444, LANDLOCK_RESTRICT_SELF = 446 };

// landlock(7). Versions of the kernel's interface know 1, 2 or 3 of these fields.
typedef struct {
  uint64_t file_system, network, scope;
} landlock_rights;

static bool enter_landlock(void) {
  const long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */);
  if (version < 1) return false;
  // All rights that this version knows: a ruleset without rules then allows none of them.
  landlock_rights rights = {.file_system = (1 << 13) - 1};
  size_t bytes = sizeof rights.file_system;
  if (version >= 2) rights.file_system |= 1 << 13;
  if (version >= 3) rights.file_system |= 1 << 14;
  if (version >= 4) {
    rights.network = 3;
    bytes += sizeof rights.network;
  }
  if (version >= 5) rights.file_system |= 1 << 15;
  if (version >= 6) {
    rights.scope = 3;
    bytes += sizeof rights.scope;
  }
  const long ruleset = syscall(LANDLOCK_CREATE_RULESET, &rights, bytes, 0);
  if (ruleset < 0) return false;
  const bool entered = syscall(LANDLOCK_RESTRICT_SELF, (int)ruleset, 0) == 0;
  close((int)ruleset);
  return entered;
}

static bool limit(int resource, uint64_t soft, uint64_t hard) {
  struct rlimit known;
  if (getrlimit((__rlimit_resource_t)resource, &known) != 0) return false;
  // A limit that is lower already can't be raised.
  if (hard > known.rlim_max) hard = known.rlim_max;
  const struct rlimit wanted = {soft < hard ? soft : hard, hard};
  return setrlimit((__rlimit_resource_t)resource, &wanted) == 0;
}

static bool enter_limits(const decoder_limits *limits, uint64_t base_bytes) {
  const uint64_t data = base_bytes + limits->memory_limit_bytes;
  // RLIMIT_AS and RLIMIT_FSIZE would end decodes of valid pictures.
  bool is_complete = limit(RLIMIT_DATA, data, data);
  // SIGXCPU at the first limit says why the child ended; SIGKILL follows.
  is_complete &= limit(RLIMIT_CPU, limits->cpu_seconds, (uint64_t)limits->cpu_seconds + 1);
  is_complete &= limit(RLIMIT_STACK, 2 << 20, 2 << 20);
  is_complete &= limit(RLIMIT_CORE, 0, 0);
  is_complete &= limit(RLIMIT_NPROC, 0, 0);
  is_complete &= limit(RLIMIT_NOFILE, 0, 0);
  is_complete &= limit(RLIMIT_MEMLOCK, 0, 0);
  is_complete &= limit(RLIMIT_MSGQUEUE, 0, 0);
  return is_complete;
}

// The filter

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

enum { FILTER_CAPACITY = 160 };

typedef struct {
  struct sock_filter code[FILTER_CAPACITY];
  unsigned short count;
} filter;

static void add(filter *filter, uint16_t code, uint32_t operand, uint8_t if_true, uint8_t if_false) {
  // The capacity is a constant of this file, and so is the length of the filter: the trial child would end here.
  if (filter->count == FILTER_CAPACITY) _exit(0);
  filter->code[filter->count++] = (struct sock_filter){code, if_true, if_false, operand};
}

static void load(filter *filter, size_t offset) { add(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void return_action(filter *filter, uint32_t action) { add(filter, BPF_RET | BPF_K, action, 0, 0); }

// The low word of an argument. Descriptors, protections, flags and operations are 32 bits wide in the kernel too.
static void load_argument(filter *filter, int argument) {
  load(filter, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
}

static void allow(filter *filter, long call) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
  return_action(filter, SECCOMP_RET_ALLOW);
}

// Allows a call if an argument has one of two values.
static void allow_values(filter *filter, long call, int argument, uint32_t value, uint32_t other) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 5);
  load_argument(filter, argument);
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1);
  return_action(filter, SECCOMP_RET_ALLOW);
  return_action(filter, SECCOMP_RET_KILL_PROCESS);
}

// Allows a call if its protection (argument 2) makes nothing executable.
static void allow_protection(filter *filter, long call) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
  load_argument(filter, 2);
  add(filter, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
  return_action(filter, SECCOMP_RET_ALLOW);
  return_action(filter, SECCOMP_RET_KILL_PROCESS);
}

// Allows anonymous memory that is not executable. No descriptor can be mapped.
static void allow_memory_mapping(filter *filter) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 6);
  load_argument(filter, 2);
  add(filter, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 3, 0);
  load_argument(filter, 3);
  add(filter, BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1);
  return_action(filter, SECCOMP_RET_ALLOW);
  return_action(filter, SECCOMP_RET_KILL_PROCESS);
}

static void make_filter(filter *filter) {
  load(filter, offsetof(struct seccomp_data, arch));
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
  return_action(filter, SECCOMP_RET_KILL_PROCESS);
  load(filter, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
  // The x32 interface has the same architecture and other numbers: all of them from 0x40000000.
  add(filter, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
  return_action(filter, SECCOMP_RET_KILL_PROCESS);
#endif
  allow_values(filter, SYS_read, 0, DECODER_CHILD_PROGRESS, DECODER_CHILD_PROGRESS);
  // 1 and 2 are /dev/null: libraries print warnings.
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 5);
  load_argument(filter, 0);
  add(filter, BPF_JMP | BPF_JGE | BPF_K, 1, 0, 1);
  add(filter, BPF_JMP | BPF_JGT | BPF_K, DECODER_CHILD_PROGRESS, 0, 1);
  return_action(filter, SECCOMP_RET_KILL_PROCESS);
  return_action(filter, SECCOMP_RET_ALLOW);
  allow_values(filter, SYS_pread64, 0, DECODER_CHILD_PAYLOAD, DECODER_CHILD_PAYLOAD);
  // malloc and free.
  allow(filter, SYS_brk);
  allow_memory_mapping(filter);
  allow_protection(filter, SYS_mprotect);
  allow(filter, SYS_munmap);
  allow(filter, SYS_mremap);
  allow_values(filter, SYS_madvise, 2, MADV_DONTNEED, MADV_FREE);
  // pthread_once and static initialisers wake threads that don't exist.
  allow_values(filter, SYS_futex, 1, FUTEX_WAKE, FUTEX_WAKE_PRIVATE);
  allow(filter, SYS_clock_gettime);
  // abort and the handler of crashes: signals to this process only.
  allow(filter, SYS_rt_sigprocmask);
  allow(filter, SYS_rt_sigreturn);
  allow(filter, SYS_getpid);
  allow(filter, SYS_gettid);
  allow_values(filter, SYS_tgkill, 0, (uint32_t)getpid(), (uint32_t)getpid());
  allow(filter, SYS_restart_syscall);
  allow(filter, SYS_exit);
  allow(filter, SYS_exit_group);
  return_action(filter, SECCOMP_RET_KILL_PROCESS);
}

static bool enter_filter(void) {
  static filter filter;
  filter.count = 0;
  make_filter(&filter);
  const struct sock_fprog program = {filter.count, filter.code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#else
static bool enter_filter(void) { return false; }
#endif

unsigned decoder_enter_sandbox(const decoder_limits *limits, int parent, uint64_t base_bytes) {
  unsigned parts = 0;
  // The signal is sent when the thread that forked ends. The zygote has one thread.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0) parts |= DECODER_PART_PARENT_DEATH;
  // The zygote may have ended before prctl.
  if (getppid() != parent) _exit(1);
  // No other process of this user can attach a debugger.
  prctl(PR_SET_DUMPABLE, 0);
  // Landlock and the filter need it.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) parts |= DECODER_PART_NO_NEW_PRIVILEGES;
  // Before the limits, because it needs a descriptor.
  if (enter_landlock()) parts |= DECODER_PART_LANDLOCK;
  if (enter_limits(limits, base_bytes)) parts |= DECODER_PART_RESOURCE_LIMITS;
  if (enter_filter()) parts |= DECODER_PART_SYSTEM_CALL_FILTER;
  return parts;
}
