import MediaMetadata

extension LocationRemoval {
  /// The box of Canon's directories.
  static let canonDirectories: [UInt8] = [
    0x85, 0xC0, 0xB6, 0x87, 0x82, 0x0F, 0x11, 0xE0, 0x81, 0x11, 0xF4, 0xCE, 0x46, 0x2B, 0x6A, 0x48,
  ]
  /// The box of Canon's preview.
  static let canonPreview: [UInt8] = [
    0xEA, 0xF4, 0x2B, 0x5E, 0x1C, 0x98, 0x4B, 0x88, 0xB9, 0xFB, 0xB7, 0xDC, 0x40, 0x6E, 0x4D, 0x16,
  ]

  /// Canon's directories, each a TIFF of its own.
  static func canon(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    for box in try context.boxes(in: range) {
      switch box.type {
      case "CMT1", "CMT2": try context.removeEXIF(in: box.content)
      case "CMT3": try context.removeDirectories(in: box.content, from: .canonNote)
      case "CMT4": try context.removeDirectories(in: box.content, from: .gps)
      case "THMB": try embeddedPicture(box.content, &context)
      case "CNCV", "CCTP", "CTBO", "CCDT", "CNOP": break
      default: try context.erase(box)
      }
    }
  }

  /// Numbers, then a JPEG.
  static func embeddedPicture(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let head = Array(try context.head(of: range, count: 64))
    guard let start = head.indices.first(where: { head[$0...].starts(with: [0xFF, 0xD8, 0xFF]) }) else {
      return try context.zero(range)
    }
    try context.removePicture(in: range.lowerBound + Int64(start)..<range.upperBound)
  }
}
