import CPhotoFixtures

#if canImport(Glibc)
  import Glibc
#endif

/// A picture of 16 bits a channel, for tests of PNGs. Sample c of pixel (x, y) at `(y * width + x) * channels + c`.
package struct DeepPixels: Sendable, Equatable {
  package let width: Int
  package let height: Int
  /// 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA.
  package let channels: Int
  package var samples: [UInt16]

  package init(width: Int, height: Int, channels: Int, _ sample: (_ x: Int, _ y: Int, _ channel: Int) -> UInt16) {
    (self.width, self.height, self.channels) = (width, height, channels)
    samples = (0..<width * height * channels).map { i in
      sample(i / channels % width, i / channels / width, i % channels)
    }
  }

  /// As a PNG.
  ///
  /// - Parameter chunks: complete chunks after IHDR.
  package func png(chunks: [UInt8] = []) -> [UInt8] {
    let type: UInt8 = [0, 4, 2, 6][channels - 1]
    var rows: [UInt8] = []
    for y in 0..<height {
      rows.append(0)
      for sample in samples[y * width * channels..<(y + 1) * width * channels] {
        rows += [UInt8(sample >> 8), UInt8(sample & 255)]
      }
    }
    let header = PNGChunks.bigEndian(UInt32(width)) + PNGChunks.bigEndian(UInt32(height)) + [16, type, 0, 0, 0]
    return PNGChunks.signature + PNGChunks.chunk("IHDR", header) + chunks
      + PNGChunks.chunk("IDAT", PNGChunks.stored(rows)) + PNGChunks.chunk("IEND", [])
  }

  /// The samples of a PNG by libpng, and the file's bits a channel; `nil` if it is not a PNG. Samples of 8 bits are
  /// repeated in the lower byte.
  package static func decoded(_ file: [UInt8]) -> (pixels: DeepPixels, bits: Int)? {
    var (width, height, channels, bits) = (UInt32(0), UInt32(0), Int32(0), Int32(0))
    guard let memory = fixture_decode_samples(file, file.count, &width, &height, &channels, &bits) else { return nil }
    defer { free(memory) }
    let count = Int(width) * Int(height) * Int(channels)
    let pixels = DeepPixels(
      width: Int(width), height: Int(height), channels: Int(channels),
      samples: Array(UnsafeBufferPointer(start: memory, count: count)))
    return (pixels, Int(bits))
  }

  private init(width: Int, height: Int, channels: Int, samples: [UInt16]) {
    (self.width, self.height, self.channels, self.samples) = (width, height, channels, samples)
  }
}
