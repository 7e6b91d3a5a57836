/// Why a decode produced no picture. Each case has one answer for clients.
package enum DecoderError: Error, Sendable, Hashable {
  /// The codec can't be used on this machine: 415, naming ``DecoderCodec/libraryPackage``.
  case unavailable(DecoderCodec, DecoderUnavailability)
  /// The picture can't be decoded: 422. The same file would fail again.
  case failed(DecoderCodec, DecoderFailure)
  /// The payload ended before its extents: the original was changed or truncated since its header was read.
  case inputChanged
  /// The worker ended for a reason outside of the picture, such as a killed or stopped process, or a machine without
  /// memory: 503.
  case interrupted(DecoderCodec)
  /// The request exceeds a limit of the protocol: 422.
  case requestTooLarge(DecodeLimit, limit: Int, found: Int)
  case cancelled
}

extension DecoderError {
  /// Whether another codec should be tried: this one can't be used, or does not support the picture.
  var isOfCodec: Bool {
    switch self {
    case .unavailable, .failed(_, .unsupported): true
    default: false
    }
  }
}

/// A limit of the protocol for requests.
package enum DecodeLimit: String, Sendable, Hashable {
  case tiles, extents, parameterBytes, side, rowBytes
}

/// Why a codec can't be used.
package enum DecoderUnavailability: Error, Sendable, Hashable {
  /// There is no such program in the folder of decoders.
  case notInstalled
  /// The program ended before it was ready; most likely the codec's library is missing.
  case notStarting
  /// The program is of another version of photod.
  case otherVersion
  /// The kernel lacks parts of the sandbox that `decoders.sandbox` requires.
  case sandboxIncomplete(missing: SandboxParts)
  /// Its process was killed while it started, or ended several times; it is started again, after a pause.
  case restarting
}

/// Why a picture failed. The raw values are those of the metric's label.
package enum DecoderFailure: String, Sendable, Hashable, CaseIterable {
  /// The codec found damage.
  case malformed
  /// The codec does not support a feature of the picture.
  case unsupported
  /// Size, depth or chroma differ from the container's.
  case mismatch
  /// The decode needed more memory than its limit.
  case memory
  /// The decode used more CPU time than its limit.
  case time
  /// The decode made no progress, twice: the first time, the machine may have been the reason.
  case stalled
  /// The process crashed.
  case crashed
  /// The process made a forbidden system call.
  case sandbox
  /// The process sent messages that contradict the request.
  case protocolViolation = "protocol"
}
