// The regions of a picture as its metadata states them, before the picture's size is known:
//
//     XMP mwg-rs    centres and sides as shares of the sides in AppliedToDimensions (Metadata Working Group 2.0 §5.9)
//     XMP MP        corners and sides as shares of the stored picture (Microsoft's People Tagging)
//     EXIF          SubjectArea, SubjectLocation: pixels of the stored picture (CIPA DC-008 §4.6.5.B)
//
// Microsoft's regions count only in a packet without the Working Group's: programs that write both write the same.

import PhotoModel

package struct RegionSources: Sendable, Hashable {
  /// From XMP, in the coordinates that ``appliedTo`` decides.
  var xmp: [XMPRegion] = []
  /// The size of the picture that the regions were made for; `nil` if not stated.
  var appliedTo: PixelSize?
  /// x and y, then nothing, a diameter, or width and height; x and y are the centre.
  var subjectArea: [Int] = []
  var exifWidth: Int?
  var exifHeight: Int?

  package init() {}

  /// Adds regions of another block where none are known yet.
  mutating package func add(_ other: RegionSources) {
    if xmp.isEmpty { (xmp, appliedTo) = (other.xmp, other.appliedTo) }
    guard subjectArea.isEmpty else { return }
    (subjectArea, exifWidth, exifHeight) = (other.subjectArea, other.exifWidth, other.exifHeight)
  }

  /// How much aspect ratios may differ, because sizes are whole pixels and some programs cut off a few.
  private static let tolerance = 0.01

  /// The regions in the upright picture. Regions that were made for another picture, because it was cropped since, are
  /// left out.
  ///
  /// - Parameter stored: the size of the picture as stored.
  package func regions(stored: PixelSize, orientation: Orientation) -> [PictureRegion] {
    guard stored.width > 0, stored.height > 0 else { return [] }
    var regions: [PictureRegion] = []
    let isStored = appliedTo.map { Self.haveSameShape($0, stored) } ?? true
    if isStored {
      for region in xmp {
        guard let rect = region.rect(in: stored) else { continue }
        regions.append(PictureRegion(region.kind, orientation.upright(rect), name: region.name))
      }
    } else if orientation.swapsSides, let appliedTo, Self.haveSameShape(appliedTo, stored.transposed) {
      for region in xmp {
        guard let rect = region.rect(in: appliedTo) else { continue }
        regions.append(PictureRegion(region.kind, rect, name: region.name))
      }
    }
    if let focus = focus(stored) { regions.append(PictureRegion(.focus, orientation.upright(focus))) }
    return Array(regions.prefix(RegionLimits.regions))
  }

  private func focus(_ stored: PixelSize) -> UnitRect? {
    guard subjectArea.count >= 2 else { return nil }
    var size = stored
    if let exifWidth, let exifHeight, exifWidth > 0, exifHeight > 0 {
      size = PixelSize(width: exifWidth, height: exifHeight)
      guard Self.haveSameShape(size, stored) else { return nil }
    }
    let (x, y) = (Double(subjectArea[0]), Double(subjectArea[1]))
    guard x <= Double(size.width), y <= Double(size.height) else { return nil }
    let width = subjectArea.count > 2 ? Double(subjectArea[2]) : 0
    let height = subjectArea.count > 3 ? Double(subjectArea[3]) : width
    return UnitRect(
      centerX: x / Double(size.width), centerY: y / Double(size.height), width: width / Double(size.width),
      height: height / Double(size.height))
  }

  private static func haveSameShape(_ one: PixelSize, _ other: PixelSize) -> Bool {
    let (first, second) = (Double(one.width) * Double(other.height), Double(one.height) * Double(other.width))
    return first > 0 && second > 0 && abs(first - second) <= tolerance * max(first, second)
  }

  // MARK: XMP

  static func regions(_ properties: [String: MetadataValue]) -> ([XMPRegion], PixelSize?) {
    let group = properties["mwg-rs:Regions"]?.fields ?? [:]
    let regions = (group["mwg-rs:RegionList"]?.structures ?? []).lazy.compactMap(region).prefix(RegionLimits.regions)
    if !regions.isEmpty { return (Array(regions), size(group["mwg-rs:AppliedToDimensions"]?.fields ?? [:])) }
    let people = properties["MP:RegionInfo"]?.fields["MPRI:Regions"]?.structures ?? []
    return (Array(people.lazy.compactMap(person).prefix(RegionLimits.regions)), nil)
  }

  /// `nil` if the size is not one in pixels.
  private static func size(_ fields: [String: MetadataValue]) -> PixelSize? {
    guard let width = number(fields["stDim:w"]), let height = number(fields["stDim:h"]), width >= 1, height >= 1,
      max(width, height) < 1e9, ["pixel", nil].contains(fields["stDim:unit"]?.firstText)
    else { return nil }
    return PixelSize(width: Int(width), height: Int(height))
  }

  private static func region(_ fields: [String: MetadataValue]) -> XMPRegion? {
    let kind: PictureRegion.Kind
    switch fields["mwg-rs:Type"]?.firstText {
    case "Face", nil: kind = .face
    case "Pet": kind = .pet
    case "Focus": kind = .focus
    case "BarCode": kind = .barcode
    default: return nil
    }
    let area = fields["mwg-rs:Area"]?.fields ?? [:]
    guard ["normalized", nil].contains(area["stArea:unit"]?.firstText), let x = number(area["stArea:x"]),
      let y = number(area["stArea:y"])
    else { return nil }
    let (width, height) = (number(area["stArea:w"]), number(area["stArea:h"]))
    var shape = XMPRegion.Shape.rectangle(width: width ?? 0, height: height ?? 0)
    if width == nil, height == nil, let diameter = number(area["stArea:d"]) { shape = .circle(diameter: diameter) }
    let region = XMPRegion(kind: kind, name: name(fields["mwg-rs:Name"]), x: x, y: y, shape: shape)
    return region.isValid ? region : nil
  }

  private static func person(_ fields: [String: MetadataValue]) -> XMPRegion? {
    let sides = (fields["MPReg:Rectangle"]?.firstText ?? "").split(separator: ",")
      .map { number(String($0)) }
    guard sides.count == 4, let x = sides[0], let y = sides[1], let width = sides[2], let height = sides[3] else {
      return nil
    }
    let region = XMPRegion(
      kind: .face, name: name(fields["MPReg:PersonDisplayName"]), x: x + width / 2, y: y + height / 2,
      shape: .rectangle(width: width, height: height))
    return region.isValid ? region : nil
  }

  private static func name(_ value: MetadataValue?) -> String? {
    DescriptiveText.name(value?.defaultText, limit: RegionLimits.nameBytes)
  }

  private static func number(_ value: MetadataValue?) -> Double? { value?.firstText.flatMap(number) }

  private static func number(_ text: String) -> Double? {
    let text = text.filter { !$0.isWhitespace }
    guard let number = Double(text), number.isFinite else { return nil }
    return number
  }
}

/// A region as XMP states it: its centre, and its sides as shares of the sides of a picture.
struct XMPRegion: Sendable, Hashable {
  enum Shape: Sendable, Hashable {
    case rectangle(width: Double, height: Double)
    /// The diameter is a share of the picture's shorter side.
    case circle(diameter: Double)
  }

  let kind: PictureRegion.Kind
  let name: String?
  let x: Double
  let y: Double
  let shape: Shape

  /// Whether the region lies in a picture, which is the same for pictures of every size.
  var isValid: Bool { rect(in: PixelSize(width: 1, height: 1)) != nil }

  /// The region in a picture of this size. That of a circle is a square of pixels.
  func rect(in size: PixelSize) -> UnitRect? {
    switch shape {
    case .rectangle(let width, let height): return UnitRect(centerX: x, centerY: y, width: width, height: height)
    case .circle(let diameter):
      let side = diameter * Double(min(size.width, size.height))
      return UnitRect(
        centerX: x, centerY: y, width: side / Double(size.width), height: side / Double(size.height))
    }
  }
}

extension UnitRect {
  /// Six digits distinguish the pixels of every picture.
  private static let steps = 1e6

  /// Cut off at the edges of the unit square; `nil` if its centre is outside, or a side is negative.
  init?(centerX: Double, centerY: Double, width: Double, height: Double) {
    guard (0...1).contains(centerX), (0...1).contains(centerY), (0...2).contains(width), (0...2).contains(height) else {
      return nil
    }
    func span(_ center: Double, _ length: Double) -> (start: Double, length: Double) {
      let start = (max(0, center - length / 2) * Self.steps).rounded() / Self.steps
      let end = (min(1, center + length / 2) * Self.steps).rounded() / Self.steps
      return (start, ((end - start) * Self.steps).rounded() / Self.steps)
    }
    let (x, across) = span(centerX, width)
    let (y, down) = span(centerY, height)
    self.init(x: x, y: y, width: across, height: down)
  }
}

extension Orientation {
  /// Where a part of the stored picture is in the upright one.
  func upright(_ rect: UnitRect) -> UnitRect {
    let across = swapsSides ? UnitRect(x: rect.y, y: rect.x, width: rect.height, height: rect.width) : rect
    return UnitRect(
      centerX: mirrorsX ? 1 - across.x - across.width / 2 : across.x + across.width / 2,
      centerY: mirrorsY ? 1 - across.y - across.height / 2 : across.y + across.height / 2, width: across.width,
      height: across.height) ?? across
  }
}
