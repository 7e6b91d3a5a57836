import PhotoModel

/// The second parameter of an IIIF image request: the size to which the region is scaled (Image API 3.0 §4.2).
struct IIIFSize: Sendable, Hashable {
  enum Form: Sendable, Hashable {
    case max
    case width(Int)
    case height(Int)
    case percent(Double)
    /// Exactly this size, also with another aspect ratio.
    case exact(PixelSize)
    /// The largest size of the same aspect ratio inside this one.
    case confined(PixelSize)
  }

  let form: Form
  /// Whether the region may be enlarged (`^`).
  let mayEnlarge: Bool

  init(_ text: String) throws(Problem) {
    mayEnlarge = text.hasPrefix("^")
    let text = mayEnlarge ? text.dropFirst() : text[...]
    if text == "max" {
      form = .max
      return
    }
    if text.hasPrefix("pct:") {
      guard let percent = IIIFNumber.decimal(text.dropFirst(4)), percent > 0 else { throw Self.invalid }
      form = .percent(percent)
      return
    }
    let isConfined = text.hasPrefix("!")
    let sides = text.dropFirst(isConfined ? 1 : 0).split(separator: ",", omittingEmptySubsequences: false)
    let numbers = sides.map { IIIFNumber.whole($0).flatMap { $0 > 0 ? $0 : nil } }
    guard sides.count == 2 else { throw Self.invalid }
    switch (numbers[0], numbers[1], isConfined) {
    case (let width?, let height?, true): form = .confined(PixelSize(width: width, height: height))
    case (let width?, let height?, false): form = .exact(PixelSize(width: width, height: height))
    case (let width?, nil, false) where sides[1].isEmpty: form = .width(width)
    case (nil, let height?, false) where sides[0].isEmpty: form = .height(height)
    default: throw Self.invalid
    }
  }

  /// The size of the picture that is made from a region, before it is turned.
  ///
  /// - Throws: 400 if the size exceeds the region without `^`, or the limits; 501 if the region would have to be
  ///   enlarged.
  func size(of region: PixelSize, _ limits: IIIFLimits) throws(Problem) -> PixelSize {
    let (width, height) = (Double(region.width), Double(region.height))
    let size: PixelSize
    switch form {
    case .max:
      // Without `^` the region's own size is the largest.
      let scale = limits.scale(of: region)
      if mayEnlarge && scale > 1 { throw .iiifEnlargement }
      return Self.scaled(region, by: min(1, scale))
    case .confined(let box):
      let scale = min(Double(box.width) / width, Double(box.height) / height, limits.scale(of: region))
      if mayEnlarge && scale > 1 { throw .iiifEnlargement }
      return Self.scaled(region, by: min(1, scale))
    case .percent(let percent): size = Self.scaled(region, by: percent / 100, atLeast: 0)
    case .width(let wanted):
      size = PixelSize(width: wanted, height: max(1, Self.rounded(height * Double(wanted) / width)))
    case .height(let wanted):
      size = PixelSize(width: max(1, Self.rounded(width * Double(wanted) / height)), height: wanted)
    case .exact(let wanted): size = wanted
    }
    guard size.width > 0, size.height > 0 else { throw Self.invalid }
    if size.width > region.width || size.height > region.height {
      throw mayEnlarge ? .iiifEnlargement : Self.tooLarge(region)
    }
    guard limits.allow(size) else { throw limits.problem }
    return size
  }

  private static func scaled(_ size: PixelSize, by scale: Double, atLeast least: Int = 1) -> PixelSize {
    PixelSize(
      width: max(least, rounded(Double(size.width) * scale)), height: max(least, rounded(Double(size.height) * scale)))
  }

  private static func rounded(_ value: Double) -> Int { Int(min(value + 0.5, 1e12)) }

  private static let invalid = Problem.invalidParameter(
    "The size must be max, w,, ,h, w,h, !w,h in pixels, or pct:n, and have at least one pixel.", parameter: "size")

  private static func tooLarge(_ region: PixelSize) -> Problem {
    .invalidParameter(
      "The size must not exceed the region, which has \(region.width)x\(region.height) pixels.", parameter: "size")
  }
}

/// The largest picture that an IIIF request may ask for.
package struct IIIFLimits: Sendable, Hashable {
  let maximumSide: Int
  /// In pixels.
  let maximumArea: Int

  /// The most memory that a render needs for each output pixel: a turned picture with alpha is kept until its last row,
  /// and the file of a PNG may be as large again.
  private static let bytesPerPixel = 12

  /// - Parameter renderBytes: the memory of all renders together.
  package init(renderBytes: Int) {
    maximumSide = TargetSize.maximumSide
    maximumArea = max(1, renderBytes / Self.bytesPerPixel)
  }

  func allow(_ size: PixelSize) -> Bool {
    size.width <= maximumSide && size.height <= maximumSide && size.pixelCount <= maximumArea
  }

  /// The scale at which a picture is as large as the limits allow.
  func scale(of size: PixelSize) -> Double {
    let bySide = Double(maximumSide) / Double(max(size.width, size.height))
    // A rounded side may be half a pixel longer.
    let byArea = (Double(maximumArea) / Double(size.pixelCount)).squareRoot()
    guard byArea < 1 else { return min(bySide, byArea) }
    return min(bySide, byArea * (1 - 1 / Double(min(size.width, size.height))))
  }

  var problem: Problem {
    .invalidParameter(
      "The size exceeds the limits of this service: \(maximumSide) pixels a side and \(maximumArea) in all.",
      parameter: "size")
  }
}

extension Problem {
  static let iiifEnlargement = Problem(
    501, "enlargement-not-supported", "Enlarging is not supported",
    detail: "This service does not enlarge pictures. Ask for at most the size of the region, and scale on the client.",
    parameter: "size")
}
