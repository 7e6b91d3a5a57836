import PhotoModel

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
  /// The format's decoder runs in a process of its own, and is not there. `libraryPackage`: the package of Debian
  /// with the library of the decoder that would be used.
  case decoderUnavailable(SourceFormat, libraryPackage: String? = nil)
  /// The decoder's process failed for this picture, and would fail again.
  case decoderFailed(SourceFormat, DecoderFailureReason)
  /// The decoder's process ended for a reason outside of the picture: a later attempt may succeed.
  case decoderInterrupted
  /// The format's encoder runs in a process of its own, and is not there.
  case encoderUnavailable(OutputFormat)
  /// The encoder's process ended for a reason outside of the picture: a later attempt may succeed.
  case encoderInterrupted
  /// A side of the picture is longer than the format allows.
  case outputTooLarge(OutputFormat, limit: Int, found: Int)
}

extension CodecError {
  /// Whether the file is the cause, so that another attempt would fail too.
  package var isOfFile: Bool {
    switch self {
    case .malformed, .unsupported, .limitExceeded, .truncated, .decoderFailed: true
    case .readFailed, .outOfMemory, .encodingFailed, .stopped, .decoderUnavailable, .decoderInterrupted,
      .encoderUnavailable, .encoderInterrupted, .outputTooLarge:
      false
    }
  }

  /// Whether the format's decoder is missing, so that only what needs no decoder can be shown.
  package var isOfMissingDecoder: Bool {
    if case .decoderUnavailable = self { true } else { false }
  }
}

/// Why a decoder's process failed.
package enum DecoderFailureReason: String, Sendable, Hashable, CaseIterable {
  /// The codec found damage.
  case malformed
  /// The codec does not support a feature of the picture.
  case unsupported
  /// Size, depth or chroma differ from the container's.
  case mismatch
  /// It exceeded its limit of memory, or of CPU time.
  case memory, time
  /// It made no progress, twice.
  case stalled
  /// The process crashed, or made a forbidden system call.
  case crashed

  package var text: String {
    switch self {
    case .malformed: "found damaged data"
    case .unsupported: "does not support the picture"
    case .mismatch: "found another picture than the container describes"
    case .memory: "needs more memory than such a picture may take"
    case .time: "takes longer than such a picture may take"
    case .stalled: "made no progress"
    case .crashed: "crashed"
    }
  }
}

extension CodecError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .malformed(let what, let offset?): "\(what), at byte \(offset)"
    case .malformed(let what, nil): what
    case .unsupported(let what): what
    case .limitExceeded(let name, let limit, let found): "\(name) is \(found), the limit is \(limit)"
    case .truncated(let offset): "the file ends at byte \(offset), before the end of the picture"
    case .readFailed(let code): "the file can't be read (error \(code))"
    case .outOfMemory: "out of memory"
    case .encodingFailed(let what): "the output can't be written: \(what)"
    case .stopped: "stopped"
    case .decoderUnavailable(let format, _): "there is no decoder for \(format.rawValue)"
    case .decoderFailed(let format, let reason): "the decoder for \(format.rawValue) \(reason.text)"
    case .decoderInterrupted: "the decoder was interrupted"
    case .encoderUnavailable(let format): "there is no encoder for \(format.rawValue)"
    case .encoderInterrupted: "the encoder was interrupted"
    case .outputTooLarge(let format, let limit, let found):
      "the output has \(found) pixels on a side, \(format.rawValue) has at most \(limit)"
    }
  }
}
