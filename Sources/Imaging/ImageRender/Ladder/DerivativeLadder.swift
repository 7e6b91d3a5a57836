import ImageCodec
import PhotoModel

/// The sizes of derivatives: small pictures of an asset that are stored so that still smaller ones need not be made
/// from the original, whose entropy decoding is always expensive. A pure struct: it defines which rungs an asset has,
/// how a rung is made, and which rung a request can use.
///
/// A rung is the complete upright picture in the original's colours, with the original's profile. It is a YCbCr JPEG,
/// or a PNG if the asset has alpha. `scripts/bench ladder` measures the loss in frames and the cost.
package struct DerivativeLadder: Sendable, Hashable {
  /// Increased when rungs are rendered differently, which makes all stored ones stale.
  package static let epoch = 9

  /// One size of the ladder, defined by the shorter side, as the squares of a gallery are. If rungs had a fixed longer
  /// side, the size of the squares that they can fill would depend on the aspect ratio.
  package struct Rung: Sendable, Hashable {
    /// Pixels of the shorter side. The longer side has at most twice as many; a panorama therefore has fewer pixels on
    /// its shorter side.
    package let side: Int

    package init(side: Int) {
      self.side = side
    }

    /// How many pixels of the original one pixel of the rung covers, in each direction.
    ///
    /// - Parameter upright: the original's size.
    package func reduction(of upright: PixelSize) -> Double {
      let (shorter, longer) = (min(upright.width, upright.height), max(upright.width, upright.height))
      return max(Double(shorter), Double(longer) / 2) / Double(side)
    }

    /// The box that the rung of a picture fits into.
    fileprivate func box(of upright: PixelSize) -> PixelSize {
      upright.width > upright.height
        ? PixelSize(width: 2 * side, height: side) : PixelSize(width: side, height: 2 * side)
    }
  }

  /// Rungs, smallest first.
  package let rungs: [Rung]
  /// JPEG quality of rungs. Up to 90 they are 4:2:0.
  package let quality: Int

  /// For squares of 200 and 400 px. For originals of 12 and 48 megapixels, sides of 256 and 512 would need twice the
  /// DCT scale.
  package static let standard = DerivativeLadder(sides: [250, 500], quality: 90)

  /// - Parameter sides: ascending.
  package init(sides: [Int], quality: Int) {
    rungs = sides.map(Rung.init(side:))
    self.quality = quality
  }

  /// How many rung pixels, in each direction, one frame pixel needs so that the frame loses at most about 0.3 dB
  /// against a frame made from the original. The better the frame's quality, the more visible is the rung's loss: at
  /// 1.28 pixels it is 0.27 dB for a JPEG of quality 82, 0.35 for 85 and 0.64 for 90; at 2 pixels 0.1, 0.2 and 0.2.
  /// `nil` if no rung is good enough: the rung's chroma is halved and the frame's is not, or the rung is a JPEG and the
  /// frame is a PNG.
  private static func oversampling(_ request: ImageRequest, hasAlpha: Bool) -> Double? {
    // Rungs have 8 bits, and were not scaled in linear light.
    if request.resampling == .linear || request.bitDepth > 8 || request.dynamicRange == .high { return nil }
    if request.format == .png { return hasAlpha ? 2 : nil }
    let quality = request.quality ?? JPEGEncoder.defaultQuality
    if quality <= 82 { return 1.25 }
    return quality <= 90 ? 2 : nil
  }

  /// If the original has less than this many times the rung's pixels on a side, decoding it is about as fast as
  /// decoding the rung.
  private static let minimumReduction = 2.0

  /// Half a pixel in 250: a size that was rounded up does not need a larger rung.
  private static let rounding = 1.002

  /// The rungs of an asset: only those clearly smaller than the asset.
  ///
  /// - Parameter upright: the asset's size.
  package func rungs(of upright: PixelSize) -> [Rung] {
    rungs.filter { $0.reduction(of: upright) >= Self.minimumReduction }
  }

  func format(hasAlpha: Bool) -> OutputFormat { hasAlpha ? .png : .jpeg }

  /// The request that renders a rung from the original.
  ///
  /// - Parameter upright: the original's size.
  package func request(for rung: Rung, of upright: PixelSize, hasAlpha: Bool) -> ImageRequest {
    var request = ImageRequest(
      targetSize: .size(rung.box(of: upright)), contentMode: .aspectFit, resizeMode: .exact,
      // One scan at any size, because a derivative is decoded many times.
      deliveryMode: .fastFormat, format: format(hasAlpha: hasAlpha), quality: quality, colorSpace: .preserve)
    // Frames with a gain map are made from derivatives that have one.
    request.dynamicRange = .preserve
    return request
  }

  /// The smallest rung from which a final frame can be made without visible loss. `nil` if there is none: the frame is
  /// too large, a crop needs more resolution than the rung has, or the request needs more than JPEG pixels.
  package func rung(for wanted: SizedRequest, hasAlpha: Bool) -> Rung? {
    guard let oversampling = Self.oversampling(wanted.request, hasAlpha: hasAlpha) else { return nil }
    let (reduction, upright) = (wanted.sizes.reduction, wanted.upright)
    return rungs(of: upright).first { reduction * Self.rounding >= $0.reduction(of: upright) * oversampling }
  }

  /// The rung for a degraded frame: the smallest that has the requested pixels, else the largest available.
  ///
  /// - Parameter available: the stored rungs.
  package func degradedRung(among available: [Rung], for wanted: SizedRequest) -> Rung? {
    let reduction = wanted.sizes.reduction
    let ascending = available.sorted { $0.side < $1.side }
    return ascending.first { reduction >= $0.reduction(of: wanted.upright) } ?? ascending.last
  }

  /// Whether a rung's bytes can be sent unchanged as a degraded frame of a request: the complete picture in the
  /// requested format and colours, and no larger than the final frame.
  ///
  /// - Parameter derivative: the rung's own header.
  package static func canServeUnchanged(_ derivative: ImageHeader, for wanted: SizedRequest) -> Bool {
    let sizes = wanted.sizes
    let isWhole = sizes.crop == PixelRect(wanted.upright) && sizes.outputRect == PixelRect(sizes.scaled)
    let keepsColors =
      wanted.request.colorSpace == .preserve || (derivative.embeddedProfile == nil && derivative.calibration == nil)
    let isPlain = wanted.request.rotation == .topLeft && wanted.request.tone == .color
    return isWhole && isPlain && keepsColors && derivative.gainMap == nil
      && derivative.storedSize.hasAspect(of: sizes.output)
      && derivative.format.rawValue == wanted.request.format.rawValue
      && derivative.storedSize.width <= sizes.output.width && derivative.storedSize.height <= sizes.output.height
  }
}
