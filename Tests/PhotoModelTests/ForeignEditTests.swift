import Foundation
import PhotoModel
import Testing

/// Edits of other programs as photod's operations: every point of the result shows what the other program's own
/// coordinates say.
@Suite("Edits of other programs")
struct ForeignEditTests {
  private static let stored = PixelSize(width: 4000, height: 3000)

  private static func edit(_ frame: ForeignEdit.Frame?, _ change: (inout ForeignEdit) -> Void = { _ in }) -> ForeignEdit
  {
    var edit = ForeignEdit(formatIdentifier: "test", formatVersion: "1")
    edit.frame = frame
    change(&edit)
    return edit
  }

  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let frame: ForeignEdit.Frame?
    /// The stored pixel, from the top left, that the frame shows at a point of its unit square.
    let point: @Sendable (Double, Double) -> (x: Double, y: Double)
    /// The frame's size in the stored picture.
    let size: (width: Double, height: Double)
  }

  private static let cases: [Case] = {
    let angle = 6.0 * .pi / 180
    // A frame of 2000 x 1500 whose top left corner is at (900, 500).
    let (width, height, left, top) = (2000.0, 1500.0, 900.0, 500.0)
    let (right, bottom) = (
      left + width * cos(angle) - height * sin(angle), top + width * sin(angle) + height * cos(angle)
    )
    let turned: @Sendable (Double, Double) -> (x: Double, y: Double) = { s, t in
      let (x, y) = (s * width, t * height)
      return (left + x * cos(angle) - y * sin(angle), top + x * sin(angle) + y * cos(angle))
    }
    // Core Image turns the picture counterclockwise by 6 degrees about the origin, and crops what was turned.
    let (a, b) = (cos(angle), sin(angle))
    let affine: @Sendable (Double, Double) -> (x: Double, y: Double) = { s, t in
      let (px, py) = (900 + s * 1200, 1200 + (1 - t) * 800)
      return (a * px + b * py, 3000 - (-b * px + a * py))
    }
    return [
      Case(testDescription: "no frame", frame: nil, point: { ($0 * 4000, $1 * 3000) }, size: (4000, 3000)),
      Case(
        testDescription: "Camera Raw: a crop",
        frame: .corners(left: 0.1, top: 0.2, right: 0.6, bottom: 0.9, degrees: 0),
        point: { (400 + $0 * 2000, 600 + $1 * 2100) }, size: (2000, 2100)),
      Case(
        testDescription: "Camera Raw: a crop with an angle",
        frame: .corners(
          left: left / 4000, top: top / 3000, right: right / 4000, bottom: bottom / 3000, degrees: 6),
        point: turned, size: (width, height)),
      Case(
        testDescription: "Core Image: a crop from the bottom left",
        frame: .mappedPixels(affine: nil, rect: [100, 200, 1000, 500]),
        point: { (100 + $0 * 1000, 3000 - 200 - (1 - $1) * 500) }, size: (1000, 500)),
      Case(
        testDescription: "Core Image: a shift and a crop",
        frame: .mappedPixels(affine: [1, 0, 0, 1, -331, -121], rect: [0, 0, 2138, 1603]),
        point: { (331 + $0 * 2138, 3000 - 121 - (1 - $1) * 1603) }, size: (2138, 1603)),
      Case(
        testDescription: "Core Image: a quarter turn and a crop",
        // Counterclockwise: (x, y) becomes (3000 - y, x).
        frame: .mappedPixels(affine: [0, 1, -1, 0, 3000, 0], rect: [0, 1000, 3000, 2000]),
        point: { s, t in
          let (px, py) = (s * 3000, 1000 + (1 - t) * 2000)
          return (py, 3000 - (3000 - px))
        }, size: (3000, 2000)),
      Case(
        testDescription: "Core Image: mirrored",
        frame: .mappedPixels(affine: [-1, 0, 0, 1, 4000, 0], rect: nil),
        point: { (4000 - $0 * 4000, $1 * 3000) }, size: (4000, 3000)),
      Case(
        testDescription: "Core Image: straightened by an affine map, and cropped",
        frame: .mappedPixels(affine: [a, b, -b, a, 0, 0], rect: [900, 1200, 1200, 800]), point: affine,
        size: (1200, 800)),
    ]
  }()

  @Test("every point shows what the frame says, in every orientation of the file", arguments: cases)
  func points(_ one: Case) throws {
    for orientation in Orientation.allCases {
      for turn in [nil, Orientation.rightTop, .topRight] {
        let edit = Self.edit(one.frame) { $0.turn = turn?.rawValue }
        let upright = orientation.apply(to: Self.stored)
        let rendering = edit.rendering(of: upright, orientation, includesTones: false)
        #expect(rendering.unrendered.isEmpty)
        let geometry = AdjustedGeometry(rendering.operations, of: upright)
        let final = turn.map { orientation.followed(by: $0) } ?? orientation
        let sides = final.swapsSides ? (one.size.height, one.size.width) : (one.size.width, one.size.height)
        #expect(
          abs(Double(geometry.size.width) - sides.0) <= 1 && abs(Double(geometry.size.height) - sides.1) <= 1,
          "\(orientation): \(geometry.size) for \(sides)")
        for (s, t) in [(0.0, 0.0), (1, 0), (0, 1), (0.3, 0.8)] {
          let inFrame = Homography(final).point(s, t)
          let pixel = one.point(inFrame.x, inFrame.y)
          let expected = Homography(orientation).inverse.point(pixel.x / 4000, pixel.y / 3000)
          let shown = geometry.toUnadjusted.point(s, t)
          #expect(
            abs(shown.x - expected.x) < 1e-3 && abs(shown.y - expected.y) < 1e-3,
            "\(orientation) \(String(describing: turn)) (\(s), \(t)): \(shown) for \(expected)")
        }
      }
    }
  }

  @Test("a sidecar's orientation takes the place of the file's", arguments: Orientation.allCases)
  func orientation(_ own: Orientation) throws {
    for file in Orientation.allCases {
      let edit = Self.edit(nil) { $0.orientation = own.rawValue }
      let upright = file.apply(to: Self.stored)
      let geometry = AdjustedGeometry(edit.rendering(of: upright, file, includesTones: false).operations, of: upright)
      #expect(geometry.size == own.apply(to: Self.stored))
      #expect(file.followed(by: geometry.orientation) == own)
    }
  }

  @Test("a camera's crop to 16:9 of a portrait is centred in the upright picture")
  func cameraCrop() throws {
    let edit = Self.edit(.mappedPixels(affine: nil, rect: [0, 378, 4032, 2268]))
    let upright = PixelSize(width: 3024, height: 4032)
    let operations = edit.rendering(of: upright, .rightTop, includesTones: false).operations
    #expect(operations.operations.map(\.type) == ["crop"])
    let geometry = AdjustedGeometry(operations, of: upright)
    #expect(geometry.crop == PixelRect(x: 378, y: 0, width: 2268, height: 4032))
  }

  struct Refused: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let frame: ForeignEdit.Frame
  }

  @Test(
    "a frame that is not one of this picture is named and not rendered",
    arguments: [
      Refused(
        testDescription: "of a larger picture", frame: .mappedPixels(affine: nil, rect: [2000, 1000, 4000, 3000])),
      Refused(testDescription: "empty", frame: .corners(left: 0.5, top: 0.5, right: 0.5, bottom: 0.6, degrees: 0)),
      Refused(
        testDescription: "the wrong way round",
        frame: .corners(left: 0.9, top: 0.1, right: 0.1, bottom: 0.9, degrees: 0)),
      Refused(
        testDescription: "an angle with empty corners",
        frame: .corners(left: 0, top: 0, right: 1, bottom: 1, degrees: 20)),
      Refused(testDescription: "a map without inverse", frame: .mappedPixels(affine: [1, 1, 1, 1, 0, 0], rect: nil)),
      Refused(testDescription: "too few numbers", frame: .mappedPixels(affine: [1], rect: [0, 0])),
    ])
  func refused(_ one: Refused) {
    let rendering = Self.edit(one.frame).rendering(of: Self.stored, .topLeft, includesTones: false)
    #expect(rendering.operations.isEmpty && rendering.unrendered == ["geometry"])
  }

  @Test("tones are rendered only if that is wanted, and are named otherwise")
  func tones() throws {
    let edit = Self.edit(nil) {
      $0.tones = [
        ForeignEdit.Tone("crs:Exposure2012", .exposure, 9), ForeignEdit.Tone("crs:Shadows2012", .shadows, 0.5),
      ]
      $0.curve = [[0, 0], [0.5, 0.6], [1, 1]]
      $0.curveName = "CIToneCurve"
      $0.note(unknown: "CIFaceBalance")
    }
    let off = edit.rendering(of: Self.stored, .topLeft, includesTones: false)
    #expect(off.operations.isEmpty)
    #expect(off.unrendered == ["CIFaceBalance", "crs:Exposure2012", "crs:Shadows2012", "CIToneCurve"])
    let on = edit.rendering(of: Self.stored, .topLeft, includesTones: true)
    #expect(on.unrendered == ["CIFaceBalance"])
    #expect(on.operations.operations.map(\.type) == ["exposure", "shadows", "toneCurve"])
    #expect(on.operations.operations.first == .tone(.exposure, 5))
  }

  @Test("a perspective with an aspect ratio has that of its own frame")
  func aspectRatio() {
    // A square of half the picture's height.
    let map = Homography([0.375, 0, 0.3, 0, 0.5, 0.2, 0, 0, 1])
    let size = PixelSize(width: 400, height: 300)
    #expect(AdjustedGeometry(Adjustments([.perspective(map)]), of: size).size == PixelSize(width: 200, height: 150))
    #expect(
      AdjustedGeometry(Adjustments([.perspective(map, aspectRatio: 1)]), of: size).size
        == PixelSize(width: 150, height: 150))
    #expect(
      AdjustedGeometry(Adjustments([.perspective(map, aspectRatio: 100)]), of: size).size.width <= 150)
  }
}
