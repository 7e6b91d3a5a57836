import HTTPCore
import Synchronization

/// What one loop counts. Only the loop writes, so that a count is a load and a store and no core waits for another; others
/// read.
final class LoopCounters: Sendable {
  private let sent = Atomic<Int>(0)
  private let prepared = Atomic<Int>(0)
  private let success = Atomic<Int>(0)
  private let notModified = Atomic<Int>(0)
  private let redirection = Atomic<Int>(0)
  private let clientError = Atomic<Int>(0)
  private let serverError = Atomic<Int>(0)

  func sent(_ bytes: Int) { Self.add(bytes, to: sent) }

  func answered(_ status: HTTPStatus, isPrepared: Bool) {
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
    statistics.preparedAnswers += value(prepared)
    statistics.answers[.success, default: 0] += value(success)
    statistics.answers[.notModified, default: 0] += value(notModified)
    statistics.answers[.redirection, default: 0] += value(redirection)
    statistics.answers[.clientError, default: 0] += value(clientError)
    statistics.answers[.serverError, default: 0] += value(serverError)
  }

  private static func add(_ amount: Int, to counter: borrowing Atomic<Int>) {
    counter.store(counter.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }
}
