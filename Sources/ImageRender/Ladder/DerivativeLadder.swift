import ImageCodec
import PhotoModel

/// The small pictures of an asset that are kept so that smaller ones need not be made of the original, whose entropy decoding
/// nothing escapes. Pure: it says which rungs there are, how one is made, and which serves a request.
///
/// A rung is the upright picture, all of it, in the original's colours: its profile goes with it. It is a JPEG of YCbCr, or
/// a PNG where the asset has alpha. `scripts/bench ladder` measures what frames lose by it and what they cost.
package struct DerivativeLadder: Sendable, Hashable {
  /// Goes up when rungs are made otherwise: only then must stored ones be made anew.
  package static let epoch = 2

  /// One of the sizes. It goes by the shorter side, as the squares of a gallery do: of rungs with one longer side each shape of
  /// picture would fill squares of another size.
  package struct Rung: Sendable, Hashable {
    /// Pixels of the shorter side. The longer one has at most twice as many: a panorama has fewer on its shorter side.
    package let side: Int

    package init(side: Int) {
      self.side = side
    }

    /// Pixels of an original to one of the rung, a side.
    ///
    /// - Parameter upright: the original's size.
    package func reduction(of upright: PixelSize) -> Double {
      let (shorter, longer) = (min(upright.width, upright.height), max(upright.width, upright.height))
      return max(Double(shorter), Double(longer) / 2) / Double(side)
    }

    /// What the rung of a picture fits into.
    fileprivate func box(of upright: PixelSize) -> PixelSize {
      upright.width > upright.height
        ? PixelSize(width: 2 * side, height: side) : PixelSize(width: side, height: 2 * side)
    }
  }

  /// From the smallest to the largest.
  package let rungs: [Rung]
  /// Of JPEG rungs. Up to 90 they are 4:2:0.
  package let quality: Int

  /// For squares of 200 and 400 px. Of 12 and 48 megapixels, 256 and 512 would take twice the DCT scale.
  package static let standard = DerivativeLadder(sides: [250, 500], quality: 90)

  /// - Parameter sides: ascending.
  package init(sides: [Int], quality: Int) {
    rungs = sides.map(Rung.init(side:))
    self.quality = quality
  }

  /// How many pixels a side of the rung a pixel of a frame is to have, for the frame to lose at most about 0.3 dB against one
  /// that is made of the original. The better the frame, the more of what the rung has lost is seen: at 1.28 pixels it is
  /// 0.27 dB of a JPEG of quality 82, 0.35 of 85 and 0.64 of 90, at 2 pixels 0.1, 0.2 and 0.2. `nil`: no rung will do, for
  /// its chroma is halved and the frame's is not, or its pixels are a JPEG's and the frame is a PNG.
  private static func oversampling(_ request: ImageRequest, hasAlpha: Bool) -> Double? {
    if request.format == .png { return hasAlpha ? 2 : nil }
    let quality = request.quality ?? JPEGEncoder.defaultQuality
    if quality <= 82 { return 1.25 }
    return quality <= 90 ? 2 : nil
  }

  /// An original with less than so many times the rung's pixels a side is decoded about as quickly as the rung.
  private static let leastReduction = 2.0

  /// Half a pixel in 250: a size that was rounded up needs no larger rung for that.
  private static let rounding = 1.002

  /// Those that an asset has: none as large as itself, or nearly.
  ///
  /// - Parameter upright: the asset's size.
  package func rungs(of upright: PixelSize) -> [Rung] {
    rungs.filter { $0.reduction(of: upright) >= Self.leastReduction }
  }

  package func format(hasAlpha: Bool) -> OutputFormat { hasAlpha ? .png : .jpeg }

  /// What is to be rendered of the original for a rung.
  ///
  /// - Parameter upright: the original's size.
  package func request(for rung: Rung, of upright: PixelSize, hasAlpha: Bool) -> ImageRequest {
    ImageRequest(
      targetSize: .size(rung.box(of: upright)), contentMode: .aspectFit, resizeMode: .exact,
      format: format(hasAlpha: hasAlpha), quality: quality, colorSpace: .preserve)
  }

  /// The smallest rung that a final frame can be made of without being seen to be less; `nil` where there is none: for what
  /// is larger, for a crop into less than a rung resolves, and where more is asked for than a JPEG's pixels hold.
  package func rung(for request: ImageRequest, upright: PixelSize, hasAlpha: Bool) -> Rung? {
    guard let oversampling = Self.oversampling(request, hasAlpha: hasAlpha) else { return nil }
    let reduction = SizeRules(request, upright: upright).reduction
    return rungs(of: upright).first { reduction * Self.rounding >= $0.reduction(of: upright) * oversampling }
  }

  /// The rung for a degraded frame: the smallest that has the pixels that are asked for, else the largest that there is.
  ///
  /// - Parameter available: those that are there.
  package func degradedRung(among available: [Rung], for request: ImageRequest, upright: PixelSize) -> Rung? {
    let reduction = SizeRules(request, upright: upright).reduction
    let ascending = available.sorted { $0.side < $1.side }
    return ascending.first { reduction >= $0.reduction(of: upright) } ?? ascending.last
  }

  /// Whether a rung's own bytes are a degraded frame of a request as they are: the whole picture in the format and the
  /// colours that are asked for, and no larger than the final frame.
  ///
  /// - Parameter derivative: the rung's own header.
  package static func servesAsItIs(
    _ derivative: ImageHeader, for request: ImageRequest, upright: PixelSize
  ) -> Bool {
    let rules = SizeRules(request, upright: upright)
    let isWhole = rules.frame == PixelRect(upright) && rules.window == PixelRect(rules.scaled)
    let keepsColors =
      request.colorSpace == .preserve || (derivative.embeddedProfile == nil && derivative.calibration == nil)
    return isWhole && keepsColors && derivative.format.rawValue == request.format.rawValue
      && derivative.storedSize.width <= rules.output.width && derivative.storedSize.height <= rules.output.height
  }
}
