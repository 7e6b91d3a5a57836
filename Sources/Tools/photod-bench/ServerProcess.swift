import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A server of a benchmark's own, ended with it and with every process that it has begun; also where the benchmark is
/// interrupted.
final class ServerProcess {
  /// What it says on standard output once it is ready, where it was waited for that.
  let firstLine: String
  private let process = Process()

  var identifier: Int32 { process.processIdentifier }

  /// - Parameters:
  ///   - arguments: the program, looked for in PATH, and what it is given.
  ///   - environment: on top of this process's own.
  ///   - speaksWhenReady: its first line is waited for.
  ///   - showsErrors: what it writes to standard error is to be read.
  init(
    _ arguments: [String], environment: [String: String] = [:], speaksWhenReady: Bool, showsErrors: Bool = false
  ) throws {
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    if !showsErrors { process.standardError = FileHandle.nullDevice }
    let output = Pipe()
    process.standardOutput = speaksWhenReady ? output : FileHandle.nullDevice
    try process.run()
    let started = process.processIdentifier
    Self.running.withLock { _ = $0.insert(started) }
    var line = Data()
    while speaksWhenReady, line.last != 0x0A {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { break }
      line += more
    }
    firstLine = String(decoding: line, as: UTF8.self)
  }

  deinit {
    // Foundation gives each a process group of its own, and waits until the last that the process has begun has gone.
    kill(-identifier, SIGTERM)
    process.waitUntilExit()
    let ended = identifier
    Self.running.withLock { _ = $0.remove(ended) }
  }

  private static let running = Mutex<Set<Int32>>([])

  /// Those that are there; for a benchmark that is interrupted.
  static func endAll() {
    for process in running.withLock({ $0 }) { kill(-process, SIGTERM) }
  }
}
