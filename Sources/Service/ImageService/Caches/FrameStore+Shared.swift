// Derivatives in the store that several daemons share. They are copied from it into the disk cache, and from the disk
// cache to it. The rest of the service only uses the disk cache.

import DiskCache
import Dispatch
import PhotoModel

extension FrameStore {
  /// The name of an asset's object in the shared store; `nil` if its derivatives are not shared, or the disk cache
  /// accepts no entries now.
  private func sharedName(of asset: Asset) -> SharedDerivativeName? {
    guard shared != nil, let disk, !disk.statistics.isOff, !disk.statistics.isSuspended else { return nil }
    return SharedDerivativeName(of: asset, isRemote: isRemoteLibrary)
  }

  /// Reads the derivatives of an asset into the disk cache. Waits for nothing.
  ///
  /// - Parameter ended: called once, later and on any queue, whether or not there are derivatives now.
  /// - Returns: `nil` if the shared store is not asked. Then `ended` is not called.
  func readShared(of asset: Asset, ended: @escaping @Sendable () -> Void) -> RemoteWait? {
    guard let shared, let name = sharedName(of: asset) else { return nil }
    return shared.read(name.text, take: { take($0, name, asset) }, ended: ended)
  }

  /// Reads the derivatives of an asset into the disk cache, unless some are there, and waits for the store: for
  /// background work only.
  package func waitForSharedDerivatives(of asset: Asset) {
    guard shared != nil, derivative(of: asset) == nil else { return }
    let ended = DispatchSemaphore(value: 0)
    let read = readShared(of: asset) { ended.signal() }
    if read != nil { ended.wait() }
  }

  /// Writes the derivatives of an asset in the background, once all sizes are in the disk cache.
  func writeShared(of asset: Asset) {
    guard let shared, let name = sharedName(of: asset), isComplete(name, asset) else { return }
    shared.write(name.text) { content(name, asset) }
  }

  /// Whether the shared store has the derivatives of an asset. Waits for the store: for background work only.
  func isInSharedStore(_ asset: Asset) -> Bool {
    guard let shared, let name = sharedName(of: asset) else { return false }
    return shared.waitForPresence(of: name.text) ?? false
  }

  /// Writes the derivatives of an asset if the shared store is known to lack them and the local disk has all sizes.
  /// Waits for the store: for background work only.
  func writeSharedIfMissing(of asset: Asset) {
    guard let shared, let name = sharedName(of: asset), isComplete(name, asset),
      shared.waitForPresence(of: name.text) == false, let content = content(name, asset)
    else { return }
    shared.waitToWrite(name.text, content)
  }

  private func isComplete(_ name: SharedDerivativeName, _ asset: Asset) -> Bool {
    name.entries.allSatisfy { hasDerivative($0.rung, of: asset) }
  }

  /// Keeps the entries of an object in the disk cache. Returns what is wrong with them.
  private func take(_ bytes: [UInt8], _ name: SharedDerivativeName, _ asset: Asset) -> String? {
    do throws(EntryDefect) {
      let entries = try EntrySequence.entries(
        in: bytes, of: name.entries.map(\.key), .derivative, epoch: Self.epochs.derivative)
      guard entries.allSatisfy({ Self.eighths(of: $0) != nil }) else { throw .wrongFormat }
      for ((rung, _), entry) in zip(name.entries, entries) { keep(entry, as: rung, of: asset) }
      return nil
    } catch {
      return error.rawValue
    }
  }

  /// The object of an asset; `nil` if a size is no longer in the disk cache.
  private func content(_ name: SharedDerivativeName, _ asset: Asset) -> [UInt8]? {
    let entries = name.entries.compactMap { rung, key in entry(rung, of: asset).map { (key, $0) } }
    guard entries.count == name.entries.count else { return nil }
    return EntrySequence.bytes(of: entries, .derivative, epoch: Self.epochs.derivative)
  }
}
