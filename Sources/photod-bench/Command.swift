#if canImport(Glibc)
  import Glibc
#endif

/// Why a measurement could not be made.
struct BenchError: Error, CustomStringConvertible {
  let description: String
}

/// A program that is run to its end and accounted for.
struct Command {
  private let arguments: [String]

  init(_ arguments: [String]) {
    self.arguments = arguments
  }

  /// Runs it with its output thrown away. User and system seconds, by the kernel's account of the finished process.
  @discardableResult
  func run() throws -> Double {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    let pointers = arguments.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    var identifier = pid_t()
    let result = posix_spawnp(&identifier, arguments[0], &actions, nil, pointers + [nil], environ)
    guard result == 0 else {
      throw BenchError(description: "\(arguments[0]) can't be started; scripts/bench installs what is missing")
    }
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(identifier, &status, 0, &usage) == identifier, status == 0 else {
      throw BenchError(description: "failed: \(arguments.joined(separator: " "))")
    }
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }
}
