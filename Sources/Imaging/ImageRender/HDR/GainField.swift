import ImageCodec
import MediaMetadata
import PhotoModel

/// The gains of a frame's pixels, from the rendered gain map of its picture.
struct GainField: Sendable {
  /// Pixel (x, y) at `(y * size.width + x) * channels`, 0...65535; upright.
  private let samples: [UInt16]
  private let size: PixelSize
  /// One gain for all colours, or three.
  let channels: Int
  /// Factors of light for samples, for each channel.
  private let factors: [InterpolationTable]
  /// Added to light before the gain, and subtracted after it: for red, green and blue.
  let baseOffsets: [Float]
  let alternateOffsets: [Float]

  /// - Parameter samples: with as many channels as the map, as it stores them.
  init(_ map: GainMap, samples: [UInt16], size: PixelSize) {
    let stored = map.header.colorChannels == 1 ? 1 : 3
    let metadata = map.metadata
    channels = map.isColored ? 3 : 1
    precondition(samples.count == size.pixelCount * stored, "a map of another size")
    // A map of one channel may have gains for three.
    self.samples = stored == channels ? samples : samples.flatMap { [$0, $0, $0] }
    self.size = size
    func entry(_ channel: Int) -> GainMapMetadata.Channel {
      metadata.channels[metadata.channels.count == 1 ? 0 : channel]
    }
    factors = (0..<channels).map { channel in
      InterpolationTable { sample in
        switch map.encoding {
        case .standard: entry(channel).factor(ofSample: sample)
        case .apple(let headroom):
          entry(channel).factor(ofSample: AppleGainMap.standardSample(sample, headroom: headroom))
        }
      }
    }
    baseOffsets = (0..<3).map { Float(entry($0).baseOffset) }
    alternateOffsets = (0..<3).map { Float(entry($0).alternateOffset) }
  }

  /// Memory of a field.
  static func byteCount(_ size: PixelSize) -> Int { size.pixelCount * 3 * 2 + 3 * InterpolationTable.byteCount }

  /// Writes the factors of one row of a frame: `channels` for each pixel. Between samples, the map's own values are
  /// interpolated, as ISO 21496-1 wants.
  ///
  /// - Parameter frame: the frame's size; the map shows the same.
  func fill(_ line: UnsafeMutablePointer<Float>, row y: Int, of frame: PixelSize) {
    let (above, below, down) = Self.place(y, frame.height, size.height)
    samples.withUnsafeBufferPointer { samples in
      let (upper, lower) = (above * size.width * channels, below * size.width * channels)
      for x in 0..<frame.width {
        let (left, right, across) = Self.place(x, frame.width, size.width)
        for channel in 0..<channels {
          let (a, b) = (left * channels + channel, right * channels + channel)
          let top = Float(samples[upper + a]) * (1 - across) + Float(samples[upper + b]) * across
          let bottom = Float(samples[lower + a]) * (1 - across) + Float(samples[lower + b]) * across
          line[x * channels + channel] = factors[channel][top * (1 - down) + bottom * down]
        }
      }
    }
  }

  /// The samples around the middle of a pixel, and how near it is to the second.
  @inline(__always)
  private static func place(_ pixel: Int, _ pixels: Int, _ samples: Int) -> (first: Int, second: Int, share: Float) {
    if pixels == samples { return (pixel, pixel, 0) }
    let position = max(0, (Float(pixel) + 0.5) * Float(samples) / Float(pixels) - 0.5)
    let first = min(Int(position), samples - 1)
    return (first, min(first + 1, samples - 1), min(position - Float(first), 1))
  }
}

/// Takes rows of 16 bits like an encoder, but writes no file.
final class SampleCollector: RowEncoder {
  private let rowSamples: Int
  private(set) var samples: [UInt16] = []
  let warnings: CodecWarnings? = nil

  init(_ plan: RenderPlan) {
    rowSamples = plan.outputSize.width * plan.outputChannels
    samples.reserveCapacity(rowSamples * plan.outputSize.height)
  }

  func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) {
    for y in 0..<count {
      let row = (rows + y * strideBytes).assumingMemoryBound(to: UInt16.self)
      samples += UnsafeBufferPointer(start: row, count: rowSamples)
    }
  }

  func finish() -> [UInt8] { [] }
}
