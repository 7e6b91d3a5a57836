import Foundation
import PhotoFixtures

#if canImport(Glibc)
  import Glibc
#endif

/// How often each writer is killed. The variable PHOTOD_KILLS sets another number: `PHOTOD_KILLS=1500` gives about
/// 10,000 kills in total.
enum Kills {
  static let count =
    ProcessInfo.processInfo.environment["PHOTOD_KILLS"].flatMap { Int($0) } ?? Sampling.count(3, thorough: 100)
}

/// A command of photod in its own process. The end of its standard output means that it has ended.
final class KilledProcess {
  let process = Process()
  private let output = Pipe()

  init(_ arguments: [String], environment: [String: String] = [:]) throws {
    process.executableURL = URL(filePath: TestDaemon.binary)
    process.arguments = arguments
    process.environment = TestDaemon.environment.merging(environment) { $1 }
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  /// Waits until it has printed a line, or has ended.
  func readLine() {
    while true {
      let bytes = output.fileHandleForReading.availableData
      if bytes.isEmpty || bytes.contains(UInt8(ascii: "\n")) { return }
    }
  }

  /// Reads the output until the process ends, and kills it after `milliseconds` if it has not ended by then.
  ///
  /// - Returns: its exit status; `nil` if it was killed.
  func end(killingAfter milliseconds: Int? = nil) -> Int32? {
    let descriptor = output.fileHandleForReading.fileDescriptor
    let deadline = milliseconds.map { ContinuousClock.now + .milliseconds($0) }
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let left =
        deadline.map { Int32(clamping: Int((($0 - ContinuousClock.now) / .milliseconds(1)).rounded(.up))) } ?? -1
      if deadline != nil && left <= 0 || poll(&watched, 1, left) == 0 {
        kill(process.processIdentifier, SIGKILL)
        break
      }
      if read(descriptor, &chunk, chunk.count) <= 0 { break }
    }
    process.waitUntilExit()
    return process.terminationReason == .exit ? process.terminationStatus : nil
  }
}
