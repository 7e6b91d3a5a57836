import AccessControl
import HTTPCore

/// The key of a prepared response: the bytes of a request that decide its response, and the caller's access class.
enum PreparedKey {
  /// A request with a longer key has no prepared response.
  private static let maximumBytes = 1024

  /// Seeded per process, so that clients can't construct colliding requests.
  static func hash(_ key: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: key)
    return hasher.finalize()
  }

  /// Builds the key from the parts of a request that affect the response, each followed by a NUL. Fields hold no NUL,
  /// so the parts can't run together.
  static func withBytes<Result>(
    of head: RequestHead, access: AccessClass, variesByOrigin: Bool, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result? {
    withUnsafeTemporaryAllocation(byteCount: maximumBytes, alignment: 16) { key in
      key.storeBytes(of: access.rawValue, as: UInt64.self)
      var count = MemoryLayout<UInt64>.size
      func add(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard count + bytes.count + 1 <= key.count else { return false }
        UnsafeMutableRawBufferPointer(rebasing: key[count...]).copyMemory(from: bytes)
        count += bytes.count
        key[count] = 0
        count += 1
        return true
      }
      func add(_ name: HeaderName) -> Bool {
        // An absent Accept accepts everything, an empty one nothing, so they need different keys. No field holds this
        // byte.
        guard head.has(name) else { return withUnsafeBytes(of: UInt8(1)) { add($0) } }
        return head.withSingleValue(of: name) { add($0) } ?? false
      }
      guard head.withTarget({ add($0) }), add(.host), add(.accept) else { return nil }
      if variesByOrigin, !add(.origin) { return nil }
      return body(UnsafeRawBufferPointer(rebasing: key[..<count]))
    }
  }
}
