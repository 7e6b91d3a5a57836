import CBrotli

#if canImport(Glibc)
  import Glibc
#endif

/// Expands metadata that is compressed with Brotli (RFC 7932), within bounds.
///
/// libbrotli runs in this process, as Expat and libexif do for the same metadata: it is memory that is limited here. A
/// decoder allocates up to a window of 16 MiB whatever the data say, so an allocation beyond the limit fails.
package enum BrotliBlock {
  /// Bytes that the decoder may allocate: its state, and a window for the largest block that is read.
  static let allocationBytes = 1 << 20

  /// The first bytes of an expanded block, at most `limit`; fewer if the block is damaged or ends early.
  package static func prefix(of compressed: ArraySlice<UInt8>, limit: Int) -> [UInt8] {
    let decoder = BrotliDecoderCreateInstance(
      { _, bytes in bytes <= BrotliBlock.allocationBytes ? malloc(bytes) : nil }, { _, memory in free(memory) }, nil)
    guard let decoder else { return [] }
    defer { BrotliDecoderDestroyInstance(decoder) }
    return [UInt8](unsafeUninitializedCapacity: limit) { output, filled in
      compressed.withUnsafeBufferPointer { input in
        var (next, available) = (input.baseAddress, input.count)
        var (place, space) = (output.baseAddress, limit)
        // One call: it ends with the input, with the space, or with an error.
        _ = BrotliDecoderDecompressStream(decoder, &available, &next, &space, &place, nil)
        filled = limit - space
      }
    }
  }
}
