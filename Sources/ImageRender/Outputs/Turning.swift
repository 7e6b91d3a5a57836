import PhotoModel

/// Turns a finished picture upright, or one plane of it: a row of the upright picture at a time.
///
/// A picture that is upright, or only mirrored left to right, needs no more than its own next row. Every other
/// orientation needs its last row first or its rows as columns, so those are kept until all are there: at the size of
/// the output, not of the original.
struct Turning {
  let orientation: Orientation
  /// Bytes a pixel.
  let channels: Int

  /// Rows can go on as they arrive, after ``mirror(_:width:)`` where `orientation.mirrorsX`.
  var streams: Bool { Self.streams(orientation) }

  static func streams(_ orientation: Orientation) -> Bool { !orientation.swapsSides && !orientation.mirrorsY }

  /// Row `y` of the upright picture.
  ///
  /// - Parameters:
  ///   - stored: the picture as it is stored, `size`, row i at `i * strideBytes`.
  ///   - line: room for an upright row.
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

  /// Column `x` of what is stored as a row: downwards, or upwards where the upright x counts from the right.
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

  /// Left to right, in place.
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
