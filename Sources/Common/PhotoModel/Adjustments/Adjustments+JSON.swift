extension Adjustments {
  /// Parses a list of operations.
  package init(_ json: JSONValue) throws(AdjustmentError) {
    guard case .array(let list) = json else { throw AdjustmentError("must be a list") }
    guard list.count <= Self.maximumOperations else {
      throw AdjustmentError("must be at most \(Self.maximumOperations); there are \(list.count)")
    }
    var operations: [AdjustmentOperation] = []
    var neighbours = 0
    for (index, item) in list.enumerated() {
      var reader = OperationReader(item, index)
      let operation = try reader.operation()
      if case .tone(let tone, _) = operation, tone.readsNeighbours { neighbours += 1 }
      guard neighbours <= Self.maximumNeighbourOperations else {
        throw reader.error(
          "is one too many: at most \(Self.maximumNeighbourOperations) operations of sharpness and noiseReduction")
      }
      operations.append(operation)
    }
    self.init(operations)
  }

  /// The canonical JSON: equal operations have equal text.
  package var json: String { "[" + operations.map(\.json).joined(separator: ",") + "]" }
}

extension AdjustmentOperation {
  /// The name in JSON.
  package var type: String {
    switch self {
    case .crop: "crop"
    case .straighten: "straighten"
    case .rotate: "rotate"
    case .flip: "flip"
    case .perspective: "perspective"
    case .tone(let tone, _): tone.rawValue
    case .toneCurve: "toneCurve"
    case .vignette: "vignette"
    }
  }

  /// The members besides the type, in the order of the canonical JSON.
  fileprivate var members: [(name: String, value: JSONValue)] {
    // -0 and 0 are equal values and must have equal text.
    func number(_ value: Double) -> JSONValue { .number(value == 0 ? 0 : value) }
    func list(_ values: [Double]) -> JSONValue { .array(values.map(number)) }
    return switch self {
    case .crop(let rect): [("rect", list([rect.x, rect.y, rect.width, rect.height]))]
    case .straighten(let degrees): [("degrees", number(degrees))]
    case .rotate(let turns): [("quarterTurns", .integer(turns))]
    case .flip(let axis): [("axis", .string(axis.rawValue))]
    case .perspective(let map, let aspectRatio):
      [("matrix", list(map.matrix))] + (aspectRatio.map { [("aspectRatio", number($0))] } ?? [])
    case .tone(let tone, let value): [(tone.member, number(value))]
    case .toneCurve(let channel, let curve):
      [("channel", .string(channel.rawValue)), ("points", .array(curve.points.map { list([$0.x, $0.y]) }))]
    case .vignette(let amount, let radius): [("amount", number(amount)), ("radius", number(radius))]
    }
  }

  fileprivate var json: String {
    "{\"type\":\"\(type)\"," + members.map { "\"\($0.name)\":\($0.value.plainText)" }.joined(separator: ",") + "}"
  }
}

extension JSONValue {
  /// The operations as a value.
  package init(_ adjustments: Adjustments) {
    self = .array(
      adjustments.operations.map { operation in
        .object(
          Dictionary(uniqueKeysWithValues: operation.members.map { ($0.name, $0.value) }).merging(
            ["type": .string(operation.type)]
          ) { $1 })
      })
  }

  /// The text of a value of an operation; its strings need no escapes.
  fileprivate var plainText: String {
    switch self {
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .string(let text): "\"\(text)\""
    case .array(let list): "[" + list.map(\.plainText).joined(separator: ",") + "]"
    case .null, .bool, .object: preconditionFailure("no operation has such a member")
    }
  }
}

/// Reads one operation, and rejects unknown members.
private struct OperationReader {
  private let index: Int
  private let members: [String: JSONValue]?
  private var type: String?

  init(_ item: JSONValue, _ index: Int) {
    self.index = index
    if case .object(let members) = item { self.members = members } else { members = nil }
  }

  func error(_ reason: String) -> AdjustmentError { AdjustmentError(index: index, type: type, reason) }

  mutating func operation() throws(AdjustmentError) -> AdjustmentOperation {
    guard let members else { throw error("must be an object") }
    guard case .string(let name)? = members["type"] else { throw error("must have a type") }
    type = String(name.prefix(40))
    switch name {
    case "crop":
      try expect("rect")
      return .crop(try rect())
    case "straighten":
      try expect("degrees")
      return .straighten(degrees: try number("degrees", in: -45...45))
    case "rotate":
      try expect("quarterTurns")
      guard case .integer(let turns)? = members["quarterTurns"], (1...3).contains(turns) else {
        throw error("must have quarterTurns 1, 2 or 3")
      }
      return .rotate(quarterTurns: turns)
    case "flip":
      try expect("axis")
      return .flip(try word("axis"))
    case "perspective":
      try expect("matrix", "aspectRatio")
      let map = try homography()
      guard members["aspectRatio"] != nil else { return .perspective(map) }
      guard let ratio = members["aspectRatio"]?.number, Adjustments.aspectRatios.contains(ratio) else {
        throw error("must have aspectRatio, a number from 0.01 to 100, or none")
      }
      return .perspective(map, aspectRatio: ratio)
    case "toneCurve":
      try expect("channel", "points")
      let channel: AdjustmentOperation.CurveChannel = members["channel"] == nil ? .rgb : try word("channel")
      return .toneCurve(channel, try curve())
    case "vignette":
      try expect("amount", "radius")
      return .vignette(amount: try number("amount", in: -1...1), radius: try number("radius", in: 0...1))
    default:
      guard let tone = ToneOperation(rawValue: name) else {
        throw error("has a type that does not exist")
      }
      try expect(tone.member)
      return .tone(tone, try number(tone.member, in: tone.range))
    }
  }

  private func expect(_ names: String...) throws(AdjustmentError) {
    guard let unknown = members?.keys.filter({ $0 != "type" && !names.contains($0) }).min() else { return }
    throw error("has no member \(unknown.prefix(40)); its members are \(names.joined(separator: ", "))")
  }

  private func number(_ name: String, in range: ClosedRange<Double>) throws(AdjustmentError) -> Double {
    guard let number = members?[name]?.number, range.contains(number) else {
      throw error("must have \(name), a number from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))")
    }
    return number
  }

  private static func text(_ number: Double) -> String { "\(Int(number))" }

  private func word<Word: RawRepresentable & CaseIterable>(
    _ name: String
  ) throws(AdjustmentError) -> Word where Word.RawValue == String {
    if case .string(let text)? = members?[name], let word = Word(rawValue: text) { return word }
    throw error("must have \(name), one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
  }

  private func numbers(_ name: String, _ count: Int) -> [Double]? {
    guard case .array(let list)? = members?[name], list.count == count else { return nil }
    let numbers = list.compactMap(\.number)
    return numbers.count == count ? numbers : nil
  }

  private func rect() throws(AdjustmentError) -> UnitRect {
    guard let sides = numbers("rect", 4), sides[0] >= 0, sides[1] >= 0, sides[2] > 0, sides[3] > 0,
      sides[0] + sides[2] <= 1 + 1e-9, sides[1] + sides[3] <= 1 + 1e-9
    else {
      throw error("must have rect, [x, y, width, height] with an area and inside the unit square")
    }
    return UnitRect(x: sides[0], y: sides[1], width: sides[2], height: sides[3])
  }

  /// Every corner must come from inside the picture: then every point does, because lines stay straight.
  private func homography() throws(AdjustmentError) -> Homography {
    guard let numbers = numbers("matrix", 9) else { throw error("must have matrix, 9 numbers") }
    let map = Homography(numbers)
    let corners = map.corners
    let isInside = corners.allSatisfy {
      $0.divisor > 1e-6 && (-1e-6...1 + 1e-6).contains($0.x) && (-1e-6...1 + 1e-6).contains($0.y)
    }
    guard isInside else {
      throw error("must have a matrix that maps the unit square into itself, so that no corner stays empty")
    }
    // Twice the area of the triangle at each corner: positive for all, or the picture is folded or mirrored.
    let areas = (0..<4).map { i in
      let (a, b, c) = (corners[i], corners[(i + 1) % 4], corners[(i + 2) % 4])
      return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
    }
    guard areas.allSatisfy({ $0 > 0.01 }) else {
      throw error("must have a matrix that shows at least a hundredth of the picture, and does not mirror it")
    }
    return map
  }

  private func curve() throws(AdjustmentError) -> ToneCurve {
    let most = Adjustments.maximumCurvePoints
    guard case .array(let list)? = members?["points"], list.count <= most else {
      throw error("must have points, at most \(most) pairs of numbers")
    }
    var points: [ToneCurve.Point] = []
    for item in list {
      guard case .array(let pair) = item, pair.count == 2, let x = pair[0].number, let y = pair[1].number else {
        throw error("must have points that are pairs of numbers")
      }
      points.append(ToneCurve.Point(x, y))
    }
    guard let curve = ToneCurve(points) else {
      throw error("must have points that make a function: x rises from 0 to 1, and y is from 0 to 1")
    }
    return curve
  }
}

extension JSONValue {
  /// A finite number.
  fileprivate var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number) where number.isFinite: number
    default: nil
    }
  }
}
