@testable import ObjectStores

/// The forms that wait, of operations for which no scan or tool waits.
extension ObjectStore {
  func waitToGet(_ key: ObjectKey, maximumBytes: Int) throws(ObjectStoreError) -> [UInt8] {
    try wait { get(key, maximumBytes: maximumBytes, $0) }
  }

  func waitToMove(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey
  ) throws(ObjectStoreError) { try wait { move(key, of: identity, to: newKey, $0) } }
}
