import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A server started by a benchmark. It and its child processes are terminated with this object, or when the benchmark
/// is interrupted.
final class ServerProcess {
  /// The first line on standard output, if the start waited for it.
  let firstLine: String
  private let process = Process()

  var identifier: Int32 { process.processIdentifier }

  /// - Parameters:
  ///   - arguments: the program, searched for in PATH, and its arguments.
  ///   - environment: variables in addition to this process's own.
  ///   - printsWhenReady: whether to wait for its first line of output.
  ///   - showsErrors: whether to show its standard error.
  init(
    _ arguments: [String], environment: [String: String] = [:], printsWhenReady: Bool, showsErrors: Bool = false
  ) throws {
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    if !showsErrors { process.standardError = FileHandle.nullDevice }
    let output = Pipe()
    process.standardOutput = printsWhenReady ? output : FileHandle.nullDevice
    try process.run()
    let started = process.processIdentifier
    Self.running.withLock { _ = $0.insert(started) }
    var line = Data()
    while printsWhenReady, line.last != 0x0A {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { break }
      line += more
    }
    firstLine = String(decoding: line, as: UTF8.self)
  }

  deinit {
    // Foundation gives each process its own process group, and waits until all processes of the group have ended.
    kill(-identifier, SIGTERM)
    process.waitUntilExit()
    let ended = identifier
    Self.running.withLock { _ = $0.remove(ended) }
  }

  private static let running = Mutex<Set<Int32>>([])

  /// Terminates all running servers, when a benchmark is interrupted.
  static func endAll() {
    for process in running.withLock({ $0 }) { kill(-process, SIGTERM) }
  }
}
