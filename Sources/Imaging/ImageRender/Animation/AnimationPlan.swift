import ImageCodec
import PhotoModel

/// How an animation becomes an animated WebP of another size. A class, because plans are large: see ``Boxed``.
package final class AnimationPlan: Sendable {
  let animation: Animation
  /// The plan that turns the canvas into the pixels of an output frame.
  let frame: RenderPlan
  let quality: Int
  /// The header of the file.
  let header: ImageHeader
  /// Peak memory of the render; an upper estimate.
  package let peakBytes: Int

  /// The maximum size of the output. A larger file would rarely download as fast as it plays.
  static let maximumBytes = 64 << 20

  /// - Parameter header: of the file that the animation was read from.
  package init(
    _ animation: Animation, _ header: ImageHeader, _ wanted: SizedRequest, planner: RenderPlanner = RenderPlanner()
  ) {
    self.animation = animation
    self.header = header
    quality = wanted.request.quality ?? JPEGEncoder.defaultQuality
    let isGray = header.colorChannels == 1
    // The canvas is in memory, decoded: it is planned like a PNG of 8 bits.
    var canvas = header
    canvas.format = .png
    canvas.coded = nil
    canvas.storedSize = animation.canvas
    (canvas.colorChannels, canvas.hasAlpha, canvas.bitsPerChannel) = (isGray ? 1 : 3, true, 8)
    (canvas.isProgressive, canvas.isBuffered) = (false, false)
    canvas.containerOrientation = header.orientation
    // WebP has RGB for gray, which a profile of gray does not describe.
    let pixels = wanted.inFormat(.png)
    frame = planner.plan(canvas, isGray ? pixels.inSRGB : pixels)
    let size = frame.outputSize
    let encoder = WorkerEncoding(
      .webp, size: size, channels: 4, quality: quality, profileBytes: header.profileBytes)
    let largest = animation.frames.map(\.rect.size.pixelCount).max() ?? 0
    // `largest` is for the frame's decoder: a worker with its picture, or for APNG the frame's file in memory.
    peakBytes =
      AnimationCanvas.byteCount(animation.canvas) + frame.peakBytes + size.pixelCount * 8 + encoder.peakBytes
      + largest * 16 + (8 << 20) + 2 * min(Self.maximumBytes, animation.frames.count * encoder.maximumBytes)
  }
}
