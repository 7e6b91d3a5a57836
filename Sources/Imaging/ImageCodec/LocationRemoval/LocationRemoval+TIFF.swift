import MediaMetadata
import PhotoModel

extension LocationRemoval {
  /// TIFF, and the RAW pictures based on it: DNG, CR2, NEF, ARW. The directories may be anywhere in the file; previews
  /// in them are JPEGs with metadata of their own.
  static func tiff(_ range: Range<Int64>, _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    try context.removeDirectories(in: range)
  }
}

extension LocationRemovalContext {
  /// Removes the locations in a TIFF structure without reading it as a whole.
  mutating func removeDirectories(
    in range: Range<Int64>, from root: DirectoryLocations<FileDirectoryBytes>.Root = .picture
  ) throws(LocationRemovalError) {
    let bytes = FileDirectoryBytes(reader, range, limits)
    let facts = facts
    let found = try shifted(range.lowerBound) { () throws(LocationRemovalError) in
      try DirectoryLocations.find(in: bytes, from: root, removing: facts)
    }
    try replace(found.patches, in: range.lowerBound)
    try removePictures(found.pictures, in: range.lowerBound)
  }
}

/// The bytes of a TIFF structure in a file, read piece by piece.
struct FileDirectoryBytes: DirectoryBytes {
  private var reader: HeaderReader
  private let range: Range<Int64>
  private let limits: LocationRemovalLimits
  private var bytesRead = 0

  init(_ reader: HeaderReader, _ range: Range<Int64>, _ limits: LocationRemovalLimits) {
    self.reader = reader
    self.range = range.clamped(to: 0..<max(0, reader.size))
    self.limits = limits
  }

  var count: Int { Int(clamping: range.upperBound - range.lowerBound) }

  mutating func read(at offset: Int, count: Int) throws(LocationRemovalError) -> ArraySlice<UInt8>? {
    guard offset >= 0, count >= 0, offset <= self.count - count else { return nil }
    if count > limits.blockBytes {
      throw .limitExceeded("the size of a metadata block", limit: limits.blockBytes, found: count)
    }
    bytesRead += count
    if bytesRead > limits.metadataBytes {
      throw .limitExceeded("the size of all metadata", limit: limits.metadataBytes, found: bytesRead)
    }
    do throws(CodecError) {
      return try reader.wholeBytes(at: range.lowerBound + Int64(offset), count: count)
    } catch {
      throw LocationRemovalError(error)
    }
  }
}
