import MediaMetadata
import PhotoModel

extension LocationRemoval {
  /// Positions of the header: of the JPEG, of Fujifilm's directory and of the sensor data. Each is an offset and a
  /// length, 32 bits each, big-endian (ExifTool, "FujiFilm RAF Header Tags").
  private static let rafPointers: [Int64] = [84, 92, 100]
  private static let rafHeaderBytes: Int64 = 108

  /// Fujifilm's RAF: all metadata are in the JPEG. The directory has settings of the camera, and the sensor data of
  /// newer cameras start with a TIFF. Other bytes are refused if they may hold metadata.
  static func raf(_ range: Range<Int64>, _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    let header = range.lowerBound..<min(range.upperBound, range.lowerBound + rafHeaderBytes)
    context.keep(header)
    let fields = Array(try context.head(of: header, count: Int(rafHeaderBytes)))[...]
    guard fields.count == Int(rafHeaderBytes) else {
      throw .malformed("a RAF file that ends in its header", offset: range.upperBound)
    }
    var parts: [Range<Int64>] = []
    for position in rafPointers {
      try context.countStructure()
      let start = range.lowerBound + Int64(fields.bigEndian(at: Int(position), bytes: 4))
      let end = start + Int64(fields.bigEndian(at: Int(position) + 4, bytes: 4))
      guard end <= range.upperBound else {
        throw .malformed("a part of a RAF file that ends after the file", offset: range.lowerBound + position)
      }
      guard start == end || start >= header.upperBound else {
        throw .overlap(offset: start)
      }
      parts.append(start..<end)
    }
    let (jpeg, directory, sensor) = (parts[0], parts[1], parts[2])
    if !jpeg.isEmpty {
      guard try context.head(of: jpeg, count: 2).elementsEqual([0xFF, 0xD8]) else {
        throw .unsupported("a RAF file whose preview is not a JPEG")
      }
      try context.removePicture(in: jpeg)
    }
    context.keep(directory)
    try context.checkUnknown(directory, "a RAF file with metadata in its directory")
    if try TIFFFile.order(context.head(of: sensor, count: 4)) != nil { try context.removeDirectories(in: sensor) }
    // Between the parts and after the last.
    var end = header.upperBound
    for part in parts.filter({ !$0.isEmpty }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if part.lowerBound > end {
        try context.checkUnknown(end..<part.lowerBound, "data between the parts of a RAF file")
      }
      end = max(end, part.upperBound)
    }
    if end < range.upperBound { try context.checkUnknown(end..<range.upperBound, "data after a RAF file") }
  }
}
