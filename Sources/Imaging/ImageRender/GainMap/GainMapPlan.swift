// The gain map of a frame: decoded, cut, resized and turned like the frame's picture, by a plan of its own.

import ImageCodec
import PhotoModel

/// How the gain map of a frame is made: after the picture, with the same renderer, if the frame keeps it; before the
/// picture if the frame has its gains.
package struct GainMapPlan: Sendable, Hashable {
  /// JPEG quality of the map, whatever the picture's quality is: errors in the map are multiplied by its gains. Above
  /// 90, colours keep their full resolution.
  static let quality = 91

  let map: GainMap
  @Boxed private(set) var plan: RenderPlan

  init(_ map: GainMap, _ plan: RenderPlan) {
    self.map = map
    _plan = Boxed(wrappedValue: plan)
  }

  /// The size of the map in the frame.
  package var outputSize: PixelSize { plan.outputSize }

  /// Peak memory of rendering the map and of joining the files, an upper estimate.
  ///
  /// - Parameter pictureBytes: the most bytes of the picture's own file.
  func peakBytes(pictureBytes: Int) -> Int {
    plan.peakBytes + pictureBytes + GainMapFile.addedBytes
      + JPEGEncoder.maximumBytes(
        plan.outputSize, channels: plan.outputChannels, quality: Self.quality, profileBytes: 0)
  }

  /// Peak memory of rendering the map for a frame of high dynamic range, and of its samples; an upper estimate.
  var fieldPeakBytes: Int { plan.peakBytes + 2 * GainField.byteCount(plan.outputSize) }

  /// Renders the map for a frame that has its gains.
  ///
  /// - Parameter source: the original.
  /// - Returns: `nil` if the map ends early.
  func field(
    source: any ByteSource, workers: (any CodedPictureDecoder)?, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) -> GainField? {
    let collector = SampleCollector(plan)
    let renderer = try Renderer(
      plan, source: map.source(in: source), workers: workers, color: OutputColor(), encoder: collector, limits: limits,
      stop: stop)
    if try renderer.render().isIncomplete { return nil }
    return GainField(map, samples: collector.samples, size: plan.outputSize)
  }

  /// Renders the map and joins it with its picture.
  ///
  /// - Parameters:
  ///   - picture: the finished picture.
  ///   - source: the original.
  /// - Returns: `nil` if the map ends early.
  func join(
    _ picture: [UInt8], source: any ByteSource, workers: (any CodedPictureDecoder)?, limits: CodecLimits,
    stop: StopFlag
  ) throws(CodecError) -> [UInt8]? {
    let transform = map.table.map { TableTransform(isGray: map.header.colorChannels == 1, table: $0) }
    let renderer = try Renderer(
      plan, source: map.source(in: source), workers: workers, color: OutputColor(transform: transform), limits: limits,
      stop: stop)
    let image = try renderer.render()
    return image.isIncomplete ? nil : GainMapFile.joined(picture, map: image.bytes, map.metadata)
  }
}

/// Replaces each sample by another one.
private struct TableTransform: RowTransform {
  let source: RowFormat
  /// 256 entries.
  private let table: [UInt8]

  init(isGray: Bool, table: [UInt8]) {
    source = RowFormat(model: isGray ? .gray : .rgb, hasAlpha: false, bitsPerChannel: 8)
    self.table = table
  }

  func convert(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, pixels: Int) {
    let (samples, converted) = (from.assumingMemoryBound(to: UInt8.self), to.assumingMemoryBound(to: UInt8.self))
    for i in 0..<pixels * source.channels { converted[i] = table[Int(samples[i])] }
  }
}
