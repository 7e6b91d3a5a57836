// photod-decoder-test: a codec that behaves as its parameter bytes say, for DecoderWorkersTests. Most of them are what a
// codec does that an attacker has taken over. Each attack first sends a band, so that the daemon is in the midst of it.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "decoder_worker.h"

static void describe(char *text, size_t capacity) { snprintf(text, capacity, "test 1"); }

// The byte at a place: tests calculate the same. Each tile has other bytes.
static uint8_t sample(uint32_t tile, uint32_t plane, uint32_t row, uint32_t byte) {
  return (uint8_t)(tile * 101 + plane * 53 + row * 7 + byte);
}

static int send_tile(decoder_job *job, uint32_t tile) {
  const decoder_request *const request = &job->request;
  uint8_t *planes[DECODER_MAX_PLANES];
  ptrdiff_t strides[DECODER_MAX_PLANES];
  for (unsigned p = 0; p < request->plane_count; p++) {
    const uint32_t rows = decoder_plane_rows(request, p, request->height);
    const size_t stride = (size_t)request->planes[p].width * decoder_sample_bytes(request);
    planes[p] = malloc(stride * rows);
    strides[p] = (ptrdiff_t)stride;
    if (!planes[p]) return DECODER_REASON_MEMORY;
    for (uint32_t row = 0; row < rows; row++)
      for (uint32_t byte = 0; byte < stride; byte++) planes[p][row * stride + byte] = sample(tile, p, row, byte);
  }
  decoder_send_rows(job, tile, (const uint8_t *const *)planes, strides);
  for (unsigned p = 0; p < request->plane_count; p++) free(planes[p]);
  return 0;
}

static void send_raw(decoder_job *job, uint32_t slot, uint32_t tile, uint32_t first_row, uint32_t row_count) {
  decoder_wait_for_slot(job);
  decoder_send(&(decoder_message){
      .kind = DECODER_ROWS, .slot = slot, .tile = tile, .first_row = first_row, .row_count = row_count});
}

static void run_forever(void) {
  for (volatile unsigned long turns = 0;; turns++) {
  }
}

static __attribute__((noinline)) int recurse(int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return depth ? recurse(depth - 1) + frame[0] : 0;
}

static void copy_payload(decoder_job *job) {
  const uint64_t bytes = decoder_extent_bytes(job, 0, job->request.extent_count);
  // The row has as many bytes as the payload.
  const unsigned slot = decoder_wait_for_slot(job);
  if (decoder_read_extents(job, 0, job->request.extent_count, job->slots[slot] + job->request.planes[0].offset))
    _exit(7);
  decoder_send(&(decoder_message){.kind = DECODER_ROWS, .slot = slot, .row_count = bytes ? 1 : 0});
}

// Encoders

typedef struct {
  uint8_t *bytes;
  size_t row_bytes;
} taken_rows;

static void take(void *context, uint32_t first, uint32_t count, const uint8_t *rows, size_t stride) {
  const taken_rows *const taken = context;
  for (uint32_t i = 0; i < count; i++)
    memcpy(taken->bytes + (first + i) * taken->row_bytes, rows + i * stride, taken->row_bytes);
}

// The actions of EncodeTests, in their order.
enum { ECHO, TWO_PARTS, ENDLESS, EARLY_BYTES, SECOND_PART_ONLY, THIRD_PART, WRONG_COUNT, FREE_SLOT, NO_BYTES, NO_ROWS,
       SENDS_ROWS, HANGS };

static int encode(decoder_job *job, uint32_t action) {
  const decoder_request *const request = &job->request;
  const taken_rows taken = {.row_bytes = (size_t)request->planes[0].width * decoder_sample_bytes(request)};
  const size_t count = taken.row_bytes * request->height;
  taken_rows rows = taken;
  rows.bytes = malloc(count);
  if (!rows.bytes) return DECODER_REASON_MEMORY;
  if (action == EARLY_BYTES) encoder_send_bytes(0, (const uint8_t *)"x", 1);
  if (action == FREE_SLOT) decoder_send(&(decoder_message){.kind = ENCODER_RELEASED, .slot = DECODER_SLOTS});
  if (action == NO_ROWS) return 0;
  encoder_take_rows(job, take, &rows);
  switch (action) {
  case NO_BYTES: return 0;
  case SENDS_ROWS: decoder_send(&(decoder_message){.kind = DECODER_ROWS, .row_count = request->height}); return 0;
  case SECOND_PART_ONLY: encoder_send_bytes(1, rows.bytes, count); return 0;
  case HANGS: run_forever(); return 0;
  case WRONG_COUNT: decoder_send(&(decoder_message){.kind = ENCODER_BYTES, .row_count = 7}); return 0;
  case ENDLESS: while (true) encoder_send_bytes(0, rows.bytes, count);
  default: break;
  }
  encoder_send_bytes(0, rows.bytes, count);
  if (action == TWO_PARTS) encoder_send_bytes(1, job->parameters, 4);
  if (action == THIRD_PART) encoder_send_bytes(2, rows.bytes, count);
  return 0;
}

static int decode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  encoder_parameters parameters;
  // Other parameters are text.
  if (request->parameter_bytes == sizeof parameters && job->parameters[3] == 0 &&
      encoder_read_parameters(job, &parameters))
    return encode(job, parameters.hundredths / 100);
  char action[64] = {0};
  memcpy(action, job->parameters, request->parameter_bytes < 63 ? request->parameter_bytes : 63);
#define IS(name) (strcmp(action, name) == 0)
  // Ordinary codecs
  if (IS("rows") || IS("late write") || IS("late message")) {
    for (uint32_t tile = 0; tile < request->tile_count; tile++) {
      const int reason = send_tile(job, tile);
      if (reason) return reason;
    }
    if (IS("rows")) return 0;
    decoder_send(&(decoder_message){.kind = DECODER_DONE});
    if (IS("late message")) decoder_send(&(decoder_message){.kind = DECODER_ROWS, .row_count = 1});
    for (uint8_t value = 0;; value++)
      for (unsigned i = 0; i < DECODER_SLOTS; i++) memset(job->slots[i], value, request->slot_bytes);
  }
  if (IS("crash without an extent")) {
    for (uint32_t tile = 0; tile < request->tile_count; tile++) {
      if (job->tiles[tile].extent_count == 0) *(volatile int *)8 = 1;
      if (send_tile(job, tile)) return DECODER_REASON_MEMORY;
    }
    return 0;
  }
  if (IS("payload")) return copy_payload(job), 0;
  if (IS("input")) {
    static uint8_t bytes[4096];
    return decoder_read_extents(job, 0, request->extent_count, bytes);
  }
  if (IS("malformed")) return DECODER_REASON_MALFORMED;
  if (IS("unsupported")) return DECODER_REASON_UNSUPPORTED;
  if (IS("mismatch")) return DECODER_REASON_MISMATCH;
  if (IS("unknown reason")) return 4711;
  // Lies
  const uint32_t band = request->band_rows < request->height ? request->band_rows : request->height;
  if (IS("slot out of range")) return send_raw(job, DECODER_SLOTS, 0, 0, band), 0;
  if (IS("tile out of range")) return send_raw(job, 0, request->tile_count, 0, band), 0;
  if (IS("rows out of range")) return send_raw(job, 0, 0, 0, request->height + 1), 0;
  if (IS("more rows than a slot")) return send_raw(job, 0, 0, 0, UINT32_MAX), 0;
  if (IS("first row out of range")) return send_raw(job, 0, 0, UINT32_MAX, band), 0;
  if (IS("rows skipped")) return send_raw(job, 0, 0, 2, band), 0;
  if (IS("no rows at all")) return 0;
  if (IS("zero rows")) return send_raw(job, 0, 0, 0, 0), 0;
  if (IS("a slot sent twice")) {
    send_raw(job, 0, 0, 0, 2);
    decoder_send(&(decoder_message){.kind = DECODER_ROWS, .slot = 0, .first_row = 2, .row_count = 2});
    decoder_send(&(decoder_message){.kind = DECODER_ROWS, .slot = 0, .first_row = 4, .row_count = 2});
    return 0;
  }
  if (IS("unknown message")) return decoder_send(&(decoder_message){.kind = 99}), 0;
  if (IS("short message")) return (void)!write(DECODER_CHILD_PROGRESS, "x", 1), 0;
  if (IS("long message")) {
    static const char bytes[4096];
    return (void)!write(DECODER_CHILD_PROGRESS, bytes, sizeof bytes), 0;
  }
  if (IS("empty message")) return (void)!write(DECODER_CHILD_PROGRESS, "", 0), 0;
  if (IS("exits early")) _exit(0);
  // Attacks
  send_tile(job, 0);
  if (IS("open")) open("/etc/passwd", O_RDONLY);
  if (IS("openat2")) syscall(437, -100, "/etc/passwd", NULL, 0);
  if (IS("socket")) socket(AF_INET, SOCK_STREAM, 0);
  if (IS("unix socket")) socket(AF_UNIX, SOCK_STREAM, 0);
  if (IS("sendmsg")) {
    struct msghdr header = {0};
    sendmsg(DECODER_CHILD_PROGRESS, &header, 0);
  }
  if (IS("exec")) execl("/bin/true", "true", (char *)NULL);
  if (IS("fork")) fork();
  if (IS("clone")) syscall(SYS_clone, 0, 0, 0, 0, 0);
  if (IS("clone3")) syscall(435, NULL, 0);
  if (IS("ptrace")) ptrace(PTRACE_TRACEME, 0, NULL, NULL);
  if (IS("read the memory of the zygote")) syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
  if (IS("kill the zygote")) syscall(SYS_kill, syscall(SYS_getpid) - 1, 9);
  if (IS("signal another process")) syscall(SYS_tgkill, 1, 1, 0);
  if (IS("executable memory")) mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (IS("make memory executable")) mprotect(job->slots[0], 4096, PROT_READ | PROT_EXEC);
  if (IS("map a descriptor")) mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, DECODER_CHILD_PAYLOAD, 0);
  if (IS("io_uring")) syscall(425, 1, NULL);
  if (IS("bpf")) syscall(SYS_bpf, 0, NULL, 0);
  if (IS("user namespace")) syscall(SYS_unshare, 0x10000000);
  if (IS("change limits")) syscall(SYS_prlimit64, 0, 0, NULL, NULL);
  if (IS("write to the payload")) syscall(SYS_pwrite64, DECODER_CHILD_PAYLOAD, "x", 1, 0);
  if (IS("read another descriptor")) (void)!read(DECODER_CHILD_PAYLOAD, action, 1);
#if defined(__x86_64__)
  // The same numbers mean other calls in the interfaces of 32-bit programs.
  if (IS("32-bit call")) __asm__ volatile("int $0x80" : : "a"(20) : "memory");
  if (IS("x32 call")) syscall(0x40000000 + 39);
#endif
  if (IS("allocate 4 GB")) {
    // Volatile, so that the compiler does not remove the allocation.
    void *volatile memory = malloc((size_t)4 << 30);
    return memory ? 0 : DECODER_REASON_MALFORMED;
  }
  if (IS("allocate in small blocks")) {
    while (true) {
      char *volatile memory = malloc(1000);
      // Crashes at last, as codecs do that don't check.
      memory[0] = 1;
    }
  }
  if (IS("allocate and abort")) {
    void *volatile memory = malloc((size_t)4 << 30);
    if (!memory) abort();
  }
  if (IS("map 4 GB") &&
      mmap(NULL, (size_t)4 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
    return DECODER_REASON_MEMORY;
  if (IS("loop") || IS("loop without CPU limit")) run_forever();
  if (IS("wait"))
    while (read(DECODER_CHILD_PROGRESS, action, sizeof action) > 0) {
    }
  if (IS("crash")) *(volatile int *)8 = 1;
  if (IS("abort")) abort();
  if (IS("stack overflow") && recurse(1 << 20) == 4711) return DECODER_REASON_MALFORMED;
  if (IS("illegal instruction")) __builtin_trap();
  return 0;
}

int main(void) {
  static const decoder_codec codec = {"test", describe, NULL, decode};
  return decoder_main(&codec);
}
