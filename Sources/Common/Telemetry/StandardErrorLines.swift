// Standard error may be a pipe whose reader has stalled, or a stopped terminal. A line must not block the thread that logs it:
// after a short wait it is dropped and counted, and so are further lines until there is room again.

import Logging
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Writes lines to standard error for all loggers of the process.
final class StandardErrorLines: Sendable {
  static let shared = StandardErrorLines(descriptor: STDERR_FILENO)

  /// How long the first line without room waits. Others that are logged meanwhile wait for it.
  private static let waitMilliseconds: Int32 = 100

  private let descriptor: Int32
  /// Lines that were dropped since the last one that was written. The lock also keeps lines whole.
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
          millisecondsSince1970: LogLines.now(), level: .warning, label: "log", message: "lines dropped")
        note.add("count", "\(dropped)")
        note.end()
        dropped = 0
        put(note.bytes)
      }
      put(line)
    }
  }

  /// Whether a page can be written without waiting (pipe(7)). Lines are shorter. A descriptor that can't be polled, such
  /// as a file, always has room.
  private func hasRoom(waiting milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&request, 1, milliseconds) != 0
  }

  private func put(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in _ = Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
  }
}
