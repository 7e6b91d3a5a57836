// An edit that another program left in a picture's file or beside it, as far as photod understands it. Its description
// is independent of the picture's size: a sidecar is read without its picture. `operations` turns it into photod's own
// operations. What is not understood is only named, never guessed at; the data stay in their file, byte for byte.

#if canImport(Glibc)
  import Glibc
#endif

package struct ForeignEdit: Sendable, Hashable, Codable {
  /// The part of the stored picture that an edit shows, before its orientation is applied.
  package enum Frame: Sendable, Hashable, Codable {
    /// The frame's top left and bottom right corners in the unit square, (0, 0) top left, and the angle of its sides in
    /// degrees: the clockwise turn from the picture's top edge to the frame's. Camera Raw.
    case corners(left: Double, top: Double, right: Double, bottom: Double, degrees: Double)
    /// An affine map of pixels (a, b, c, d, x, y), as in CGAffineTransform, and then a rectangle (x, y, width, height)
    /// of the mapped picture. The origin is at the bottom left; `nil`: no map, or the whole picture. Core Image.
    case mappedPixels(affine: [Double]?, rect: [Double]?)
  }

  /// A tone of another program, and the operation that comes close to it.
  package struct Tone: Sendable, Hashable, Codable {
    /// The other program's name.
    package var name: String
    var operation: ToneOperation
    var value: Double

    package init(_ name: String, _ operation: ToneOperation, _ value: Double) {
      self.name = name
      self.operation = operation
      self.value = min(max(value, operation.range.lowerBound), operation.range.upperBound)
    }
  }

  /// The maximum number of names in ``unknown``.
  package static let maximumNames = 32
  /// The maximum length of a name, in bytes.
  package static let maximumNameBytes = 64

  package var formatIdentifier: String
  package var formatVersion: String
  package var frame: Frame?
  /// The EXIF number of the orientation that takes the place of the file's own.
  package var orientation: Int?
  /// The EXIF number of an orientation that is applied after the file's own.
  package var turn: Int?
  package var tones: [Tone] = []
  /// The points of a tone curve, and its name.
  package var curve: [[Double]]?
  package var curveName: String?
  /// The names of the parts that photod doesn't understand.
  package var unknown: [String] = []
  /// Whether the picture is an edited one even if no part of the edit can be rendered.
  package var isAlwaysEdit = false

  package init(formatIdentifier: String, formatVersion: String) {
    self.formatIdentifier = formatIdentifier
    self.formatVersion = formatVersion
  }

  /// Adds a name to ``unknown``, within the limits.
  package mutating func note(unknown name: String) {
    let name = String(decoding: name.utf8.prefix(Self.maximumNameBytes), as: UTF8.self)
    if unknown.count < Self.maximumNames, !unknown.contains(name) { unknown.append(name) }
  }
}

extension ForeignEdit {
  /// The edit of a picture, in photod's operations.
  package struct Rendering: Sendable, Hashable {
    package var operations = Adjustments([])
    /// The names of the parts that are not rendered.
    package var unrendered: [String] = []
  }

  /// The part of a side of a frame that may be outside of the picture, because other programs round their numbers.
  private static let overhang = 0.02

  /// - Parameters:
  ///   - size: of the upright picture before the edit.
  ///   - orientation: how the file stores it.
  ///   - includesTones: whether tones are rendered. They are only similar to those of the other program.
  package func rendering(of size: PixelSize, _ orientation: Orientation, includesTones: Bool) -> Rendering {
    var rendering = Rendering()
    rendering.unrendered = unknown
    let geometry = geometry(of: orientation.apply(to: size), orientation)
    if let geometry { rendering.operations = geometry } else { rendering.unrendered.append("geometry") }
    guard includesTones else {
      rendering.unrendered += tones.map(\.name) + (curveName.map { [$0] } ?? [])
      return rendering
    }
    var operations = rendering.operations.operations
    operations += tones.map { .tone($0.operation, $0.value) }
    if let curve, let curve = ToneCurve(curve.compactMap { $0.count == 2 ? ToneCurve.Point($0[0], $0[1]) : nil }) {
      operations.append(.toneCurve(.rgb, curve))
    }
    if let valid = Self.valid(operations) { rendering.operations = valid }
    return rendering
  }

  /// `nil` if the frame is not one of this picture, or can't be rendered.
  private func geometry(of stored: PixelSize, _ orientation: Orientation) -> Adjustments? {
    let own = self.orientation.flatMap(Orientation.init) ?? orientation
    let final = turn.flatMap(Orientation.init).map { own.followed(by: $0) } ?? own
    guard let frame else { return Self.valid(Self.turns(from: orientation, to: final)) }
    guard let (map, width, height) = Self.map(frame, stored) else { return nil }
    let toUpright = Homography(orientation).inverse
    // A frame that is upright, turned by quarters or mirrored in the stored picture is a crop, and then a turn.
    for turn in Orientation.allCases {
      let crop = map.after(Homography(turn).inverse)
      guard let rect = Self.rect(toUpright.after(crop).after(Homography(orientation))) else { continue }
      let operations: [AdjustmentOperation] = rect.isWhole ? [] : [.crop(rect)]
      return Self.valid(operations + Self.turns(from: orientation, to: turn.followed(by: final)))
    }
    let mirror: Orientation = Self.isMirrored(map) ? .topRight : .topLeft
    let inner = toUpright.after(map.after(Homography(mirror).inverse)).after(Homography(orientation))
    guard let inside = Self.shrunk(inner) else { return nil }
    let ratio = orientation.swapsSides ? height / width : width / height
    guard Adjustments.aspectRatios.contains(ratio) else { return nil }
    return Self.valid(
      [.perspective(inside, aspectRatio: ratio)] + Self.turns(from: orientation, to: mirror.followed(by: final)))
  }

  /// The map from the unit square of a frame to that of the stored picture, and the frame's sides in pixels.
  private static func map(
    _ frame: Frame, _ stored: PixelSize
  ) -> (map: Homography, width: Double, height: Double)? {
    let (across, down) = (Double(stored.width), Double(stored.height))
    switch frame {
    case .corners(let left, let top, let right, let bottom, let degrees):
      let radians = degrees * .pi / 180
      let (cosine, sine) = (cos(radians), sin(radians))
      let (x, y) = ((right - left) * across, (bottom - top) * down)
      // The diagonal, along the frame's own sides.
      let (width, height) = (x * cosine + y * sine, y * cosine - x * sine)
      guard width >= 1, height >= 1 else { return nil }
      return (
        Homography([
          width * cosine / across, -height * sine / across, left,
          width * sine / down, height * cosine / down, top, 0, 0, 1,
        ]), width, height
      )
    case .mappedPixels(let affine, let rect):
      let numbers = affine ?? [1, 0, 0, 1, 0, 0]
      let rect = rect ?? [0, 0, across, down]
      guard numbers.count == 6, rect.count == 4, rect[2] >= 1, rect[3] >= 1 else { return nil }
      // Core Image's points are columns: x' = a x + c y + tx.
      let forward = Homography([
        numbers[0], numbers[2], numbers[4], numbers[1], numbers[3], numbers[5], 0, 0, 1,
      ])
      let determinant = numbers[0] * numbers[3] - numbers[1] * numbers[2]
      guard determinant.isFinite, abs(determinant) > 1e-6, rect.allSatisfy(\.isFinite) else { return nil }
      // From the unit square, whose y points down, to the rectangle; back to the picture; and to its unit square.
      let toRect = Homography([rect[2], 0, rect[0], 0, -rect[3], rect[1] + rect[3], 0, 0, 1])
      let toUnit = Homography([1 / across, 0, 0, 0, -1 / down, 1, 0, 0, 1])
      let scale = abs(determinant).squareRoot()
      return (toUnit.after(forward.inverse).after(toRect), rect[2] / scale, rect[3] / scale)
    }
  }

  /// The rectangle that a map shows, cut off at the picture's edges; `nil` if the map turns or mirrors, or if more than
  /// ``overhang`` of a side is outside of the picture.
  private static func rect(_ map: Homography) -> UnitRect? {
    let numbers = map.matrix.map { $0 / map.matrix[8] }
    guard abs(numbers[1]) < 1e-9, abs(numbers[3]) < 1e-9, numbers[0] > 0, numbers[4] > 0 else { return nil }
    func span(_ start: Double, _ length: Double) -> (start: Double, length: Double)? {
      let (low, high) = (max(0, start), min(1, start + length))
      return high - low >= length * (1 - overhang) && high > low ? (low, high - low) : nil
    }
    guard let x = span(numbers[2], numbers[0]), let y = span(numbers[5], numbers[4]) else { return nil }
    return UnitRect(x: x.start, y: y.start, width: x.length, height: y.length)
  }

  private static func isMirrored(_ map: Homography) -> Bool {
    map.matrix[0] * map.matrix[4] - map.matrix[1] * map.matrix[3] < 0
  }

  /// The map, scaled about its centre so that all corners are inside the picture; `nil` if that takes more than
  /// ``overhang``.
  private static func shrunk(_ map: Homography) -> Homography? {
    let center = map.point(0.5, 0.5)
    var share = 1.0
    for corner in map.corners {
      for (middle, end) in [(center.x, corner.x), (center.y, corner.y)] {
        guard middle.isFinite, end.isFinite, middle > 0, middle < 1 else { return nil }
        if end < 0 { share = min(share, middle / (middle - end)) }
        if end > 1 { share = min(share, (1 - middle) / (end - middle)) }
      }
    }
    guard share >= 1 - overhang else { return nil }
    let rest = (1 - share) / 2
    return map.after(Homography([share, 0, rest, 0, share, rest, 0, 0, 1]))
  }

  /// The operations after which a picture of one orientation has another one.
  private static func turns(from: Orientation, to: Orientation) -> [AdjustmentOperation] {
    if from == to { return [] }
    for mirror in [Orientation.topLeft, .topRight] {
      for (quarterTurns, turn) in [Orientation.topLeft, .rightTop, .bottomRight, .leftBottom].enumerated()
      where from.followed(by: mirror).followed(by: turn) == to {
        return (mirror == .topRight ? [.flip(.horizontal)] : [])
          + (quarterTurns > 0 ? [.rotate(quarterTurns: quarterTurns)] : [])
      }
    }
    return []
  }

  /// The operations, if they are valid: what the catalogue stores can always be rendered.
  private static func valid(_ operations: [AdjustmentOperation]) -> Adjustments? {
    do throws(AdjustmentError) {
      return try Adjustments(JSONValue(Adjustments(operations)))
    } catch {
      return nil
    }
  }
}

extension UnitRect {
  fileprivate var isWhole: Bool { x < 1e-6 && y < 1e-6 && width > 1 - 1e-6 && height > 1 - 1e-6 }
}
