/// A store outside of this machine that several daemons share: one object for the derivatives of each original. Module
/// `SharedDerivatives` implements it.
///
/// An object is written whole and never changes: its name identifies the content. No method throws: derivatives that
/// can't be read are made from the original, and those that can't be written stay on the local disk only.
package protocol SharedDerivativeStore: Sendable {
  /// Reads an object, once for all callers that wait for it.
  ///
  /// - Parameters:
  ///   - take: checks the content and stores it; returns what is wrong with it, or `nil`. Called on a queue of the
  ///     store, for one of the callers.
  ///   - ended: called once, later and on any queue, whether or not the object was read, unless the read is cancelled
  ///     before; must return quickly.
  /// - Returns: `nil` if no request is sent, because the store is suspended or had no such object a moment ago. Then
  ///   neither closure is called.
  func read(
    _ name: String, take: @escaping @Sendable ([UInt8]) -> String?, ended: @escaping @Sendable () -> Void
  ) -> RemoteWait?

  /// Writes an object in the background, unless it is known to be there. If too many writes wait, it is dropped and
  /// counted.
  ///
  /// - Parameter content: called later, on a queue of the store; `nil` if there is no longer anything to write.
  func write(_ name: String, content: @escaping @Sendable () -> [UInt8]?)

  /// Whether an object is there; `nil` if the store can't say now. Waits for the store: for background work only.
  func waitForPresence(of name: String) -> Bool?

  /// Writes an object, and waits for it: for background work only.
  func waitToWrite(_ name: String, _ bytes: [UInt8])
}
