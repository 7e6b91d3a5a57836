import CPhotodDecoder
import PhotoModel

/// The bytes that the ranges of a request refer to. A worker gets a descriptor to read them, never a path.
package enum DecodePayload: Sendable {
  /// An open file; the worker may read all of it.
  case file(any FileByteSource)
  /// Bytes in memory: a worker gets a sealed copy.
  case bytes([UInt8])

  /// Calls `body` with a descriptor that is valid during the call.
  func withDescriptor<Result>(
    _ codec: DecoderCodec, _ body: (Int32) throws(DecoderError) -> Result
  ) throws(DecoderError) -> Result {
    switch self {
    case .file(let source): return try body(source.descriptor)
    case .bytes(let bytes):
      let number = bytes.withUnsafeBytes { photod_decoder_memory_with($0.baseAddress, $0.count) }
      guard number >= 0 else { throw .interrupted(codec) }
      let memory = Descriptor(number)
      return try body(memory.number)
    }
  }
}
