// Limits of memory and CPU time of a decode, computed from its size. Measured with libwebp 1.2.4, libde265 1.0.11,
// dav1d 1.0.0, libjxl 0.7.0 and LibRaw 0.20.2 as the smallest limit under which a decode succeeds, and rounded up. A
// worker that needs more fails. A render reserves at least as much memory: ImageHeader.decoderBytes(eighths:inPlanes:)
// of the module ImageCodec. WorkerPriceTests compare the two.

import PhotoModel

enum DecodeLimits {
  /// Memory that a worker allocates besides its picture: tables and the codec's context.
  private static let fixedBytes = 4 << 20

  /// The decoder's picture, its reference, and metadata for each block; the payload is there twice. libavcodec needs
  /// less than libde265.
  static func hevc(_ tile: PixelSize, _ samples: DecodeRequest.Samples, largestTile: Int) -> Int {
    let picture = tile.width.multipliedClamped(by: tile.height)
    // Two pictures, and two bytes of metadata for each pixel.
    let bytesPerPixel = samples.bytesPerPixelTimesTwo + 2
    return fixedBytes.addedClamped(picture.multipliedClamped(by: bytesPerPixel))
      .addedClamped(largestTile.multipliedClamped(by: 3))
  }

  /// dav1d's picture, a second one for film grain, and metadata for each block.
  static func av1(_ tile: PixelSize, _ samples: DecodeRequest.Samples, largestTile: Int) -> Int {
    let picture = tile.width.multipliedClamped(by: tile.height)
    let bytesPerPixel = samples.bytesPerPixelTimesTwo + 1
    return fixedBytes.addedClamped(picture.multipliedClamped(by: bytesPerPixel))
      .addedClamped(largestTile.multipliedClamped(by: 2))
  }

  /// libavcodec's picture, and tables for each of its blocks; the frame is there twice.
  static func video(_ size: PixelSize, _ samples: DecodeRequest.Samples, largestFrame: Int) -> Int {
    let picture = size.width.addedClamped(64).multipliedClamped(by: size.height.addedClamped(64))
    let bytesPerPixel = samples.bytesPerPixelTimesTwo + 4
    return (2 * fixedBytes).addedClamped(picture.multipliedClamped(by: bytesPerPixel))
      .addedClamped(largestFrame.multipliedClamped(by: 3))
  }

  /// libwebp keeps the whole output. It decodes losslessly coded planes at full size, with 4 bytes a pixel.
  static func webP(
    _ coded: PixelSize, _ size: PixelSize, _ samples: DecodeRequest.Samples, isLossless: Bool, hasAlpha: Bool,
    payload: Int
  ) -> Int {
    let codedPixels = coded.width.multipliedClamped(by: coded.height)
    let output = size.width.multipliedClamped(by: size.height).multipliedClamped(by: samples.bytesPerPixelTimesTwo) / 2
    let planes = isLossless ? codedPixels.multipliedClamped(by: 5) : hasAlpha ? codedPixels.multipliedClamped(by: 6) : 0
    // Rows of blocks and of the scaler.
    let rows = coded.width.multipliedClamped(by: 256)
    return fixedBytes.addedClamped(output).addedClamped(planes).addedClamped(rows)
      .addedClamped(payload.addedClamped(1 << 16))
  }

  /// libjxl, and the region as samples, or sums of four bytes.
  ///
  /// - Parameter workingBytes: bytes that libjxl allocates for a picture of this size and kind, without the codestream.
  static func jxl(_ region: PixelSize, channels: Int, sampleBytes: Int, workingBytes: Int, payload: Int) -> Int {
    let output = region.width.multipliedClamped(by: region.height).multipliedClamped(by: channels * sampleBytes)
    return fixedBytes.addedClamped(output).addedClamped(workingBytes).addedClamped(payload)
  }

  /// Memory that libjxl may allocate to read a profile.
  static let jxlProfileBytes = 16 << 20

  /// Lossless pictures take up to 0.3 seconds a megapixel, ten times as long as others.
  static func jxlSeconds(_ size: PixelSize) -> Int {
    2 + min(size.width.multipliedClamped(by: size.height) / 250_000, 3600)
  }

  /// LibRaw, which has the whole file in memory.
  ///
  /// - Parameter workingBytes: bytes that LibRaw allocates for a picture of this size and kind, without the file.
  static func raw(workingBytes: Int, payload: Int) -> Int {
    fixedBytes.addedClamped(workingBytes).addedClamped(payload)
  }

  /// A mosaic of three by three colours takes 0.5 seconds a megapixel, ten times as long as others.
  static func rawSeconds(_ size: PixelSize) -> Int {
    2 + min(size.width.multipliedClamped(by: size.height) / 200_000, 3600)
  }

  /// Ten times the CPU time of a slow core for an ordinary picture.
  static func cpuSeconds(pixels: Int) -> Int { 2 + min(pixels / 1_000_000, 3600) }
}

extension DecodeRequest.Samples {
  /// Twice the bytes of a pixel on average, because chroma may take half a byte; rounded up.
  fileprivate var bytesPerPixelTimesTwo: Int {
    switch self {
    case .rgb: 6
    case .rgba: 8
    case .deepRGB: 12
    case .deepRGBA: 16
    case .planar(let chroma, let bitDepth, let hasAlpha):
      (bitDepth > 8 ? 2 : 1)
        * ((hasAlpha ? 4 : 2) + (chroma == .none ? 0 : 4 / (chroma.horizontal * chroma.vertical)))
    }
  }
}

extension Int {
  /// The product, or `Int.max` if it does not fit. Both factors are at least 0.
  func multipliedClamped(by other: Int) -> Int {
    let (result, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : result
  }

  /// The sum, or `Int.max` if it does not fit. Both summands are at least 0.
  func addedClamped(_ other: Int) -> Int {
    let (result, overflow) = addingReportingOverflow(other)
    return overflow ? .max : result
  }
}
