import ImageCodec
import PhotoModel

/// The small pictures of an asset that are kept so that smaller ones need not be made of the original, whose entropy decoding
/// nothing escapes. Pure: it says which rungs there are, how one is made, and which serves a request.
///
/// A rung is the upright picture, all of it, in the original's colours: its profile goes with it. It is a JPEG of YCbCr, or
/// a PNG where the asset has alpha. `scripts/bench ladder` measures what frames lose by it and what they cost.
package struct DerivativeLadder: Sendable, Hashable {
  /// Goes up when rungs are made otherwise: only then must stored ones be made anew.
  package static let epoch = 1

  /// One of the sizes.
  package struct Rung: Sendable, Hashable {
    /// In pixels, of the upright picture.
    package let longestSide: Int

    package init(longestSide: Int) {
      self.longestSide = longestSide
    }
  }

  /// From the smallest to the largest.
  package let rungs: [Rung]
  /// Of JPEG rungs. Up to 90 they are 4:2:0.
  package let quality: Int

  package static let standard = DerivativeLadder(sides: [256, 512], quality: 90)

  /// - Parameter sides: ascending.
  package init(sides: [Int], quality: Int) {
    rungs = sides.map(Rung.init)
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

  /// Those that an asset has: none as large as itself, or nearly.
  ///
  /// - Parameter upright: the asset's size.
  package func rungs(of upright: PixelSize) -> [Rung] {
    rungs.filter { Self.reduction($0, of: upright) >= Self.leastReduction }
  }

  package func format(hasAlpha: Bool) -> OutputFormat { hasAlpha ? .png : .jpeg }

  /// What is to be rendered of the original for a rung.
  package func request(for rung: Rung, hasAlpha: Bool) -> ImageRequest {
    ImageRequest(
      targetSize: .size(PixelSize(width: rung.longestSide, height: rung.longestSide)), contentMode: .aspectFit,
      resizeMode: .exact, format: format(hasAlpha: hasAlpha), quality: quality, colorSpace: .preserve)
  }

  /// The smallest rung that a final frame can be made of without being seen to be less; `nil` where there is none: for what
  /// is larger, for a crop into less than a rung resolves, and where more is asked for than a JPEG's pixels hold.
  package func rung(for request: ImageRequest, upright: PixelSize, hasAlpha: Bool) -> Rung? {
    guard let oversampling = Self.oversampling(request, hasAlpha: hasAlpha) else { return nil }
    let reduction = SizeRules(request, upright: upright).reduction
    return rungs(of: upright).first { reduction >= Self.reduction($0, of: upright) * oversampling }
  }

  /// The rung for a degraded frame: the smallest that has the pixels that are asked for, else the largest that there is.
  ///
  /// - Parameter available: those that are there.
  package func degradedRung(among available: [Rung], for request: ImageRequest, upright: PixelSize) -> Rung? {
    let reduction = SizeRules(request, upright: upright).reduction
    let ascending = available.sorted { $0.longestSide < $1.longestSide }
    return ascending.first { reduction >= Self.reduction($0, of: upright) } ?? ascending.last
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

  /// Pixels of the original to one of the rung, a side.
  private static func reduction(_ rung: Rung, of upright: PixelSize) -> Double {
    Double(max(upright.width, upright.height)) / Double(rung.longestSide)
  }
}
