import CPhotodJPEG
import PhotoModel

/// Facts that a JPEG's markers give without decoding it.
package enum JPEGMarkers {
  /// Counts the scans of a file before libjpeg starts: each of hundreds of scans would cost a pass over the whole
  /// picture.
  ///
  /// Reads the file once, at memory speed. Stops when the stop flag is raised.
  static func checkScanCount(
    _ source: any ByteSource, range: ByteRange?, maximumScans: Int, stop: StopFlag
  ) throws(CodecError) {
    let cursor = SourceCursor(source: source, range: range, stop: stop)
    var markers = photod_jpeg_markers()
    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 65_536)
    defer { buffer.deallocate() }
    while let start = buffer.baseAddress, !markers.ended {
      if cursor.isStopped { throw .stopped }
      let count = cursor.fill(start, buffer.count)
      if count == -2 { throw .readFailed(code: cursor.failure ?? 0) }
      guard count > 0 else { return }
      _ = photod_jpeg_markers_scan(&markers, start, count)
      if markers.scans > maximumScans {
        throw .limitExceeded("the number of scans", limit: maximumScans, found: maximumScans + 1)
      }
    }
  }

  /// The length of the complete baseline JPEG at the start of the bytes, if it contains nothing but its picture, judged
  /// by its structure: SOI, tables, one scan, EOI, no EXIF or comment. `nil` otherwise. The content of the scan is not
  /// checked; bytes after EOI, which cameras add as padding, are not counted.
  package static func lengthOfPlainBaseline(_ bytes: [UInt8]) -> Int? {
    guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
    var markers = photod_jpeg_markers()
    let length = photod_jpeg_markers_scan(&markers, bytes, bytes.count)
    let isPlain =
      markers.ended && markers.scans == 1 && !markers.has_garbage && !markers.has_metadata && markers.has_quantization
      && markers.has_huffman
    return isPlain ? length : nil
  }
}
