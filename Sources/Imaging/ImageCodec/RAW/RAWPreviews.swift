// Finds the JPEGs in a RAW file, without knowing its sensor data: by the directories of a TIFF, Canon's boxes, Olympus'
// maker note or Fujifilm's header. A RAW is shown by such a preview, which the camera itself has developed.
//
// Every position comes from the file. A candidate counts only if it lies within the file and its own header is that of
// a JPEG that can be decoded; many formats also store their sensor data as lossless JPEGs. Only headers are read.

import PhotoModel

package enum RAWPreviews {
  /// Finds the previews of a RAW file, the smallest first; empty for a file of another kind.
  ///
  /// - Throws: ``CodecError`` if the structure is damaged or exceeds a limit. A damaged preview is left out.
  package static func find(in source: any ByteSource, limits: CodecLimits) throws(CodecError) -> [RAWPreview] {
    var candidates = Candidates(fileSize: source.size)
    var reader = HeaderReader(source: source)
    let start = try reader.bytes(at: 0, count: FileType.bytes)
    reader.windowBytes = ContainerLimits.windowBytes
    if start.starts(with: RAFHeader.signature) {
      try findByHeader(&reader, &candidates)
    } else if TIFFFile.order(start) != nil || TIFFFile.variant(start) != nil {
      try findByDirectories(&reader, &candidates)
    } else if FileType(firstBytes: start)?.format == .cr3 {
      try findByBoxes(reader, &candidates)
    }
    var previews: [RAWPreview] = []
    for range in candidates.ranges {
      if let preview = try preview(at: range, in: source, limits) { previews.append(preview) }
    }
    return previews.sorted { $0.header.storedSize.width < $1.header.storedSize.width }
  }

  /// Positions that may hold a JPEG, in the order in which they were found.
  struct Candidates {
    private(set) var ranges: [ByteRange] = []
    let fileSize: Int64

    init(fileSize: Int64) {
      self.fileSize = fileSize
    }

    /// Adds a position, unless it is outside of the file, was added before, or there are too many.
    mutating func add(offset: Int64, length: Int) {
      guard offset >= 0, length >= 4, offset <= fileSize - Int64(length), ranges.count < ContainerLimits.previews,
        !ranges.contains(where: { $0.offset == offset })
      else { return }
      ranges.append(ByteRange(offset: offset, length: length))
    }

    mutating func add(_ range: Range<Int64>) {
      add(offset: range.lowerBound, length: Int(clamping: range.upperBound - range.lowerBound))
    }
  }

  /// The preview at a position; `nil` if no JPEG is there, or one that can't be decoded.
  private static func preview(
    at range: ByteRange, in source: any ByteSource, _ limits: CodecLimits
  ) throws(CodecError) -> RAWPreview? {
    do throws(CodecError) {
      let jpeg = ByteSourceSlice(source, range)
      var reader = HeaderReader(source: jpeg)
      guard try hasLossyFrame(&reader, limits) else { return nil }
      return RAWPreview(range: range, header: try ImageHeader.read(from: jpeg, limits: limits))
    } catch {
      if case .readFailed = error { throw error }
      return nil
    }
  }

  /// Whether a JPEG has a frame that libjpeg decodes: baseline, extended or progressive (T.81 table B.1), with 8 bits a
  /// sample. Sensor data is stored in lossless frames, or with more bits.
  private static func hasLossyFrame(
    _ reader: inout HeaderReader, _ limits: CodecLimits
  ) throws(CodecError) -> Bool {
    guard try reader.bytes(at: 0, count: 2).elementsEqual([0xFF, 0xD8]) else { return false }
    var segments = JPEGSegments(limits: limits)
    while true {
      let segment = try segments.next(&reader)
      switch segment.marker {
      case 0xC0...0xC2, 0xC9, 0xCA:
        return try reader.wholeBytes(at: segment.content, count: 1).bigEndian(at: 0, bytes: 1) == 8
      case 0xC3, 0xC5...0xC7, 0xCB, 0xCD...0xCF, JPEGSegments.startOfScan: return false
      default: break
      }
    }
  }
}
