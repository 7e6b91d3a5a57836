import Synchronization

/// A request to stop, raised once and read often: what a render looks at between batches of rows.
package final class StopFlag: Sendable {
  private let raised = Atomic<Bool>(false)
  private let parts: [StopFlag]

  package init() {
    parts = []
  }

  /// For work that several wait for: raised as soon as each of theirs is.
  package init(allOf parts: [StopFlag]) {
    self.parts = parts
  }

  package var isRaised: Bool {
    raised.load(ordering: .relaxed) || (!parts.isEmpty && parts.allSatisfy(\.isRaised))
  }

  package func raise() { raised.store(true, ordering: .relaxed) }
}
