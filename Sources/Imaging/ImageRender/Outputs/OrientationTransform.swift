import PhotoModel

/// Rotates a finished picture, or one plane of it, upright, one row of the upright picture at a time.
///
/// A picture that is upright, or only mirrored left to right, needs only its own next row. Every other orientation
/// needs the last row first, or rows as columns, so all rows are kept until the picture is complete: at the size of the
/// output, not of the original.
struct OrientationTransform {
  let orientation: Orientation
  /// Bytes for each pixel: its channels, or twice their number with 16 bits each.
  let channels: Int

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
      line.update(from: stored + storedY * strideBytes, count: size.width * channels)
      if orientation.mirrorsX { mirror(line, width: size.width) }
    }
  }

  /// Copies column `x` of the stored picture as a row: downwards, or upwards if the upright x counts from the right.
  private func gatherColumn(
    _ x: Int, of stored: UnsafePointer<UInt8>, count: Int, strideBytes: Int, into line: UnsafeMutablePointer<UInt8>
  ) {
    let step = orientation.mirrorsX ? -strideBytes : strideBytes
    var from = stored + x * channels + (orientation.mirrorsX ? (count - 1) * strideBytes : 0)
    var to = line
    for _ in 0..<count {
      for c in 0..<channels { to[c] = from[c] }
      to += channels
      from += step
    }
  }

  /// Mirrors a row left to right, in place.
  func mirror(_ row: UnsafeMutablePointer<UInt8>, width: Int) {
    var left = 0
    var right = width - 1
    while left < right {
      for c in 0..<channels {
        let value = row[left * channels + c]
        row[left * channels + c] = row[right * channels + c]
        row[right * channels + c] = value
      }
      left += 1
      right -= 1
    }
  }
}
