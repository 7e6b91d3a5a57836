import HTTPCore
import PhotoModel

/// The first parameter of an IIIF image request: which part of the picture (Image API 3.0 §4.1).
enum IIIFRegion: Sendable, Hashable {
  case full
  /// The largest square in the middle.
  case square
  case pixels(PixelRect)
  /// In percent of the picture's sides.
  case percent(x: Double, y: Double, width: Double, height: Double)

  init(_ text: String) throws(Problem) {
    switch text {
    case "full": self = .full
    case "square": self = .square
    default:
      if text.hasPrefix("pct:") {
        let values = text.dropFirst(4).split(separator: ",", omittingEmptySubsequences: false)
          .map(IIIFNumber.decimal)
        guard values.count == 4, let x = values[0], let y = values[1], let width = values[2], let height = values[3]
        else { throw Self.invalid }
        self = .percent(x: x, y: y, width: width, height: height)
      } else {
        let values = text.split(separator: ",", omittingEmptySubsequences: false).map(IIIFNumber.whole)
        guard values.count == 4, let x = values[0], let y = values[1], let width = values[2], let height = values[3]
        else { throw Self.invalid }
        self = .pixels(PixelRect(x: x, y: y, width: width, height: height))
      }
    }
  }

  /// The pixels of a picture, cut off at its edges.
  ///
  /// - Throws: 400 for an empty region, and for one outside of the picture.
  func rect(of size: PixelSize) throws(Problem) -> PixelRect {
    switch self {
    case .full: return PixelRect(size)
    case .square:
      let side = min(size.width, size.height)
      return PixelRect(x: (size.width - side) / 2, y: (size.height - side) / 2, width: side, height: side)
    case .pixels(let rect):
      guard rect.width > 0, rect.height > 0, rect.x < size.width, rect.y < size.height else { throw Self.empty }
      return PixelRect(
        x: rect.x, y: rect.y, width: min(rect.width, size.width - rect.x),
        height: min(rect.height, size.height - rect.y))
    case .percent(let x, let y, let width, let height):
      guard width > 0, height > 0, x < 100, y < 100 else { throw Self.empty }
      return UnitRect(
        x: x / 100, y: y / 100, width: min(width, 100 - x) / 100, height: min(height, 100 - y) / 100
      ).pixels(of: size)
    }
  }

  private static let invalid = Problem.invalidParameter(
    "The region must be full, square, x,y,w,h in pixels, or pct:x,y,w,h in percent.", parameter: "region")

  private static let empty = Problem.invalidParameter(
    "The region is empty, or lies outside of the picture; info.json has the picture's width and height.",
    parameter: "region")
}

/// Numbers in IIIF paths: digits, and for percentages and angles one decimal point. No sign and no exponent.
enum IIIFNumber {
  /// More digits than any picture needs, and far from overflow.
  private static let maximumDigits = 9
  /// More than programs print of a computed number, such as the 14 of 100/3.
  private static let maximumFractionDigits = 32

  static func whole(_ text: some StringProtocol) -> Int? {
    isDigits(text, atMost: maximumDigits) ? Int(text) : nil
  }

  static func decimal(_ text: some StringProtocol) -> Double? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), whole(parts[0]) != nil else { return nil }
    if parts.count == 2, !isDigits(parts[1], atMost: maximumFractionDigits) { return nil }
    return Double(text)
  }

  private static func isDigits(_ text: some StringProtocol, atMost count: Int) -> Bool {
    (1...count).contains(text.utf8.count) && text.utf8.allSatisfy(HTTPGrammar.isDigit)
  }
}
