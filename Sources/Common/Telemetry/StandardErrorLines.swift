// Standard error may be a pipe whose reader has stalled, or a stopped terminal. A line must not block the thread that
// logs it: after a short wait it is dropped and counted, and so are further lines until there is room again. Only the
// access log, which has a queue of its own, waits for the reader.
//
// Both write at the same time. A pipe does not mix a write of at most `PIPE_BUF` bytes with those of other threads
// (pipe(7)), so each write has whole lines and at most that many bytes. Only a line that is longer can be broken.

import Logging
import Primitives
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Writes lines to standard error for all loggers of the process.
package final class StandardErrorLines: Sendable {
  package static let shared = StandardErrorLines(descriptor: STDERR_FILENO)

  /// `PIPE_BUF` of Linux.
  private static let atomicBytes = 4096

  /// How long the first line without room waits. Lines that are logged during that time wait too.
  private static let waitMilliseconds: Int32 = 100

  private let descriptor: Int32
  /// Lines that were dropped since the last one that was written.
  private let dropped = Mutex(0)

  /// - Parameter descriptor: open for writing. Not closed.
  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Writes a line, with its newline, or drops it.
  func write(_ line: [UInt8], _ format: LogFormat) {
    dropped.withLock { dropped in
      guard hasRoom(waiting: dropped == 0 ? Self.waitMilliseconds : 0) else {
        dropped += 1
        return
      }
      if dropped > 0 {
        var note = LogLines(format)
        note.begin(
          millisecondsSince1970: SystemTime.milliseconds, level: .warning, label: "log", message: "lines dropped")
        note.add("count", "\(dropped)")
        note.end()
        dropped = 0
        put(note.bytes)
      }
      put(line)
    }
  }

  /// Writes lines, each with its newline, and waits while there is no room: call it on a thread that may block. Takes
  /// no lock, so that the threads that log do not wait too. Stops at an error, as when the reader has gone.
  package func writeBlocking(_ lines: [UInt8]) {
    var rest = lines[...]
    while !rest.isEmpty {
      let part = rest.prefix(Self.atomicBytes)
      let end = part.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? part.endIndex
      guard writeAll(rest[..<end]) else { return }
      rest = rest[end...]
    }
  }

  private func writeAll(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        // Another process may have made the pipe or the terminal non-blocking.
        _ = hasRoom(waiting: -1)
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }

  /// Whether a page can be written without waiting (pipe(7)). Lines are shorter. A descriptor that can't be polled,
  /// such as a file, always has room.
  private func hasRoom(waiting milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&request, 1, milliseconds) != 0
  }

  private func put(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in _ = Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
  }
}
