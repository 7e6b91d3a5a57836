import MediaMetadata

/// Reads big-endian fields of a block in order.
struct ByteFields {
  /// The position of the block in the file, for messages.
  private let start: Int64
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>, at start: Int64) {
    rest = bytes
    self.start = start
  }

  /// An unsigned number of at most eight bytes. A value too large for `Int` becomes `Int.max`; zero bytes give 0.
  mutating func number(_ bytes: Int) throws(LocationRemovalError) -> Int {
    Int(clamping: try take(bytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  mutating func take(_ bytes: Int) throws(LocationRemovalError) -> ArraySlice<UInt8> {
    guard bytes >= 0, bytes <= rest.count else {
      throw .malformed("a structure that ends too early", offset: start)
    }
    defer { rest = rest.dropFirst(bytes) }
    return rest.prefix(bytes)
  }

  /// Text up to its NUL or the end.
  mutating func text() -> String {
    let bytes = rest.prefix { $0 != 0 }
    rest = rest.dropFirst(bytes.count + 1)
    return String(decoding: bytes, as: UTF8.self)
  }
}
