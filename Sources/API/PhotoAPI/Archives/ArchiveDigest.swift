import ImageService

/// A digest of any length of text in bounded memory, as a strong entity tag.
struct ArchiveDigest {
  private static let chunkBytes = 64 << 10

  private var pending: [UInt8] = []

  /// Adds a line. Lines are separated by a byte that no file name has.
  mutating func add(_ line: some Sequence<UInt8>) {
    pending += line
    pending.append(0)
    if pending.count >= Self.chunkBytes { pending = Array(EntityTag.strong(over: pending).utf8) + [0] }
  }

  mutating func add(_ line: String) { add(line.utf8) }

  /// The digest of all lines.
  var entityTag: String { EntityTag.strong(over: pending) }
}
