import PhotoModel

/// The transformations of an item: crop the decoded picture, then turn it (ISO/IEC 23008-12 §6.5).
struct HEIFTransformation {
  /// The part that is shown, in pixels of the decoded picture.
  private(set) var crop: PixelRect
  private(set) var orientation = Orientation.topLeft

  /// - Parameters:
  ///   - size: the decoded picture's.
  ///   - properties: the item's, in their stored order, which is the order in which they apply.
  init(_ boxes: inout BoxReader, size: PixelSize, by properties: [Box]) throws(CodecError) {
    crop = PixelRect(size)
    var (swapsSides, mirrorsX, mirrorsY) = (false, false, false)
    for property in properties {
      switch property.type {
      case "irot":
        // §6.5.10: quarter turns, anticlockwise.
        var fields = try boxes.fields(of: property, atMost: 1)
        for _ in 0..<(try fields.number(1) & 3) {
          (swapsSides, mirrorsX, mirrorsY) = (!swapsSides, mirrorsY, !mirrorsX)
        }
      case "imir":
        // §6.5.12, as its second edition words it: 0 exchanges top and bottom, 1 left and right.
        var fields = try boxes.fields(of: property, atMost: 1)
        if try fields.number(1) & 1 == 0 { mirrorsY.toggle() } else { mirrorsX.toggle() }
      case "clap":
        var fields = try boxes.fields(of: property, atMost: 32)
        var bytes: [Int] = []
        while !fields.isAtEnd { bytes.append(try fields.signed32()) }
        cut(bytes)
      default: break
      }
      orientation = Orientation(swapsSides: swapsSides, mirrorsX: mirrorsX, mirrorsY: mirrorsY)
    }
  }

  /// ISO/IEC 14496-12 §12.1.4: width, height, and the offsets of the centre, each as a fraction. A crop that is not
  /// within the picture is ignored.
  private mutating func cut(_ numbers: [Int]) {
    let size = orientation.apply(to: crop.size)
    guard numbers.count >= 4, let width = Self.quotient(numbers[0], numbers[1]),
      let height = Self.quotient(numbers[2], numbers[3]), (1...max(1, size.width)).contains(width),
      (1...max(1, size.height)).contains(height)
    else { return }
    var (x, y) = (Double(size.width - width) / 2, Double(size.height - height) / 2)
    if numbers.count >= 8, numbers[5] > 0, numbers[7] > 0 {
      x += Double(numbers[4]) / Double(numbers[5])
      y += Double(numbers[6]) / Double(numbers[7])
    }
    // Between pixels: the pixel before. A crop that reaches over an edge is moved inside.
    let local = PixelRegion(
      x: min(max(0, x.rounded(.down)), Double(size.width - width)),
      y: min(max(0, y.rounded(.down)), Double(size.height - height)), width: Double(width), height: Double(height))
    let stored = orientation.stored(local, ofUpright: size)
    crop = PixelRect(
      x: crop.x + Int(stored.x), y: crop.y + Int(stored.y), width: Int(stored.width), height: Int(stored.height))
  }

  /// Rounded half up; `nil` without a positive denominator.
  private static func quotient(_ numerator: Int, _ denominator: Int) -> Int? {
    denominator > 0 ? (numerator + denominator / 2) / denominator : nil
  }
}
