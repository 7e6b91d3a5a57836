import Foundation
import PhotoModel
import Testing

@Suite("Adjustments")
struct AdjustmentTests {
  private static func parsed(_ json: String) throws -> Adjustments {
    try Adjustments(JSONDecoder().decode(JSONValue.self, from: Data(json.utf8)))
  }

  private static let everything = """
    [{"type":"crop","rect":[0.25,0,0.5,1]},{"type":"straighten","degrees":-1.5},{"type":"rotate","quarterTurns":3},
    {"type":"flip","axis":"vertical"},{"type":"perspective","matrix":[0.8,0.1,0.05,0,0.8,0.1,0,0.1,1]},
    {"type":"exposure","ev":0.3},{"type":"brightness","amount":0.1},{"type":"contrast","amount":-1},
    {"type":"highlights","amount":1},{"type":"shadows","amount":0},{"type":"whites","amount":0.2},
    {"type":"blacks","amount":-0.2},{"type":"saturation","amount":0.5},{"type":"vibrance","amount":0.5},
    {"type":"warmth","amount":0.4},{"type":"tint","amount":-0.4},{"type":"sharpness","amount":1},
    {"type":"noiseReduction","amount":0.5},{"type":"blackAndWhite","amount":1},
    {"type":"toneCurve","channel":"red","points":[[0,0.1],[0.5,0.4],[1,1]]},
    {"type":"vignette","amount":0.5,"radius":0.25}]
    """

  @Test("each operation is read, and its canonical text reads as the same operations")
  func canonical() throws {
    let adjustments = try Self.parsed(Self.everything)
    #expect(adjustments.operations.count == 21)
    #expect(Set(adjustments.operations.map(\.type)).count == 21)
    #expect(try Self.parsed(adjustments.json) == adjustments)
    #expect(try Self.parsed(adjustments.json).json == adjustments.json)
  }

  @Test("values that are equal have equal text, however they were written")
  func equalText() throws {
    let texts = try [
      "[{\"type\":\"warmth\",\"amount\":0}]", "[{\"amount\":-0.0,\"type\":\"warmth\"}]",
      "[{\"type\":\"warmth\",\"amount\":0e5}]",
    ].map { try Self.parsed($0).json }
    #expect(Set(texts).count == 1)
    #expect(
      try Self.parsed(#"[{"type":"toneCurve","points":[[0,0],[1,1]]}]"#)
        == Self.parsed(#"[{"type":"toneCurve","channel":"rgb","points":[[0,0],[1.0,1]]}]"#))
  }

  struct Refused: CustomTestStringConvertible {
    let testDescription: String
    let json: String
    /// The operation that the error names; `nil`: the list.
    let index: Int?

    init(_ name: String, _ json: String, _ index: Int? = 0) {
      (testDescription, self.json, self.index) = (name, json, index)
    }
  }

  private static let refusedLists: [Refused] = [
    Refused("no list", "{}", nil), Refused("null", "null", nil),
    Refused(
      "10,000 operations",
      "[" + [String](repeating: #"{"type":"tint","amount":0}"#, count: 10_000).joined(separator: ",") + "]", nil),
    Refused("no object", "[1]"), Refused("no type", "[{}]"),
    Refused("an unknown type", #"[{"type":"glow","amount":1}]"#),
    Refused("the second", #"[{"type":"tint","amount":0},{"type":"tint"}]"#, 1),
    Refused("an unknown member", #"[{"type":"tint","amount":0,"radius":1}]"#),
    Refused("the member of another operation", #"[{"type":"exposure","amount":0}]"#),
    Refused("text for a number", #"[{"type":"tint","amount":"NaN"}]"#),
    Refused("null for a number", #"[{"type":"tint","amount":null}]"#),
    Refused("true for a number", #"[{"type":"tint","amount":true}]"#),
    Refused("too much", #"[{"type":"exposure","ev":5.01}]"#),
    Refused("too little", #"[{"type":"sharpness","amount":-0.1}]"#),
    Refused("a crop beyond the right edge", #"[{"type":"crop","rect":[0.6,0,0.5,1]}]"#),
    Refused("a crop that begins outside", #"[{"type":"crop","rect":[-0.1,0,0.5,1]}]"#),
    Refused("an empty crop", #"[{"type":"crop","rect":[0,0,0,1]}]"#),
    Refused("a crop of three numbers", #"[{"type":"crop","rect":[0,0,1]}]"#),
    Refused("46 degrees", #"[{"type":"straighten","degrees":46}]"#),
    Refused("four quarter turns", #"[{"type":"rotate","quarterTurns":4}]"#),
    Refused("half a quarter turn", #"[{"type":"rotate","quarterTurns":0.5}]"#),
    Refused("an unknown axis", #"[{"type":"flip","axis":"diagonal"}]"#),
    Refused("a perspective with empty corners", #"[{"type":"perspective","matrix":[1,0,0.1,0,1,0,0,0,1]}]"#),
    Refused("a perspective of a line", #"[{"type":"perspective","matrix":[0.5,0,0,0.5,0,0,0,0,1]}]"#),
    Refused("a mirroring perspective", #"[{"type":"perspective","matrix":[-1,0,1,0,1,0,0,0,1]}]"#),
    Refused("a perspective through infinity", #"[{"type":"perspective","matrix":[1,0,0,0,1,0,-1,0,0.5]}]"#),
    Refused("a curve that goes back", #"[{"type":"toneCurve","points":[[0,0],[0.5,1],[0.4,0],[1,1]]}]"#),
    Refused("a curve with two values at one place", #"[{"type":"toneCurve","points":[[0,0],[0.5,1],[0.5,0],[1,1]]}]"#),
    Refused("a curve that begins late", #"[{"type":"toneCurve","points":[[0.1,0],[1,1]]}]"#),
    Refused("a curve that leaves the range", #"[{"type":"toneCurve","points":[[0,0],[1,1.1]]}]"#),
    Refused("a curve of one point", #"[{"type":"toneCurve","points":[[0,0]]}]"#),
    Refused(
      "a fifth operation with neighbours",
      "[" + [String](repeating: #"{"type":"sharpness","amount":1}"#, count: 5).joined(separator: ",") + "]", 4),
  ]

  @Test("an invalid operation is refused with its place", arguments: refusedLists)
  func refused(_ one: Refused) throws {
    do {
      let adjustments = try Self.parsed(one.json)
      Issue.record("accepted \(adjustments.json)")
    } catch let error as AdjustmentError {
      #expect(error.index == one.index, "\(error.description)")
      if let index = one.index { #expect(error.description.hasPrefix("operations[\(index)]")) }
    }
  }

  @Test("a tone curve passes through its points and never leaves the range between two of them")
  func curve() throws {
    let points: [(Double, Double)] = [(0, 0.2), (0.1, 0.2), (0.3, 0.9), (0.8, 0.91), (1, 0.1)]
    let curve = try #require(ToneCurve(points.map { ToneCurve.Point($0.0, $0.1) }))
    for (x, y) in points { #expect(abs(curve(x) - y) < 1e-12) }
    for (from, to) in zip(points, points.dropFirst()) {
      for step in 0...50 {
        let value = curve(from.0 + (to.0 - from.0) * Double(step) / 50)
        #expect(value >= min(from.1, to.1) - 1e-9 && value <= max(from.1, to.1) + 1e-9)
      }
    }
  }

  @Test("a tone curve has values between those of its points, however close to each other these are")
  func closePoints() throws {
    let numbers: [Double] = [0, .leastNonzeroMagnitude, 0x1p-1063, 1e-160, 1e-17, 0.5, 1 - 0x1p-53, 1]
    for x in numbers where x > 0 && x < 1 {
      var heights: [(Double, Double, Double)] = []
      for y in numbers { heights += [(0, y, 1), (y, 0.5, 0.5), (1, 0.5, y), (y, y, 0)] }
      for (y0, y, y1) in heights {
        let curve = try #require(ToneCurve([.init(0, y0), .init(x, y), .init(1, y1)]))
        let range = (min(y0, y, y1) - 1e-8)...(max(y0, y, y1) + 1e-8)
        for at in numbers + [x / 2, (x + 1) / 2] {
          let value = curve(at)
          #expect(range.contains(value) && (0...1).contains(value), "\(value) at \(at) of \(curve.points)")
        }
      }
    }
  }

  private static let size = PixelSize(width: 400, height: 300)

  private static func geometry(_ operations: [AdjustmentOperation], of size: PixelSize = size) -> AdjustedGeometry {
    AdjustedGeometry(Adjustments(operations), of: size)
  }

  @Test("regions move with the picture, there and back, and those that a crop hides are not listed")
  func regions() throws {
    let face = PictureRegion(.face, UnitRect(x: 0.6, y: 0.2, width: 0.1, height: 0.2), name: "Ana")
    let hidden = PictureRegion(.pet, UnitRect(x: 0.1, y: 0.1, width: 0.2, height: 0.2))
    let half = AdjustmentOperation.crop(UnitRect(x: 0.5, y: 0, width: 0.5, height: 1))
    func moved(_ operations: [AdjustmentOperation]) throws -> [PictureRegion] {
      let geometry = AdjustedGeometry(Adjustments(operations), of: PixelSize(width: 400, height: 300))
      let regions = geometry.adjusted([face, hidden])
      let back = geometry.unadjusted(regions, replacing: [])
      #expect(back.first.map { abs($0.rect.x - 0.6) + abs($0.rect.width - 0.1) < 0.1 } == true, "\(operations)")
      return regions
    }
    let cropped = try moved([half])
    #expect(cropped == [PictureRegion(.face, UnitRect(x: 0.2, y: 0.2, width: 0.2, height: 0.2), name: "Ana")])
    let turned = try moved([half, .rotate(quarterTurns: 1)])
    #expect(turned == [PictureRegion(.face, UnitRect(x: 0.6, y: 0.2, width: 0.2, height: 0.2), name: "Ana")])
    let mirrored = try moved([.flip(.horizontal)])
    #expect(mirrored.map(\.rect.x) == [0.3, 0.7])
    // A part that is cut off is not part of the region.
    let narrow = try moved([.crop(UnitRect(x: 0.64, y: 0, width: 0.36, height: 1))])
    #expect(narrow.first.map { $0.rect.x == 0 && abs($0.rect.width - 0.06 / 0.36) < 1e-6 } == true)
    #expect(try moved([.straighten(degrees: 3)]).count == 2)
  }

  @Test("setting the regions of an adjusted picture keeps those that it hides, and the rectangles that are unchanged")
  func replacedRegions() {
    let face = PictureRegion(.face, UnitRect(x: 0.6, y: 0.2, width: 0.1, height: 0.2), name: "Ana")
    let hidden = PictureRegion(.pet, UnitRect(x: 0.1, y: 0.1, width: 0.2, height: 0.2))
    let half = AdjustmentOperation.crop(UnitRect(x: 0.5, y: 0, width: 0.5, height: 1))
    let lists: [[AdjustmentOperation]] = [[half], [half, .straighten(degrees: 3)], [.flip(.vertical), half]]
    for operations in lists {
      let geometry = Self.geometry(operations)
      let shown = geometry.adjusted([hidden, face])
      #expect(shown.count == 1, "\(operations)")
      #expect(geometry.unadjusted(shown, replacing: [hidden, face]) == [hidden, face], "\(operations)")
      var renamed = shown
      renamed[0].name = "Anna"
      let expected = PictureRegion(.face, face.rect, name: "Anna")
      #expect(geometry.unadjusted(renamed, replacing: [hidden, face]) == [expected, hidden], "\(operations)")
      #expect(geometry.unadjusted([], replacing: [hidden, face]) == [hidden], "\(operations)")
    }
    let many = [PictureRegion](repeating: face, count: RegionLimits.regions)
    #expect(Self.geometry([half]).unadjusted(many, replacing: [hidden]).count == RegionLimits.regions)
  }

  @Test("crops, turns and flips remain whole pixels and an orientation")
  func aligned() {
    let quarter = AdjustmentOperation.crop(UnitRect(x: 0, y: 0, width: 0.5, height: 0.5))
    let turned = Self.geometry([.rotate(quarterTurns: 1), quarter])
    // The top left quarter of a picture that was turned clockwise was its bottom left quarter.
    #expect(turned.size == PixelSize(width: 150, height: 200) && turned.orientation == .rightTop)
    #expect(turned.crop == PixelRect(x: 0, y: 150, width: 200, height: 150) && turned.map == nil)
    let flipped = Self.geometry([.flip(.horizontal), quarter, quarter])
    #expect(flipped.crop == PixelRect(x: 300, y: 0, width: 100, height: 75) && flipped.orientation == .topRight)
    let around = Self.geometry((0..<4).map { _ in .rotate(quarterTurns: 1) })
    #expect(around.orientation == .topLeft && around.size == Self.size && around.crop == PixelRect(Self.size))
    #expect(Self.geometry([.straighten(degrees: 0)]).map == nil)
  }

  @Test(
    "straightening keeps the aspect ratio, and every corner comes from inside the picture",
    arguments: [
      -45.0, -10, -0.1, 0.1, 1, 30, 45,
    ])
  func straightened(_ degrees: Double) throws {
    for size in [
      Self.size, Self.size.transposed, PixelSize(width: 300, height: 300), PixelSize(width: 900, height: 20),
    ] {
      let geometry = Self.geometry([.straighten(degrees: degrees)], of: size)
      let map = try #require(geometry.map)
      for corner in map.corners {
        #expect((-1e-9...1 + 1e-9).contains(corner.x) && (-1e-9...1 + 1e-9).contains(corner.y))
      }
      // One corner at least touches an edge: the rectangle can't be larger.
      let touches = map.corners.contains { [$0.x, $0.y].contains { abs($0) < 1e-9 || abs($0 - 1) < 1e-9 } }
      #expect(touches)
      #expect(geometry.size.width <= size.width && geometry.size.height <= size.height)
      // Content turns clockwise: the top right corner of the result was further up than its top left corner.
      let rises = map.corners[1].y < map.corners[0].y
      #expect(rises == (degrees > 0))
    }
  }

  @Test("the map of a chain of crops and turns is its crop and its orientation")
  func mapsAgree() throws {
    let rect = UnitRect(x: 0.25, y: 0.5, width: 0.5, height: 0.25)
    for turns in 1...3 {
      // A perspective that changes nothing makes the geometry keep its map.
      let operations: [AdjustmentOperation] = [
        .crop(rect), .rotate(quarterTurns: turns), .flip(.vertical), .crop(rect),
      ]
      let plain = Self.geometry(operations)
      let mapped = Self.geometry([.perspective(.identity)] + operations)
      let map = try #require(mapped.map)
      #expect(mapped.size == plain.size && mapped.orientation == plain.orientation)
      let bounds = map.bounds
      #expect(abs(bounds.x * 400 - Double(plain.crop.x)) < 1e-9 && abs(bounds.y * 300 - Double(plain.crop.y)) < 1e-9)
      #expect(abs(bounds.width * 400 - Double(plain.crop.width)) < 1e-9)
      let (corner, stored) = (map.point(0, 0), Homography(plain.orientation).point(0, 0))
      #expect(abs(corner.x - (bounds.x + bounds.width * stored.x)) < 1e-9)
      #expect(abs(corner.y - (bounds.y + bounds.height * stored.y)) < 1e-9)
    }
  }

  @Test("multiples of a matrix make the same geometry, also one after the other", arguments: [1e-5, 1e5, 1e200])
  func scaledMatrices(_ factor: Double) throws {
    func geometry(_ factor: Double) throws -> AdjustedGeometry {
      let numbers = [0.98, 0.005, 0.01, 0, 0.97, 0.01, 0.01, 0, 1].map { "\($0 * factor)" }
      let step = "{\"type\":\"perspective\",\"matrix\":[\(numbers.joined(separator: ","))]}"
      let steps = [String](repeating: step, count: 33)
      let list = steps + ["{\"type\":\"vignette\",\"amount\":1,\"radius\":0}"] + steps
      return AdjustedGeometry(try Self.parsed("[\(list.joined(separator: ","))]"), of: Self.size)
    }
    let (plain, scaled) = (try geometry(1), try geometry(factor))
    #expect(scaled.size == plain.size && scaled.orientation == plain.orientation)
    func check(_ expected: Homography, _ found: Homography) {
      for (x, y) in [(0.0, 0.0), (1.0, 0.0), (0.3, 0.7)] {
        let (one, other) = (expected.point(x, y), found.point(x, y))
        #expect(abs(one.x - other.x) < 1e-9 && abs(one.y - other.y) < 1e-9)
      }
    }
    check(try #require(plain.map), try #require(scaled.map))
    check(try #require(plain.vignetteMaps[33]), try #require(scaled.vignetteMaps[33]))
    check(plain.toUnadjusted.inverse.after(plain.toUnadjusted), scaled.toUnadjusted.inverse.after(scaled.toUnadjusted))
  }

  @Test("orientations combine as turns do", arguments: Orientation.allCases, Orientation.allCases)
  func orientations(_ first: Orientation, _ second: Orientation) {
    let both = Homography(first.followed(by: second))
    for (x, y) in [(0.1, 0.2), (0.9, 0.3)] {
      let middle = Homography(second).point(x, y)
      let (expected, found) = (Homography(first).point(middle.x, middle.y), both.point(x, y))
      #expect(abs(expected.x - found.x) < 1e-12 && abs(expected.y - found.y) < 1e-12)
    }
  }
}
