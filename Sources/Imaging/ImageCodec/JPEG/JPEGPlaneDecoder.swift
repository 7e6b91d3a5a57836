import CPhotodJPEG
import MediaMetadata
import PhotoModel

/// Receives the planes of a decode in groups of rows, top to bottom.
package protocol PlaneConsumer: AnyObject {
  /// The buffer for row `y` of a plane: the plane's `rowBytes`, valid until `groupArrived`. Rows after the last one are
  /// requested too, up to whole groups; their content is meaningless.
  func space(forRow y: Int, ofPlane plane: Int) -> UnsafeMutablePointer<UInt8>

  /// Rows `group * rowsPerGroup ..< (group + 1) * rowsPerGroup` of each plane have arrived. Return false to end the
  /// decode.
  func groupArrived(_ group: Int) -> Bool
}

/// The layout of one decoded plane.
package struct PlaneLayout: Sendable, Hashable {
  package let size: PixelSize
  /// Bytes of a row's samples and padding.
  package let rowBytes: Int
  /// Number of rows that arrive together.
  package let rowsPerGroup: Int
}

/// Runs libjpeg-turbo without its last step: delivers the three components of a YCbCr file unconverted, scaled in the
/// DCT.
///
/// This saves enlarging the chroma and converting to RGB, and undoing both before encoding. Averaging in the colour
/// space of the encoder also avoids rounding in between. Use on one thread at a time.
package final class JPEGPlaneDecoder: PictureDecoder {
  private let session: JPEGSession
  private let groupCount: Int
  private var nextGroup = 0
  /// The row pointers of a group, plane after plane: those of plane c start at `firstRow[c]`.
  private let rows: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>
  private let firstRow: [Int]
  /// Luma, blue and red chroma.
  package let planes: [PlaneLayout]

  /// Reads the header and prepares, as ``JPEGDecoder`` does.
  ///
  /// - Parameter header: the header that the caller planned with; a difference means that the file has changed since.
  package init(
    source: any ByteSource, header: ImageHeader, eighths: Int, firstScanOnly: Bool, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    let session = try JPEGSession(
      source: source, range: nil, size: header.storedSize, firstScanOnly: firstScanOnly, limits: limits, stop: stop)
    let output = try session.prepare(
      photod_jpeg_decode_options(scale: Int32(eighths), first_scan_only: firstScanOnly, planar: true))
    var planes: [PlaneLayout] = []
    withUnsafeTemporaryAllocation(of: photod_jpeg_plane.self, capacity: Int(PHOTOD_JPEG_PLANES)) {
      photod_jpeg_planes(session.handle, $0.baseAddress)
      planes = $0.map {
        PlaneLayout(
          size: PixelSize(width: Int($0.width), height: Int($0.height)), rowBytes: Int($0.row_bytes),
          rowsPerGroup: Int($0.rows_per_group))
      }
    }
    self.session = session
    self.planes = planes
    let first = (0...planes.count).map { planes.prefix($0).reduce(0) { $0 + $1.rowsPerGroup } }
    firstRow = first
    rows = .allocate(capacity: first[planes.count])
    rows.initialize(repeating: nil, count: first[planes.count])
    let lines = planes.map(\.rowsPerGroup).max() ?? 1
    groupCount = (Int(output.height) + lines - 1) / lines
    let expected = header.jpegComponents?.planes(of: header.storedSize, eighths: eighths)
    guard planes.map(\.size) == expected?.map(\.size) else {
      throw .malformed("components that differ from the header's", offset: nil)
    }
  }

  deinit { rows.deallocate() }

  package var isTruncated: Bool { session.isTruncated }
  package var readTime: Duration { session.cursor.readTime }
  package var warnings: CodecWarnings? { session.warnings }

  /// Delivers groups in order until the last one, until the consumer wants no more, or until input is missing.
  package func decode(into consumer: any PlaneConsumer) throws(CodecError) -> DecodeOutcome {
    guard try session.start() else { return .needsInput }
    while nextGroup < groupCount {
      if session.cursor.isStopped { throw .stopped }
      let status = readGroup(into: consumer)
      if status == PHOTOD_JPEG_NEEDS_INPUT { return .needsInput }
      try session.check(status)
      let isWanted = consumer.groupArrived(nextGroup)
      nextGroup += 1
      if !isWanted { break }
    }
    return .finished
  }

  private func readGroup(into consumer: any PlaneConsumer) -> photod_jpeg_status {
    for (c, plane) in planes.enumerated() {
      for i in 0..<plane.rowsPerGroup {
        rows[firstRow[c] + i] = consumer.space(forRow: nextGroup * plane.rowsPerGroup + i, ofPlane: c)
      }
    }
    return withUnsafeTemporaryAllocation(
      of: UnsafePointer<UnsafeMutablePointer<UInt8>?>?.self, capacity: planes.count
    ) { arrays in
      for c in planes.indices { arrays.initializeElement(at: c, to: UnsafePointer(rows + firstRow[c])) }
      return photod_jpeg_read_planes(session.handle, arrays.baseAddress)
    }
  }
}
