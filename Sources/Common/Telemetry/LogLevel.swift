import Logging
import Synchronization

/// The lowest level that is logged, shared by all loggers of a process. It can change while they are used.
package final class LogLevel: Sendable {
  private static let levels = Logger.Level.allCases

  /// An index of `levels`.
  private let index: Atomic<Int>

  package init(_ level: Logger.Level) { index = Atomic(Self.index(of: level)) }

  package var level: Logger.Level {
    get { Self.levels[index.load(ordering: .relaxed)] }
    set { index.store(Self.index(of: newValue), ordering: .relaxed) }
  }

  private static func index(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }
}
