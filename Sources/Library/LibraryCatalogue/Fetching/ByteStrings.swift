/// Many short byte strings in one buffer: ten thousand identifiers in two allocations.
///
/// String `i` is `bytes[ends[i - 1]..<ends[i]]`, and starts at 0 for the first one.
package struct ByteStrings: Sendable, Hashable {
  package private(set) var bytes: [UInt8] = []
  /// The end of each string in `bytes`.
  package private(set) var ends: [UInt32] = []

  package init() {}

  package var count: Int { ends.count }

  package subscript(index: Int) -> ArraySlice<UInt8> {
    bytes[(index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index])]
  }

  /// Calls `body` with each string, in order. The memory is valid only during the call.
  @inlinable
  package func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      for end in ends {
        body(UnsafeRawBufferPointer(rebasing: bytes[start..<Int(end)]))
        start = Int(end)
      }
    }
  }

  /// The strings as text; invalid UTF-8 is repaired.
  package var texts: [String] { (0..<count).map { String(decoding: self[$0], as: UTF8.self) } }

  mutating func reserveCapacity(_ count: Int, bytesEach: Int) {
    ends.reserveCapacity(count)
    bytes.reserveCapacity(count * bytesEach)
  }

  package mutating func append(_ string: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: string)
    ends.append(UInt32(bytes.count))
  }
}
