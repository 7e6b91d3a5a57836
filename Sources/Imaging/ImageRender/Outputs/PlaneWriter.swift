import ImageCodec
import MediaMetadata
import PhotoModel

/// Takes the rows of the three finished planes, each in stored order, rotates them upright, and encodes them together,
/// one row of MCUs at a time.
final class PlaneWriter {
  private let planes: [OutputPlane]
  private let encoder: JPEGEncoder
  private let stop: StopFlag
  private let canStream: Bool
  private let groupCount: Int
  private var nextGroup = 0
  private(set) var failure: CodecError?
  private(set) var encodeTime = Duration.zero

  /// - Parameters:
  ///   - sizes: sizes of the planes, as stored.
  ///   - chromaStep: pixels for each chroma sample, in each direction.
  init(sizes: [PixelSize], chromaStep: Int, orientation: Orientation, encoder: JPEGEncoder, stop: StopFlag) {
    self.encoder = encoder
    self.stop = stop
    canStream = OrientationTransform.canStream(orientation)
    planes = sizes.enumerated().map { plane, size in
      OutputPlane(size: size, groupRows: plane == 0 ? 8 * chromaStep : 8, orientation: orientation)
    }
    groupCount = planes[0].groupCount
  }

  var warnings: CodecWarnings? { encoder.warnings }

  /// Memory of a plane that is stored in `size`.
  static func byteCount(_ size: PixelSize, _ orientation: Orientation) -> Int {
    let upright = orientation.apply(to: size)
    return OrientationTransform.canStream(orientation)
      ? (size.width + 8) * OutputPlane.rowLimit : (size.width + 8) * size.height + (upright.width + 8) * 16
  }

  func hasRoom(forRows count: Int, inPlane plane: Int) -> Bool { planes[plane].hasRoom(forRows: count) }

  /// Takes the next `count` rows of a plane: `fill` writes row i to entry i of its argument.
  func withRowSpace(
    forRows count: Int, ofPlane plane: Int, _ fill: (UnsafePointer<UnsafeMutablePointer<UInt8>?>) -> Void
  ) {
    withUnsafeTemporaryAllocation(of: UnsafeMutablePointer<UInt8>?.self, capacity: count) { rows in
      for i in 0..<count { rows.initializeElement(at: i, to: planes[plane].nextRow(i)) }
      if let first = rows.baseAddress { fill(first) }
    }
    for _ in 0..<count { planes[plane].rowArrived() }
  }

  /// Encodes the next group if all planes have it. Returns false if one does not, or if something failed.
  func writeGroup() -> Bool {
    guard canStream, nextGroup < groupCount, failure == nil, planes.allSatisfy({ $0.holdsGroup(nextGroup) }) else {
      return false
    }
    let started = ContinuousClock.now
    defer { encodeTime += ContinuousClock.now - started }
    encode { plane in plane.group(nextGroup) }
    for plane in planes { plane.firstKeptGroup = nextGroup }
    return failure == nil
  }

  /// The finished file, after the last row.
  func finish() throws(CodecError) -> [UInt8] {
    let started = ContinuousClock.now
    defer { encodeTime += ContinuousClock.now - started }
    if !canStream {
      while nextGroup < groupCount, failure == nil { encode { plane in plane.uprightGroup(nextGroup) } }
    }
    if let failure { throw failure }
    return try encoder.finish()
  }

  private func encode(_ group: (OutputPlane) -> UnsafePointer<UInt8>?) {
    do throws(CodecError) {
      if stop.isRaised { throw .stopped }
      try encoder.writeGroup(planes.map(group), strideBytes: planes.map(\.uprightStride))
      nextGroup += 1
    } catch {
      failure = error
    }
  }
}

/// One plane before encoding: a few groups of rows, or all rows if the plane must be rotated.
private final class OutputPlane {
  private static let block = 8
  /// Maximum number of rows of a plane. At 1:1, luma is made up to 10 rows before the chroma of the same place, and
  /// less the more a picture shrinks. Chroma arrives one band at a time, which can correspond to two bands of luma. A
  /// multiple of every group's rows and of a band's rows.
  static let rowLimit = 4 * PlaneScaler.bandRows

  private let size: PixelSize
  private let uprightSize: PixelSize
  private let groupRows: Int
  private let orientationTransform: OrientationTransform
  private let strideBytes: Int
  let uprightStride: Int
  let groupCount: Int
  private let capacity: Int
  /// Row y at `y % capacity * strideBytes`.
  private let pixels: RowBuffer<UInt8>
  /// A group of upright rows, if rows do not arrive upright.
  private let uprightRows: RowBuffer<UInt8>?
  private var arrived = 0
  /// Groups before this one may be overwritten.
  var firstKeptGroup = 0

  init(size: PixelSize, groupRows: Int, orientation: Orientation) {
    self.size = size
    self.groupRows = groupRows
    orientationTransform = OrientationTransform(orientation: orientation, pixelBytes: 1)
    uprightSize = orientation.apply(to: size)
    strideBytes = Self.padded(size.width)
    uprightStride = Self.padded(uprightSize.width)
    groupCount = (uprightSize.height + groupRows - 1) / groupRows
    capacity = orientationTransform.canStream ? Self.rowLimit : size.height
    pixels = RowBuffer(count: capacity * strideBytes, zero: 0)
    uprightRows = orientationTransform.canStream ? nil : RowBuffer(count: groupRows * uprightStride, zero: 0)
  }

  private static func padded(_ side: Int) -> Int { (side + block - 1) / block * block }

  func hasRoom(forRows count: Int) -> Bool {
    !orientationTransform.canStream || arrived + count <= firstKeptGroup * groupRows + capacity
  }

  func nextRow(_ i: Int) -> UnsafeMutablePointer<UInt8> { row(arrived + i) }

  func rowArrived() {
    let row = row(arrived)
    arrived += 1
    guard orientationTransform.canStream else { return }
    if orientationTransform.orientation.mirrorsX { orientationTransform.mirror(row, width: size.width) }
    Self.pad(row, from: size.width, to: strideBytes)
    if arrived == size.height {
      for y in size.height..<groupCount * groupRows { self.row(y).update(from: row, count: strideBytes) }
    }
  }

  func holdsGroup(_ group: Int) -> Bool { arrived >= min((group + 1) * groupRows, size.height) }

  func group(_ group: Int) -> UnsafePointer<UInt8>? { UnsafePointer(row(group * groupRows)) }

  /// The upright rows of a group.
  func uprightGroup(_ group: Int) -> UnsafePointer<UInt8>? {
    guard let rows = uprightRows?.pointer else { return nil }
    var i = 0
    while i < groupRows {
      let line = rows + i * uprightStride
      let y = group * groupRows + i
      var count = 1
      if orientationTransform.orientation.swapsSides, y + Self.block <= uprightSize.height {
        count = Self.block
        orientationTransform.copyEightUprightRows(
          y, of: pixels.pointer, size: size, strideBytes: strideBytes, into: line, lineStride: uprightStride)
      } else {
        orientationTransform.copyUprightRow(
          min(y, uprightSize.height - 1), of: pixels.pointer, size: size, strideBytes: strideBytes, into: line)
      }
      for k in 0..<count { Self.pad(line + k * uprightStride, from: uprightSize.width, to: uprightStride) }
      i += count
    }
    return UnsafePointer(rows)
  }

  private func row(_ y: Int) -> UnsafeMutablePointer<UInt8> { pixels.pointer + y % capacity * strideBytes }

  /// Pads a row: the encoder takes whole blocks. Samples outside the picture repeat its edge, which costs the fewest
  /// bits.
  private static func pad(_ row: UnsafeMutablePointer<UInt8>, from width: Int, to padded: Int) {
    for x in width..<padded { row[x] = row[width - 1] }
  }
}
