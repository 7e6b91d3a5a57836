// Compiles tone operations: neighbouring operations that treat each channel by itself become one table, and
// neighbouring matrices become one. Values are encoded (sRGB) or in linear light; the compiler converts where an
// operation needs the other. Between two operations values are clamped to 0...1.

import PhotoModel

struct ToneProgram {
  enum Step {
    /// One table for all channels, or one for each. With `byRoot`, for linear values: indexed by their square root,
    /// which gives dark values more entries.
    case tables([[Float]], byRoot: Bool)
    case matrix([Float])
    case vibrance(Float)
    case vignette([Float], Homography)
    case sharpen(amount: Float, sigma: Double)
    case denoise(amount: Float, sigma: Double)
  }

  /// Intervals of a table.
  static let tableSteps = 2048
  static let vignetteSteps = 1024
  /// Intervals of a last table. The nearest entry is wrong by at most 1/64 of a sample's step where the function has
  /// the slope 1, and by 1/16 where it has the slope 4.
  static let storeSteps = 8192
  /// Memory of one step at most: three tables, and each channel's while it is made.
  static let stepBytes = 3 * (tableSteps + 2) * 4

  /// The first tables, of 8-bit values: 256 entries for each channel, or one for all.
  private(set) var load: [[Float]] = []
  private(set) var steps: [Step] = []
  /// The last tables, whose entries are 8-bit samples; `nil` if values are only rounded at the end.
  private(set) var store: (tables: [[UInt8]], byRoot: Bool)?

  private typealias Functions = [ToneFunctions.Function]

  private var isLinear = false
  /// Functions that are not yet a table: one for all channels, or one for each.
  private var pending: Functions?
  /// Whether the pending functions take linear values.
  private var startsLinear = false
  private let isColor: Bool

  /// - Parameters:
  ///   - isColor: otherwise operations on colours have no effect: a gray picture stays gray.
  ///   - width: of the output.
  init(_ edit: PixelAdjustments, isColor: Bool, width: Int) {
    self.isColor = isColor
    let sigma = Self.sigma(edit, width: width)
    for tone in edit.tones { add(tone, sigma) }
    convert(toLinear: false)
    if let pending, !(load.isEmpty && steps.isEmpty) {
      let byRoot = startsLinear
      store = (pending.map { Self.storeTable($0, byRoot: byRoot) }, byRoot)
    } else {
      flush()
    }
    if load.isEmpty { load = [Self.loadTable { $0 }] }
  }

  /// The standard deviation of blurs in pixels, proportional to the picture's longer side (one pixel at 1600), so that
  /// every size shows the same edit.
  static func sigma(_ edit: PixelAdjustments, width: Int) -> Double { sigma(side: edit.side, width: width) }

  /// - Parameter side: the longer side of the unadjusted picture, in widths of the output.
  static func sigma(side: Double, width: Int) -> Double { 0.000_6 * side * Double(width) }

  private mutating func add(_ tone: PixelAdjustments.Tone, _ sigma: Double) {
    switch tone.operation {
    case .crop, .straighten, .rotate, .flip, .perspective: break
    case .toneCurve(let channel, let curve):
      switch channel {
      case .rgb: apply([{ curve($0) }], inLinear: false)
      case _ where !isColor: break
      case .red: apply([{ curve($0) }, { $0 }, { $0 }], inLinear: false)
      case .green: apply([{ $0 }, { curve($0) }, { $0 }], inLinear: false)
      case .blue: apply([{ $0 }, { $0 }, { curve($0) }], inLinear: false)
      }
    case .vignette(let amount, let radius):
      guard let map = tone.map else { return }
      convert(toLinear: true)
      flush()
      let gain = ToneFunctions.vignette(amount, radius: radius)
      steps.append(
        .vignette((0...Self.vignetteSteps).map { Float(gain(Double($0) / Double(Self.vignetteSteps))) }, map))
    case .tone(let operation, let value): add(operation, value, sigma)
    }
  }

  private mutating func add(_ operation: ToneOperation, _ value: Double, _ sigma: Double) {
    switch operation {
    case .exposure: apply([ToneFunctions.gain(ToneFunctions.powerOfTwo(value))], inLinear: true)
    case .brightness: apply([ToneFunctions.brightness(value)], inLinear: false)
    case .contrast: apply([ToneFunctions.contrast(value)], inLinear: false)
    case .highlights: apply([ToneFunctions.highlights(value)], inLinear: false)
    case .shadows: apply([ToneFunctions.shadows(value)], inLinear: false)
    case .whites: apply([ToneFunctions.whites(value)], inLinear: false)
    case .blacks: apply([ToneFunctions.blacks(value)], inLinear: false)
    case .warmth where isColor:
      apply(ToneFunctions.balance(warmth: value, tint: 0).map { ToneFunctions.gain($0) }, inLinear: true)
    case .tint where isColor:
      apply(ToneFunctions.balance(warmth: 0, tint: value).map { ToneFunctions.gain($0) }, inLinear: true)
    case .saturation where isColor: multiply(ToneFunctions.saturation(1 + value))
    case .blackAndWhite where isColor: multiply(ToneFunctions.saturation(1 - value))
    case .vibrance where isColor:
      convert(toLinear: true)
      flush()
      steps.append(.vibrance(Float(value)))
    case .warmth, .tint, .saturation, .blackAndWhite, .vibrance: break
    case .sharpness:
      guard sigma >= NeighbourRadius.minimumSigma else { return }
      convert(toLinear: false)
      flush()
      steps.append(.sharpen(amount: Float(1.5 * value), sigma: sigma))
    case .noiseReduction:
      guard sigma >= NeighbourRadius.minimumSigma else { return }
      convert(toLinear: false)
      flush()
      steps.append(.denoise(amount: Float(value), sigma: sigma))
    }
  }

  /// Adds functions to the pending ones: one for all channels, or one for each.
  private mutating func apply(_ functions: Functions, inLinear: Bool) {
    convert(toLinear: inLinear)
    compose(functions)
  }

  private mutating func compose(_ functions: Functions) {
    if pending == nil { startsLinear = isLinear }
    let before = pending ?? [{ $0 }]
    let count = max(before.count, functions.count)
    pending = (0..<count).map { (channel: Int) -> ToneFunctions.Function in
      let (first, then) = (before[before.count == 1 ? 0 : channel], functions[functions.count == 1 ? 0 : channel])
      return { then(ToneFunctions.clamped(first($0))) }
    }
  }

  private mutating func convert(toLinear: Bool) {
    guard isLinear != toLinear else { return }
    compose([toLinear ? ToneFunctions.decode : ToneFunctions.encode])
    isLinear = toLinear
  }

  private mutating func multiply(_ matrix: [Double]) {
    convert(toLinear: true)
    let isAdjacent = pending == nil
    flush()
    if isAdjacent, case .matrix(let before)? = steps.last {
      var product = [Float](repeating: 0, count: 9)
      for i in 0..<9 {
        for k in 0..<3 { product[i] += Float(matrix[i / 3 * 3 + k]) * before[k * 3 + i % 3] }
      }
      steps[steps.count - 1] = .matrix(product)
    } else {
      steps.append(.matrix(matrix.map { Float($0) }))
    }
  }

  /// Makes tables of the pending functions. The first tables are of 8-bit values and exact.
  private mutating func flush() {
    if load.isEmpty && steps.isEmpty {
      load = (pending ?? [{ $0 }]).map { Self.loadTable($0) }
    } else if let pending {
      let byRoot = startsLinear
      steps.append(.tables(pending.map { Self.table($0, byRoot: byRoot) }, byRoot: byRoot))
    }
    pending = nil
  }

  private static func loadTable(_ function: ToneFunctions.Function) -> [Float] {
    (0..<256).map { Float(ToneFunctions.clamped(function(Double($0) / 255))) }
  }

  private static func storeTable(_ function: ToneFunctions.Function, byRoot: Bool) -> [UInt8] {
    (0...storeSteps).map { i in
      let at = Double(i) / Double(storeSteps)
      return UInt8(ToneFunctions.clamped(function(byRoot ? at * at : at)) * 255 + 0.5)
    }
  }

  private static func table(_ function: ToneFunctions.Function, byRoot: Bool) -> [Float] {
    (0..<tableSteps + 2).map { i in
      let at = min(1, Double(i) / Double(tableSteps))
      return Float(ToneFunctions.clamped(function(byRoot ? at * at : at)))
    }
  }
}

/// The radius of the neighbourhood that sharpening and noise reduction read.
enum NeighbourRadius {
  /// Below this many pixels, a blur changes nothing that can be seen.
  static let minimumSigma = 0.2
  /// The maximum number of pixels in each direction.
  static let maximum = 24

  static func sharpening(_ sigma: Double) -> Int { min(maximum, Int((3 * sigma).rounded(.up))) }

  static func noise(_ sigma: Double) -> Int { min(maximum / 3, Int((2 * sigma).rounded(.up))) }

  /// How far the operations of a list read in each direction, one after the other.
  static func reach(of operations: [AdjustmentOperation], _ sigma: Double) -> Int {
    guard sigma >= minimumSigma else { return 0 }
    var sum = 0
    for case .tone(let tone, let value) in operations where value != 0 {
      if tone == .sharpness { sum += sharpening(sigma) }
      if tone == .noiseReduction { sum += noise(sigma) }
    }
    return sum
  }

  /// A Gaussian of 2 radius + 1 taps, with the middle 1.
  static func weights(_ sigma: Double, _ radius: Int) -> [Float] {
    (-radius...radius).map { Float(ToneFunctions.gaussian(Double($0) / sigma)) }
  }
}
