// The steps of a tone program, each of which takes rows and passes rows on. A row has its planes one after the other:
// sample x of plane p at p * width + x; the colours (one plane if gray), then alpha if there is one.

import CPhotodKernels
import ImageCodec
import PhotoModel

typealias PlanarRow = UnsafeMutablePointer<Float>

/// One step of a tone program, for the rows of one picture.
protocol RowStage: AnyObject {
  typealias Emit = (PlanarRow) throws(CodecError) -> Void

  /// Takes the next row, which it may change. Passes on each row that is complete.
  func rowReceived(_ row: PlanarRow, _ emit: Emit) throws(CodecError)
  /// Passes on the rows that waited for rows below them.
  func finish(_ emit: Emit) throws(CodecError)
}

/// Steps in which a pixel depends on no other pixel.
final class PointStage: RowStage {
  private let step: ToneProgram.Step
  private let colors: Int
  private let size: PixelSize
  private var y = 0

  init(_ step: ToneProgram.Step, colors: Int, size: PixelSize) {
    self.step = step
    self.colors = colors
    self.size = size
  }

  func rowReceived(_ row: PlanarRow, _ emit: Emit) throws(CodecError) {
    let width = size.width
    switch step {
    case .tables(let tables, let byRoot):
      for plane in 0..<colors {
        photod_adjust_table(
          row + plane * width, tables[tables.count == 1 ? 0 : plane], Int32(ToneProgram.tableSteps), byRoot ? 1 : 0,
          width)
      }
    case .matrix(let matrix): photod_adjust_matrix(row, row + width, row + 2 * width, matrix, width)
    case .vibrance(let amount):
      photod_adjust_vibrance(
        row, row + width, row + 2 * width, amount, ToneFunctions.luminance.map { Float($0) }, width)
    case .vignette(let table, let map):
      let coefficients = map.row(y, of: size, scaledTo: PixelSize(width: 1, height: 1)).map { Float($0) }
      withUnsafeTemporaryAllocation(of: PlanarRow?.self, capacity: colors) { planes in
        for plane in 0..<colors { planes.initializeElement(at: plane, to: row + plane * width) }
        photod_adjust_vignette(
          planes.baseAddress, Int32(colors), coefficients, table, Int32(ToneProgram.vignetteSteps), width)
      }
    case .sharpen, .denoise: preconditionFailure("a step with neighbours has a stage of its own")
    }
    y += 1
    try emit(row)
  }

  func finish(_ emit: Emit) {}
}

extension Homography {
  /// Where the pixels of a row are read: pixel x at the point (c[0] x + c[1], c[2] x + c[3]) / (c[4] x + c[5]), which
  /// is never far from the picture.
  ///
  /// - Parameters:
  ///   - size: of the output, whose unit square this maps.
  ///   - target: the size of the picture that is read.
  func row(_ y: Int, of size: PixelSize, scaledTo target: PixelSize) -> [Double] {
    let (width, v) = (Double(size.width), (Double(y) + 0.5) / Double(size.height))
    guard isExact(v) else { return [0, Double(target.width) / 2, 0, Double(target.height) / 2, 0, 1] }
    func line(_ i: Int, _ scale: Double) -> [Double] {
      let slope = matrix[i] / width
      return [scale * slope, scale * (slope / 2 + matrix[i + 1] * v + matrix[i + 2])]
    }
    return line(0, Double(target.width)) + line(3, Double(target.height)) + line(6, 1)
  }

  /// Whether the numbers are exact enough for row `v`. The map of a picture keeps the row near the unit square; many
  /// strong perspectives one after the other leave only rounding errors. Such a row gets the colour of the middle.
  ///
  /// A map moves along a line in one direction as long as its divisor is positive, so the ends decide.
  private func isExact(_ v: Double) -> Bool {
    let (left, right) = (point(0, v), point(1, v))
    let near = -1.0...2.0
    guard near.contains(left.x), near.contains(left.y), near.contains(right.x), near.contains(right.y) else {
      return false
    }
    return min(left.divisor, right.divisor) > 1e-12 * max(left.divisor, right.divisor)
  }
}

/// Keeps the rows around the one that is made: `radius` above and below it.
class NeighbourStage: RowStage {
  let width: Int
  let height: Int
  /// Planes of a row, including alpha.
  let planes: Int
  let radius: Int
  private let ring: RowRing
  private let output: RowBuffer<Float>
  private var rowsArrived = 0
  private var rowsDone = 0

  /// - Parameter keptPlanes: planes of a row that is kept, at least `planes`.
  init(size: PixelSize, planes: Int, keptPlanes: Int, radius: Int) {
    (width, height) = (size.width, size.height)
    self.planes = planes
    self.radius = radius
    ring = RowRing(
      rowBytes: size.width * keptPlanes * 4, capacity: 2 * radius + 1, slackBytes: Int(PHOTOD_KERNEL_SLACK))
    output = RowBuffer(count: size.width * planes, zero: 0)
  }

  /// Memory of a stage: kept rows, the row that is made, and one padded plane for each plane.
  static func byteCount(width: Int, planes: Int, keptPlanes: Int, radius: Int) -> Int {
    RowRing.byteCount(rowBytes: width * keptPlanes * 4, capacity: 2 * radius + 1)
      + (width * planes + (width + 2 * radius) * 3) * 4 + (2 * radius + 1) * 64
  }

  /// Prepares an arriving row for its place among the kept ones.
  func keep(_ row: PlanarRow, as kept: PlanarRow) { kept.update(from: row, count: width * planes) }

  /// Makes the row whose neighbours are `rows`, from `radius` above to `radius` below it; at an edge the edge's row is
  /// repeated.
  func make(_ rows: UnsafePointer<PlanarRow>, into output: PlanarRow) {}

  func rowReceived(_ row: PlanarRow, _ emit: Emit) throws(CodecError) {
    keep(row, as: kept(rowsArrived))
    rowsArrived += 1
    while rowsDone + radius < rowsArrived, rowsDone < height { try makeNext(emit) }
  }

  func finish(_ emit: Emit) throws(CodecError) {
    while rowsDone < rowsArrived { try makeNext(emit) }
  }

  private func kept(_ y: Int) -> PlanarRow { ring.row(y).assumingMemoryBound(to: Float.self) }

  private func makeNext(_ emit: Emit) throws(CodecError) {
    withUnsafeTemporaryAllocation(of: PlanarRow.self, capacity: 2 * radius + 1) { rows in
      for k in 0...2 * radius {
        rows.initializeElement(at: k, to: kept(min(max(rowsDone - radius + k, 0), rowsArrived - 1)))
      }
      if let first = rows.baseAddress { make(first, into: output.pointer) }
    }
    rowsDone += 1
    try emit(output.pointer)
  }
}

/// An unsharp mask over luma: the difference from a Gaussian blur, added to each colour.
final class SharpenStage: NeighbourStage {
  private let amount: Float
  private let colors: Int
  /// Sums to 1.
  private let weights: [Float]
  /// A row of luma, with its ends repeated.
  private let padded: RowBuffer<Float>
  private let blurred: RowBuffer<Float>

  init(amount: Float, sigma: Double, size: PixelSize, colors: Int, planes: Int) {
    self.amount = amount
    self.colors = colors
    let radius = NeighbourRadius.sharpening(sigma)
    let weights = NeighbourRadius.weights(sigma, radius)
    let sum = weights.reduce(0, +)
    self.weights = weights.map { $0 / sum }
    padded = RowBuffer(count: size.width + 2 * radius, zero: 0)
    blurred = RowBuffer(count: size.width, zero: 0)
    // Also luma, and luma after the blur along the row.
    super.init(size: size, planes: planes, keptPlanes: planes + 2, radius: radius)
  }

  override func keep(_ row: PlanarRow, as kept: PlanarRow) {
    super.keep(row, as: kept)
    let luma = kept + planes * width
    if colors == 3 {
      photod_adjust_luma(
        row, row + width, row + 2 * width, ToneFunctions.luminance.map { Float($0) }, luma, width)
    } else {
      luma.update(from: row, count: width)
    }
    padded.pointer.pad(luma, width: width, by: radius)
    let first = UnsafePointer(padded.pointer)
    blur((0...2 * radius).map { first + $0 }, into: luma + width)
  }

  override func make(_ rows: UnsafePointer<PlanarRow>, into output: PlanarRow) {
    blur((0...2 * radius).map { UnsafePointer(rows[$0] + (planes + 1) * width) }, into: blurred.pointer)
    let row = rows[radius]
    output.update(from: row, count: planes * width)
    for plane in 0..<colors {
      photod_adjust_sharpen(output + plane * width, row + planes * width, blurred.pointer, amount, width)
    }
  }

  private func blur(_ taps: [UnsafePointer<Float>?], into output: PlanarRow) {
    photod_vertical_f32(taps, weights, Int32(taps.count), output, width)
  }
}

/// A bilateral filter along the row and then down the columns (Pham and van Vliet, "Separable bilateral filtering for
/// fast video preprocessing", ICME 2005), with Tukey's biweight as its range function (Durand and Dorsey, SIGGRAPH
/// 2002).
final class DenoiseStage: NeighbourStage {
  private let colors: Int
  private let weights: [Float]
  private let inverseSquare: Float
  /// A row of each colour, with its ends repeated.
  private let padded: RowBuffer<Float>

  init(amount: Float, sigma: Double, size: PixelSize, colors: Int, planes: Int) {
    self.colors = colors
    let radius = NeighbourRadius.noise(sigma)
    weights = NeighbourRadius.weights(sigma, radius)
    // Differences from this on do not count, over all channels together.
    let cutoff = 0.3 * amount
    inverseSquare = 1 / (cutoff * cutoff)
    padded = RowBuffer(count: (size.width + 2 * radius) * 3, zero: 0)
    super.init(size: size, planes: planes, keptPlanes: planes, radius: radius)
  }

  override func keep(_ row: PlanarRow, as kept: PlanarRow) {
    super.keep(row, as: kept)
    let length = width + 2 * radius
    for plane in 0..<colors {
      (padded.pointer + plane * length).pad(row + plane * width, width: width, by: radius)
    }
    filter(into: kept) { plane, tap in padded.pointer + plane * length + tap }
  }

  override func make(_ rows: UnsafePointer<PlanarRow>, into output: PlanarRow) {
    output.update(from: rows[radius], count: planes * width)
    filter(into: output) { plane, tap in rows[tap] + plane * width }
  }

  private func filter(into output: PlanarRow, _ tap: (_ plane: Int, _ tap: Int) -> PlanarRow) {
    let count = 2 * radius + 1
    let taps = (0..<colors * count).map { Optional(UnsafePointer(tap($0 / count, $0 % count))) }
    let planes = (0..<colors).map { Optional(output + $0 * width) }
    photod_adjust_bilateral(taps, weights, Int32(count), Int32(colors), inverseSquare, planes, width)
  }
}

extension UnsafeMutablePointer<Float> {
  /// Copies a row, and repeats its first and last sample `count` times.
  fileprivate func pad(_ row: UnsafePointer<Float>, width: Int, by count: Int) {
    for x in 0..<count {
      self[x] = row[0]
      self[count + width + x] = row[width - 1]
    }
    (self + count).update(from: row, count: width)
  }
}
