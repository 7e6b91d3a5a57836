import Synchronization

/// A request to stop, raised once and read often: what a render looks at between batches of rows.
package final class StopFlag: Sendable {
  private let raised = Atomic<Bool>(false)

  package init() {}

  package var isRaised: Bool { raised.load(ordering: .relaxed) }

  package func raise() { raised.store(true, ordering: .relaxed) }
}
