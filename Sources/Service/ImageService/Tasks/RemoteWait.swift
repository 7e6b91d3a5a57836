/// A wait for a remote store, which takes no worker: for the download of an original, or for derivatives from the
/// shared store.
package struct RemoteWait: Sendable {
  /// Stops waiting. The work ends if nothing else waits for it.
  package let cancel: @Sendable () -> Void

  /// Stops waiting because the caller's time is over. A download that has begun may go on.
  let expire: @Sendable () -> Void

  /// - Parameter expire: `nil`: like `cancel`.
  package init(cancel: @escaping @Sendable () -> Void, expire: (@Sendable () -> Void)? = nil) {
    self.cancel = cancel
    self.expire = expire ?? cancel
  }
}
