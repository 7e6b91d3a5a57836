/// Why the locations in a file could not be removed. In each case but the last one the file itself is the reason, and
/// it can't be served to a caller who may not read locations.
package enum LocationRemovalError: Error, Sendable, Hashable {
  /// There is no safe way for this kind of file or block. The text is a noun: "an XMP packet in UTF-16".
  case unsupported(String)
  /// A structure that may hold locations violates its format. `offset` counts from the start of the file, or of the
  /// block where only the block is known.
  case malformed(String, offset: Int64)
  /// Bytes of a location also belong to something that has to stay.
  case overlap(offset: Int64)
  /// A named limit was exceeded.
  case limitExceeded(String, limit: Int, found: Int)
  /// The source failed with this `errno`.
  case readFailed(code: Int32)

  /// The same error with its offset counted from a position `start` bytes earlier.
  package func shifted(by start: Int64) -> LocationRemovalError {
    switch self {
    case .malformed(let what, let offset): .malformed(what, offset: offset + start)
    case .overlap(let offset): .overlap(offset: offset + start)
    case .unsupported, .limitExceeded, .readFailed: self
    }
  }
}

extension LocationRemovalError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unsupported(let what): "places can't be removed from \(what)"
    case .malformed(let what, let offset): "\(what), at byte \(offset)"
    case .overlap(let offset): "a place shares bytes with something else, at byte \(offset)"
    case .limitExceeded(let name, let limit, let found): "\(name) is \(found), the limit is \(limit)"
    case .readFailed(let code): "the file can't be read (error \(code))"
    }
  }
}
