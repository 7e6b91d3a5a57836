import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Thrown by ``eventually(_:for:longestPause:fileID:line:_:)`` at the time limit.
package struct PollingTimeout: Error, CustomStringConvertible {
  package let description: String
}

/// Polls a condition until it is true, for tests that wait for other threads or processes. Pauses between the checks
/// grow from 50 µs, to leave the processors to the awaited work.
///
/// - Parameters:
///   - what: the awaited event, for the error's text; evaluated only then.
///   - limit: long, because other tests use the processors too.
///   - longestPause: in microseconds.
///   - isSo: the condition.
package func eventually(
  _ what: @autoclosure () -> String = "it", for limit: Duration = .seconds(120), longestPause: UInt32 = 2000,
  fileID: String = #fileID, line: Int = #line, _ isSo: () throws -> Bool
) throws {
  let end = ContinuousClock.now + limit
  var pause: UInt32 = 50
  while try !isSo() {
    guard ContinuousClock.now < end else {
      throw PollingTimeout(description: "\(fileID):\(line): \(what()) never came")
    }
    usleep(pause)
    pause = min(2 * pause, longestPause)
  }
}

/// The same without blocking a thread. A cancelled test continues to wait: the work ends by itself.
package func eventually(
  _ what: @autoclosure () -> String = "it", for limit: Duration = .seconds(120), longestPause: UInt32 = 2000,
  fileID: String = #fileID, line: Int = #line, _ isSo: () throws -> Bool
) async throws {
  let end = ContinuousClock.now + limit
  var pause: UInt32 = 50
  while try !isSo() {
    guard ContinuousClock.now < end else {
      throw PollingTimeout(description: "\(fileID):\(line): \(what()) never came")
    }
    try? await Task.sleep(for: .microseconds(pause))
    pause = min(2 * pause, longestPause)
  }
}
