import PhotoModel

/// The pictures of a GIF, an APNG or an animated WebP, in the order in which they are shown.
package struct Animation: Sendable, Hashable {
  /// How a frame's area is changed before the next frame is painted.
  package enum Disposal: Sendable, Hashable {
    case keep
    /// It becomes transparent.
    case clear
    /// The area gets back its pixels from before the frame.
    case restore
  }

  /// How the picture of a frame is coded: as a picture of its own.
  package enum CodedFrame: Sendable, Hashable {
    case gif(GIFPicture)
    case webP(WebPPicture)
    /// Chunks of pixels, by their positions; with those before them they are a PNG.
    case png([ByteRange])
  }

  package struct Frame: Sendable, Hashable {
    /// The rectangle on the canvas; it may reach beyond.
    package let rect: PixelRect
    package let coded: CodedFrame
    /// 1...16,777,215.
    package let milliseconds: Int
    package let disposal: Disposal
    /// Whether transparent pixels show the canvas; else they replace it.
    package let isBlended: Bool
  }

  package let canvas: PixelSize
  /// At least one.
  package let frames: [Frame]
  /// How often the animation plays; 0: forever.
  package let plays: Int
  /// APNG: the chunks before the pixels that the PNG of each frame needs.
  var pngHead: [UInt8] = []
  /// Whether the file has no end mark, so that its last frame may be cut off. `false` for WebP.
  package var mayEndEarly = false

  /// Pixels that are painted: each frame's own, and the canvas for each frame.
  package var paintedPixels: Int {
    frames.count * canvas.pixelCount + frames.reduce(0) { $0 + $1.rect.size.pixelCount }
  }

  /// Reads where the frames are. `nil` if the format has no animations, or the file has only one frame.
  ///
  /// - Throws: `limitExceeded` for more frames or pixels than `limits` allow.
  package static func read(
    from source: any ByteSource, header: ImageHeader, limits: CodecLimits
  ) throws(CodecError) -> Animation? {
    var reader = HeaderReader(source: source)
    let animation: Animation? =
      switch header.format {
      case .gif: try gif(&reader, limits)
      case .webp: try webP(&reader, limits)
      case .png: try png(&reader, limits)
      default: nil
      }
    guard let animation, animation.frames.count > 1 else { return nil }
    let pixels = animation.paintedPixels
    guard pixels <= limits.animationPixels else {
      throw .limitExceeded("the number of pixels of all frames", limit: limits.animationPixels, found: pixels)
    }
    return animation
  }

  static func check(_ count: Int, _ limits: CodecLimits) throws(CodecError) {
    guard count < limits.animationFrames else {
      throw .limitExceeded("the number of frames", limit: limits.animationFrames, found: count + 1)
    }
  }

  /// The PNG of a frame of an APNG, as a file of its own.
  package func pngFile(_ frame: Frame, in source: any ByteSource) throws(CodecError) -> [UInt8] {
    guard case .png(let ranges) = frame.coded else { throw .malformed("a frame that is not a PNG", offset: nil) }
    var reader = HeaderReader(source: source)
    return try Self.pngFile(head: pngHead, size: frame.rect.size, ranges, &reader)
  }
}
