// The daemon's side of the decoder protocol: system calls that Swift's Glibc module does not have.
// Each function returns what its system call returns: -1 with errno set on failure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "decoder_protocol.h"

// Starts a program with `control` as descriptor DECODER_CONTROL, /dev/null as standard input and output, this process's
// standard error, no other descriptors, no environment, default signal actions, and a process group of its own, so that
// a terminal's Ctrl-C does not reach it. posix_spawn(3).
int photod_decoder_spawn(const char *path, int control, pid_t *pid);

// A pair of SOCK_SEQPACKET sockets that are closed on exec.
int photod_decoder_socketpair(int sockets[2]);

// An unnamed file in memory of exactly this many bytes. Its size is sealed: no process can shrink it while it is
// mapped.
int photod_decoder_memory(size_t bytes);
// The same with these contents, which are sealed too.
int photod_decoder_memory_with(const void *contents, size_t bytes);

// Sends one message with descriptors. Never raises SIGPIPE, and does not wait: errno EAGAIN if the socket is full.
int photod_decoder_send(int socket, const void *message, size_t bytes, const int *descriptors, int count);
// Receives one message, and at most one descriptor (or -1). Returns its bytes; 0 at the end; -1 with errno EMSGSIZE for
// a message that is longer than `bytes`. Does not wait: errno EAGAIN.
ssize_t photod_decoder_receive(int socket, void *message, size_t bytes, int *descriptor);

// Sends SIGKILL to the process of a pidfd.
int photod_decoder_kill(int pidfd);
// Waits until a process that this one started has ended, and reaps it. Returns waitpid's status.
int photod_decoder_reap(pid_t pid);

// How a child ended, from waitpid's status: the signal, or 0.
static inline int photod_decoder_signal(int status) { return (status & 0x7f) == 0x7f ? 0 : status & 0x7f; }
