/// What a job waits for without a worker: the download of its original, or its derivatives from the shared store.
package struct PendingFetch: Sendable {
  /// Stops waiting. The work ends if nothing else waits for it.
  package let cancel: @Sendable () -> Void

  package init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
}
