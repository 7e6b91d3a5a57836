import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Why a measurement could not be made.
struct BenchError: Error, CustomStringConvertible {
  let description: String
}

/// A program that is run to its end and accounted for.
struct Command {
  /// By the kernel's account of the finished process.
  struct Usage {
    /// User and system time.
    let cpuSeconds: Double
    /// From its start to its end.
    let seconds: Double
    /// The most that was resident. What starts a program is counted with it until it has become that program, so this is
    /// never less than what this process has resident itself.
    let peakBytes: Int
  }

  private let arguments: [String]
  private let mayFail: Bool

  /// - Parameter mayFail: it ends with an error where only some of what it was asked for could be had.
  init(_ arguments: [String], mayFail: Bool = false) {
    self.arguments = arguments
    self.mayFail = mayFail
  }

  /// Runs it with its output thrown away. User and system seconds.
  @discardableResult
  func run() throws -> Double { try usage().cpuSeconds }

  /// Runs it with its output thrown away.
  ///
  /// - Parameters:
  ///   - stream: what is thrown away.
  ///   - watch: is called with the process, again and again while it runs, and has to rest itself.
  func usage(hiding stream: Int32 = STDOUT_FILENO, watch: ((Int32) -> Void)? = nil) throws -> Usage {
    try usage(redirecting: stream, to: "/dev/null", watch)
  }

  /// Runs it for what it writes to `stream`.
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
    // Complaints of what may fail are no news.
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
