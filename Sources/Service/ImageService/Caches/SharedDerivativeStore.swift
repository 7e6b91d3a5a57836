/// A store outside of this machine that several daemons share: one object for the derivatives of each original. Module
/// `SharedDerivatives` implements it.
///
/// An object is written whole and never changes: its name stands for the content. Nothing here fails. What can't be read
/// is made from the original, and what can't be written stays on the local disk only.
package protocol SharedDerivativeStore: Sendable {
  /// Reads an object, once for all who wait for it.
  ///
  /// - Parameters:
  ///   - take: checks the content and keeps it; returns what is wrong with it, or `nil`. Called on a queue of the store,
  ///     for one of those who wait.
  ///   - ended: called once, later and on any queue, whether or not the object was read, unless the read is cancelled
  ///     before; must return quickly.
  /// - Returns: `nil` if the store is not asked, because it is suspended or had no such object a moment ago. Then nothing
  ///   is called.
  func read(
    _ name: String, take: @escaping @Sendable ([UInt8]) -> String?, ended: @escaping @Sendable () -> Void
  ) -> RemoteWait?

  /// Writes an object in the background, unless it is known to be there. It is dropped and counted if too many wait.
  ///
  /// - Parameter content: called later, on a queue of the store; `nil` if there is no longer anything to write.
  func write(_ name: String, content: @escaping @Sendable () -> [UInt8]?)

  /// Whether an object is there; `nil` if the store can't say now. Waits for the store: for background work only.
  func waitForPresence(of name: String) -> Bool?

  /// Writes an object, and waits for it: for background work only.
  func waitToWrite(_ name: String, _ bytes: [UInt8])
}
