import PhotoModel

/// Rotates a finished picture, or one plane of it, upright, one row of the upright picture at a time.
///
/// A picture that is upright, or only mirrored left to right, needs only its own next row. Every other orientation
/// needs the last row first, or rows as columns, so all rows are kept until the picture is complete: at the size of the
/// output, not of the original.
struct OrientationTransform {
  let orientation: Orientation
  /// The length of a pixel: its channels, or twice their number with 16 bits each.
  let pixelBytes: Int

  /// Whether rows can be passed on as they arrive, after ``mirror(_:width:)`` if `orientation.mirrorsX`.
  var canStream: Bool { Self.canStream(orientation) }

  static func canStream(_ orientation: Orientation) -> Bool { !orientation.swapsSides && !orientation.mirrorsY }

  /// Copies row `y` of the upright picture.
  ///
  /// - Parameters:
  ///   - stored: the picture as stored, of size `size`, row i at `i * strideBytes`.
  ///   - line: room for one upright row.
  func copyUprightRow(
    _ y: Int, of stored: UnsafePointer<UInt8>, size: PixelSize, strideBytes: Int,
    into line: UnsafeMutablePointer<UInt8>
  ) {
    let upright = orientation.apply(to: size)
    let storedY = orientation.mirrorsY ? upright.height - 1 - y : y
    if orientation.swapsSides {
      gatherColumn(storedY, of: stored, count: upright.width, strideBytes: strideBytes, into: line)
    } else {
      line.update(from: stored + storedY * strideBytes, count: size.width * pixelBytes)
      if orientation.mirrorsX { mirror(line, width: size.width) }
    }
  }

  /// Copies column `x` of the stored picture as a row: downwards, or upwards if the upright x counts from the right.
  private func gatherColumn(
    _ x: Int, of stored: UnsafePointer<UInt8>, count: Int, strideBytes: Int, into line: UnsafeMutablePointer<UInt8>
  ) {
    let step = orientation.mirrorsX ? -strideBytes : strideBytes
    var from = stored + x * pixelBytes + (orientation.mirrorsX ? (count - 1) * strideBytes : 0)
    if pixelBytes == 1 {
      for i in 0..<count { line[i] = from[i * step] }
      return
    }
    var to = line
    for _ in 0..<count {
      for c in 0..<pixelBytes { to[c] = from[c] }
      to += pixelBytes
      from += step
    }
  }

  /// Copies rows `y..<y + 8` of an upright plane whose rows are stored as columns, in blocks of 8x8 samples. For planes
  /// of one byte a pixel.
  ///
  /// - Parameters:
  ///   - lines: room for eight upright rows, row i at `i * lineStride`.
  func copyEightUprightRows(
    _ y: Int, of stored: UnsafePointer<UInt8>, size: PixelSize, strideBytes: Int,
    into lines: UnsafeMutablePointer<UInt8>, lineStride: Int
  ) {
    precondition(pixelBytes == 1 && orientation.swapsSides && y + 8 <= size.width)
    let count = size.height
    let step = orientation.mirrorsX ? -strideBytes : strideBytes
    // The eight stored columns are neighbours; the first upright row is the last of them if the picture is mirrored.
    let column = orientation.mirrorsY ? size.width - 8 - y : y
    var from = UnsafeRawPointer(stored) + column + (orientation.mirrorsX ? (count - 1) * strideBytes : 0)
    let firstLine = UnsafeMutableRawPointer(lines) + (orientation.mirrorsY ? 7 * lineStride : 0)
    let lineStep = orientation.mirrorsY ? -lineStride : lineStride
    var x = 0
    while x + 8 <= count {
      var block = ByteBlock(from, step: step)
      block.transpose()
      block.store(to: firstLine + x, step: lineStep)
      from += 8 * step
      x += 8
    }
    while x < count {
      for i in 0..<8 {
        (firstLine + i * lineStep + x).storeBytes(of: from.load(fromByteOffset: i, as: UInt8.self), as: UInt8.self)
      }
      from += step
      x += 1
    }
  }

  /// Mirrors a row left to right, in place.
  func mirror(_ row: UnsafeMutablePointer<UInt8>, width: Int) {
    var left = 0
    var right = width - 1
    while left < right {
      for c in 0..<pixelBytes {
        let value = row[left * pixelBytes + c]
        row[left * pixelBytes + c] = row[right * pixelBytes + c]
        row[right * pixelBytes + c] = value
      }
      left += 1
      right -= 1
    }
  }
}

/// 8x8 bytes, a row in each number, its first byte lowest.
private struct ByteBlock {
  private var rows: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

  /// Reads row i at `i * step`.
  init(_ start: UnsafeRawPointer, step: Int) {
    func row(_ i: Int) -> UInt64 { UInt64(littleEndian: (start + i * step).loadUnaligned(as: UInt64.self)) }
    rows = (row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7))
  }

  /// Exchanges rows and columns: the halves of four pairs of rows, then quarters, then eighths.
  mutating func transpose() {
    func exchange(_ one: inout UInt64, _ other: inout UInt64, _ bits: UInt64, _ mask: UInt64) {
      let difference = (one >> bits ^ other) & mask
      other ^= difference
      one ^= difference << bits
    }
    let (half, quarter, eighth): (UInt64, UInt64, UInt64) = (0xFFFF_FFFF, 0xFFFF_0000_FFFF, 0xFF_00FF_00FF_00FF)
    exchange(&rows.0, &rows.4, 32, half)
    exchange(&rows.1, &rows.5, 32, half)
    exchange(&rows.2, &rows.6, 32, half)
    exchange(&rows.3, &rows.7, 32, half)
    exchange(&rows.0, &rows.2, 16, quarter)
    exchange(&rows.1, &rows.3, 16, quarter)
    exchange(&rows.4, &rows.6, 16, quarter)
    exchange(&rows.5, &rows.7, 16, quarter)
    exchange(&rows.0, &rows.1, 8, eighth)
    exchange(&rows.2, &rows.3, 8, eighth)
    exchange(&rows.4, &rows.5, 8, eighth)
    exchange(&rows.6, &rows.7, 8, eighth)
  }

  /// Writes row i to `i * step`.
  func store(to start: UnsafeMutableRawPointer, step: Int) {
    func put(_ row: UInt64, _ i: Int) { (start + i * step).storeBytes(of: row.littleEndian, as: UInt64.self) }
    put(rows.0, 0)
    put(rows.1, 1)
    put(rows.2, 2)
    put(rows.3, 3)
    put(rows.4, 4)
    put(rows.5, 5)
    put(rows.6, 6)
    put(rows.7, 7)
  }
}
