import CPhotodJPEG
import MediaMetadata
import PhotoModel

/// What takes the planes of a decode, group of rows by group of rows, top to bottom.
package protocol PlaneConsumer: AnyObject {
  /// Where row `y` of a plane is to be put: room for the plane's `rowBytes`, good until `groupArrived`. Rows beyond the
  /// last one are asked for too, up to whole groups, and hold nothing that counts.
  func space(forRow y: Int, ofPlane plane: Int) -> UnsafeMutablePointer<UInt8>

  /// Rows `group * rowsPerGroup ..< (group + 1) * rowsPerGroup` of each plane are there. False ends the decode.
  func groupArrived(_ group: Int) -> Bool
}

/// One plane as it arrives.
package struct PlaneLayout: Sendable, Hashable {
  package let size: PixelSize
  /// A row's samples and its padding.
  package let rowBytes: Int
  /// Rows that arrive together.
  package let rowsPerGroup: Int
}

/// libjpeg-turbo without its last step: the three components of a YCbCr file as they are, scaled in the DCT.
///
/// That saves enlarging the chroma, making RGB of it, and undoing both before encoding; and averaging in the space that
/// is encoded in costs no rounding on the way. One thread at a time.
package final class JPEGPlaneDecoder: PictureDecoder {
  private let session: JPEGSession
  private let groupCount: Int
  private var nextGroup = 0
  /// The row pointers of a group, plane after plane: plane c's begin at `firstRow[c]`.
  private let rows: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>
  private let firstRow: [Int]
  /// Luma, blue and red chroma.
  package let planes: [PlaneLayout]

  /// Reads the header and makes ready, as ``JPEGDecoder`` does.
  ///
  /// - Parameter header: what the caller planned with; a file that says otherwise now was changed since.
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
      throw .malformed("components that its header did not have", offset: nil)
    }
  }

  deinit { rows.deallocate() }

  package var isTruncated: Bool { session.isTruncated }
  package var readTime: Duration { session.cursor.readTime }
  package var warnings: CodecWarnings? { session.warnings }

  /// Hands over groups in order, until the last, until the consumer wants no more, or until input lacks.
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
