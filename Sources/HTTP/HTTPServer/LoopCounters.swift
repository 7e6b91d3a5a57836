import HTTPCore
import Synchronization

/// Counters of one event loop. Only the loop writes, so an increment is a plain load and store without contention
/// between cores. Other threads only read.
final class LoopCounters: Sendable {
  private let sent = Atomic<Int>(0)
  private let prepared = Atomic<Int>(0)
  private let success = Atomic<Int>(0)
  private let notModified = Atomic<Int>(0)
  private let redirection = Atomic<Int>(0)
  private let clientError = Atomic<Int>(0)
  private let serverError = Atomic<Int>(0)

  func countSent(_ bytes: Int) { Self.add(bytes, to: sent) }

  func countResponse(_ status: HTTPStatus, isPrepared: Bool) {
    if isPrepared { Self.add(1, to: prepared) }
    switch status.code {
    case ..<300: Self.add(1, to: success)
    case 304: Self.add(1, to: notModified)
    case ..<400: Self.add(1, to: redirection)
    case ..<500: Self.add(1, to: clientError)
    default: Self.add(1, to: serverError)
    }
  }

  func add(to statistics: inout ServerStatistics) {
    func value(_ counter: borrowing Atomic<Int>) -> Int { counter.load(ordering: .relaxed) }
    statistics.sentBytes += value(sent)
    statistics.preparedResponses += value(prepared)
    statistics.responses[.success, default: 0] += value(success)
    statistics.responses[.notModified, default: 0] += value(notModified)
    statistics.responses[.redirection, default: 0] += value(redirection)
    statistics.responses[.clientError, default: 0] += value(clientError)
    statistics.responses[.serverError, default: 0] += value(serverError)
  }

  private static func add(_ amount: Int, to counter: borrowing Atomic<Int>) {
    counter.store(counter.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }
}
