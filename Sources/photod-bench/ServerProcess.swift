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
    Running.add(process.processIdentifier)
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
    Running.remove(identifier)
  }

  /// Who has to be ended with this process when it is told to end.
  private enum Running {
    private static let processes = Mutex<Set<Int32>>([])
    // Because a signal's handler may do no more than write: it is set once, before there is a handler.
    private nonisolated(unsafe) static var told: Int32 = -1

    /// Waits for a signal on a thread of its own. Signals are handled and not ignored, since programs that are started
    /// inherit what is ignored.
    private static let watch: Void = {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { return }
      told = ends[1]
      for number in [SIGINT, SIGTERM] { signal(number) { _ in write(Running.told, "!", 1) } }
      let end = ends[0]
      Thread.detachNewThread {
        var byte: UInt8 = 0
        while read(end, &byte, 1) != 1 {}
        for process in processes.withLock({ $0 }) { kill(-process, SIGTERM) }
        TemporaryFolder.removeAll()
        _exit(1)
      }
    }()

    static func add(_ process: Int32) {
      watch
      processes.withLock { _ = $0.insert(process) }
    }

    static func remove(_ process: Int32) { processes.withLock { _ = $0.remove(process) } }
  }
}
