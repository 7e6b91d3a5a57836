import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The reason why a measurement failed.
struct BenchError: Error, CustomStringConvertible {
  let description: String
}

/// Runs a program to its end and measures it.
struct Command {
  /// The kernel's resource usage of the finished process.
  struct Usage {
    /// User and system time.
    let cpuSeconds: Double
    /// Wall time from start to end.
    let seconds: Double
    /// Peak resident memory. It includes this process's memory at the moment of the fork, so it is never less than what
    /// this process has resident.
    let peakBytes: Int
  }

  private let arguments: [String]
  private let mayFail: Bool

  /// - Parameter mayFail: accept an error status: the program exits with one if some of the requested data are missing.
  init(_ arguments: [String], mayFail: Bool = false) {
    self.arguments = arguments
    self.mayFail = mayFail
  }

  /// Runs it and discards its output. Returns user and system seconds.
  @discardableResult
  func run() throws -> Double { try usage().cpuSeconds }

  /// Runs it with its output thrown away.
  ///
  /// - Parameters:
  ///   - stream: the discarded stream.
  ///   - watch: called repeatedly with the process while it runs; it must sleep itself.
  func usage(hiding stream: Int32 = STDOUT_FILENO, watch: ((Int32) -> Void)? = nil) throws -> Usage {
    try usage(redirecting: stream, to: "/dev/null", watch)
  }

  /// Runs it and returns what it writes to `stream`.
  func text(of stream: Int32 = STDOUT_FILENO) throws -> String {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: file) }
    _ = try usage(redirecting: stream, to: file)
    return String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
  }

  private func usage(
    redirecting stream: Int32, to file: String, _ watch: ((Int32) -> Void)? = nil
  ) throws -> Usage {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, stream, file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    // Error messages of a program that may fail are not shown.
    if mayFail { posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) }
    let pointers = arguments.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    var identifier = pid_t()
    let started = ContinuousClock.now
    let result = posix_spawnp(&identifier, arguments[0], &actions, nil, pointers + [nil], environ)
    guard result == 0 else {
      throw BenchError(description: "\(arguments[0]) can't be started; scripts/bench installs what is missing")
    }
    var status: Int32 = 0
    var usage = rusage()
    var ended: pid_t = 0
    if let watch {
      while true {
        ended = wait4(identifier, &status, WNOHANG, &usage)
        if ended != 0 { break }
        watch(identifier)
      }
    } else {
      ended = wait4(identifier, &status, 0, &usage)
    }
    let wall = (ContinuousClock.now - started) / .seconds(1)
    guard ended == identifier, status == 0 || mayFail else {
      throw BenchError(description: "failed: \(arguments.joined(separator: " ").prefix(1000))")
    }
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return Usage(
      cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime), seconds: wall,
      peakBytes: usage.ru_maxrss * 1024)
  }
}
