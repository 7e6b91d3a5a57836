/// Why a picture could not be read or written.
package enum CodecError: Error, Sendable, Hashable {
  /// The bytes violate their format. `offset` is the position in the file, if it is known.
  case malformed(String, offset: Int64?)
  /// Well-formed, but no decoder supports this kind.
  case unsupported(String)
  /// A named limit was exceeded.
  case limitExceeded(String, limit: Int, found: Int)
  /// The file ended inside its header, or before anything could be shown.
  case truncated(offset: Int64)
  /// The source failed with this `errno`.
  case readFailed(code: Int32)
  case outOfMemory
  /// The encoder failed with this message; the source is not the cause.
  case encodingFailed(String)
  /// The stop flag was raised.
  case stopped
}

extension CodecError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .malformed(let what, let offset?): "\(what), at byte \(offset)"
    case .malformed(let what, nil): what
    case .unsupported(let what): what
    case .limitExceeded(let name, let limit, let found): "\(name) is \(found), the limit is \(limit)"
    case .truncated(let offset): "the file ends at byte \(offset), before its picture does"
    case .readFailed(let code): "the file can't be read (error \(code))"
    case .outOfMemory: "out of memory"
    case .encodingFailed(let what): "the output can't be written: \(what)"
    case .stopped: "stopped"
    }
  }
}
