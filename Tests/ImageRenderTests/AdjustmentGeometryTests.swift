import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// Geometric adjustments, compared with pixels that were moved directly.
@Suite("Geometry of adjustments")
struct AdjustmentGeometryTests {
  private static func png(_ pixels: Pixels) -> [UInt8] { PNGFile(.rgb(depth: 8)).encoded(pixels) }

  private static let whole = ImageRequest(format: .png)

  @Test("crops, turns and flips move pixels and change none of them, in every orientation", arguments: 1...8)
  func exactGeometry(_ number: Int) throws {
    let upright = Scene(seed: 2, grain: 30).pixels(width: 48, height: 32)
    let file = JPEGFile {
      $0.sampling = (1, 1)
      $0.exif = EXIFBlock { $0.orientation = number }
    }.encoded(upright.stored(orientation: number))
    let plain = try renderAdjusted(file, Self.whole, []).pixels
    let rect = UnitRect(x: 0.25, y: 0.125, width: 0.5, height: 0.5)
    let cropped = plain.cropped(x: 12, y: 4, width: 24, height: 16)
    #expect(try renderAdjusted(file, Self.whole, [.crop(rect)]).pixels.bytes == cropped.bytes)
    // Clockwise: the left column becomes the top row.
    let turned = cropped.mapped(width: 16, height: 24) { x, y in (y, 15 - x) }
    #expect(try renderAdjusted(file, Self.whole, [.crop(rect), .rotate(quarterTurns: 1)]).pixels.bytes == turned.bytes)
    let flipped = turned.mapped(width: 16, height: 24) { x, y in (15 - x, y) }
    #expect(
      try renderAdjusted(file, Self.whole, [.crop(rect), .rotate(quarterTurns: 1), .flip(.horizontal)]).pixels.bytes
        == flipped.bytes)
  }

  static let lists: [[AdjustmentOperation]] = [
    [.crop(UnitRect(x: 0.25, y: 0.125, width: 0.5, height: 0.375)), .rotate(quarterTurns: 1)],
    [.tone(.exposure, 0.3), .vignette(amount: 0.8, radius: 0.3)],
    [.straighten(degrees: 7), .flip(.horizontal), .vignette(amount: 0.8, radius: 0.3)],
  ]

  @Test("a turn of the request turns the adjusted picture", arguments: lists, 2...8)
  func turnedAtLast(_ operations: [AdjustmentOperation], _ number: Int) throws {
    let upright = Scene(seed: 2, grain: 2).pixels(width: 96, height: 64)
    let file = JPEGFile { $0.exif = EXIFBlock { $0.orientation = 6 } }.encoded(upright.stored(orientation: 6))
    for size in [TargetSize.maximum, .size(PixelSize(width: 40, height: 40))] {
      var request = Self.whole
      request.targetSize = size
      let plain = try renderAdjusted(file, request, operations).pixels
      request.rotation = try #require(Orientation(rawValue: number))
      let turned = try renderAdjusted(file, request, operations).pixels.stored(orientation: number)
      #expect(try #require(turned.meanDifference(from: plain)) < 0.5)
    }
  }

  @Test("a crop of the request lies in the adjusted picture")
  func composedCrop() throws {
    let upright = Scene(seed: 2, grain: 30).pixels(width: 64, height: 48)
    let half = UnitRect(x: 0.5, y: 0.5, width: 0.5, height: 0.5)
    var request = Self.whole
    request.normalizedCropRect = half
    let pixels = try renderAdjusted(Self.png(upright), request, [.crop(half), .flip(.vertical)]).pixels
    let expected = upright.cropped(x: 48, y: 24, width: 16, height: 12).mapped(width: 16, height: 12) { ($0, 11 - $1) }
    #expect(pixels.bytes == expected.bytes)
  }

  @Test("straightening turns the picture clockwise about its centre")
  func straightened() throws {
    // A smooth picture whose value is known at every point.
    func value(_ x: Double, _ y: Double) -> Double { 128 + 50 * sin(x / 23) + 40 * cos(y / 17) }
    var picture = Pixels(width: 240, height: 160, channels: 3)
    for y in 0..<160 {
      for x in 0..<240 {
        for c in 0..<3 {
          picture.bytes[(y * 240 + x) * 3 + c] = UInt8(value(Double(x) + 0.5, Double(y) + 0.5).rounded())
        }
      }
    }
    for degrees in [-20.0, 3, 45] {
      let pixels = try renderAdjusted(Self.png(picture), Self.whole, [.straighten(degrees: degrees)]).pixels
      let (sine, cosine) = (sin(degrees * .pi / 180), cos(degrees * .pi / 180))
      var worst = 0.0
      for y in 0..<pixels.height {
        for x in 0..<pixels.width {
          let (dx, dy) = (Double(x) + 0.5 - Double(pixels.width) / 2, Double(y) + 0.5 - Double(pixels.height) / 2)
          let expected = value(120 + cosine * dx + sine * dy, 80 - sine * dx + cosine * dy)
          worst = max(worst, abs(expected - Double(pixels.bytes[(y * pixels.width + x) * 3])))
        }
      }
      #expect(worst < 4, "\(degrees): \(worst)")
    }
  }

  @Test("straightening mixes no colour of transparent pixels into opaque ones", arguments: [false, true])
  func straightenedAlpha(_ isGray: Bool) throws {
    var picture = Pixels(width: 120, height: 90, channels: 4)
    for y in 30..<60 {
      for x in 40..<80 {
        for c in 0..<4 { picture.bytes[(y * 120 + x) * 4 + c] = c == 3 ? 255 : 200 }
      }
    }
    let file = PNGFile(isGray ? .grayAlpha(depth: 8) : .rgba(depth: 8)).encoded(picture)
    let pixels = try renderAdjusted(file, Self.whole, [.straighten(degrees: 7)], keepsAlpha: true).pixels
    let alpha = pixels.channels - 1
    var counts = (edge: 0, opaque: 0)
    for at in stride(from: 0, to: pixels.bytes.count, by: pixels.channels) where pixels.bytes[at + alpha] > 0 {
      if pixels.bytes[at + alpha] == 255 { counts.opaque += 1 } else { counts.edge += 1 }
      for c in 0..<alpha { #expect((199...201).contains(pixels.bytes[at + c]), "alpha \(pixels.bytes[at + alpha])") }
    }
    #expect(counts.edge > 60 && counts.opaque > 800, "\(counts)")
  }

  @Test("a perspective shows each point that its matrix maps to")
  func perspective() throws {
    func value(_ x: Double, _ y: Double) -> Double { 128 + 60 * sin(x * 9) + 50 * cos(y * 7) }
    var picture = Pixels(width: 200, height: 200, channels: 3)
    for y in 0..<200 {
      for x in 0..<200 {
        let level = UInt8(value((Double(x) + 0.5) / 200, (Double(y) + 0.5) / 200).rounded())
        for c in 0..<3 { picture.bytes[(y * 200 + x) * 3 + c] = level }
      }
    }
    let map = Homography([0.7, 0.1, 0.1, 0.05, 0.8, 0.1, 0.2, -0.1, 1])
    let pixels = try renderAdjusted(Self.png(picture), Self.whole, [.perspective(map)]).pixels
    var worst = 0.0
    for y in 0..<pixels.height {
      for x in 0..<pixels.width {
        let point = map.point((Double(x) + 0.5) / Double(pixels.width), (Double(y) + 0.5) / Double(pixels.height))
        let level = Double(pixels.bytes[(y * pixels.width + x) * 3])
        worst = max(worst, abs(value(point.x, point.y) - level))
      }
    }
    #expect(worst < 4, "\(worst)")
  }

  @Test("a list of perspectives that is too strong for the precision of numbers still makes a picture")
  func strongPerspectives() throws {
    let picture = Scene(seed: 2).pixels(width: 60, height: 40)
    // Keeps three corners, and moves the fourth next to the first: the divisor of one corner is a hundredth of the other.
    let strong = AdjustmentOperation.perspective(Homography([0.0101, 0, 0, 0, 0.0101, 0, -0.9899, 0, 1]))
    for count in [2, 8, 20, 98] {
      let operations =
        [AdjustmentOperation.vignette(amount: 1, radius: 0)]
        + [AdjustmentOperation](repeating: strong, count: count)
      for asked in [Self.whole, request(20, 20)] {
        let pixels = try renderAdjusted(Self.png(picture), asked, operations).pixels
        #expect(pixels.width > 0 && pixels.height > 0)
      }
    }
  }

  @Test("a multiple of a perspective's matrix shows the same picture, beside a vignette too", arguments: [1e-5, 1e200])
  func scaledPerspective(_ factor: Double) throws {
    let file = Self.png(Scene(seed: 2).pixels(width: 60, height: 40))
    let numbers = [0.8, 0.05, 0.1, 0.05, 0.8, 0.05, 0.1, 0.05, 1]
    let dark = AdjustmentOperation.vignette(amount: 1, radius: 0)
    func rendered(_ factor: Double) throws -> Pixels {
      let step = AdjustmentOperation.perspective(Homography(numbers.map { $0 * factor }))
      return try renderAdjusted(file, Self.whole, [dark, step, dark, step, dark]).pixels
    }
    let (scaled, plain) = (try rendered(factor), try rendered(1))
    #expect(try #require(scaled.meanDifference(from: plain)) < 0.1)
  }
}
