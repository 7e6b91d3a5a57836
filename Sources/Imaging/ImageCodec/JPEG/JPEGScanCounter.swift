import CPhotodJPEG
import PhotoModel

/// Counts the scans of a JPEG while its bytes arrive (T.81 annex B), at memory speed and without decoding: shows when
/// the first scans of a progressive file are complete.
package struct JPEGScanCounter: Sendable {
  /// Bytes that are read at a time.
  private static let pieceBytes = 65_536

  private var markers = photod_jpeg_markers()
  private var offset: Int64 = 0

  package init() {}

  /// Scans that have been received from their first byte to their last one.
  package var completeScans: Int { markers.ended ? Int(markers.scans) : max(0, Int(markers.scans) - 1) }

  /// Follows the bytes that have arrived since the last call.
  ///
  /// - Parameter source: a JPEG whose header was read; always the same.
  package mutating func advance(in source: any ByteSource) throws(ByteSourceError) {
    while !markers.ended {
      let bytes = try source.bytes(at: offset, count: Self.pieceBytes)
      if bytes.isEmpty { return }
      offset += Int64(photod_jpeg_markers_scan(&markers, bytes, bytes.count))
    }
  }
}
