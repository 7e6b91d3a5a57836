import Synchronization

/// A request to stop, raised once and read often, for example between batches of rows in a render.
package final class StopFlag: Sendable {
  private let raised = Atomic<Bool>(false)
  private let parts: [StopFlag]

  package init() {
    parts = []
  }

  /// A flag for shared work: raised once all of `parts` are raised.
  package init(allOf parts: [StopFlag]) {
    self.parts = parts
  }

  package var isRaised: Bool {
    raised.load(ordering: .relaxed) || (!parts.isEmpty && parts.allSatisfy(\.isRaised))
  }

  package func raise() { raised.store(true, ordering: .relaxed) }
}
