// The maker note of an ORF. No location is known in it, so it stays, but it refers to JPEGs, which may have metadata of
// their own. Its formats and tags are ExifTool's ("Olympus Tags").

extension DirectoryLocations {
  /// How a note starts, the position of its directory, and whether its offsets count from the note or from the file.
  private static var olympusNotes: [(start: [UInt8], directory: Int, countsFromNote: Bool)] {
    [
      (Array("OLYMPUS\0".utf8), 12, true), (Array("OM SYSTEM\0".utf8), 16, true), (Array("OLYMP\0".utf8), 8, false),
    ]
  }

  /// Reports the JPEGs that a maker note contains or refers to.
  ///
  /// - Throws: `unsupported` if the note has another format, or if a preview is not a JPEG: what it holds is not known.
  mutating func takeOlympusNote(_ entry: Entry) throws(LocationRemovalError) {
    guard let note = entry.value else { return }
    let head = try content(note.lowerBound..<min(note.upperBound, note.lowerBound + 16))
    let format = Self.olympusNotes.first { head.starts(with: $0.start) }
    guard let format, note.count > format.directory else {
      throw .unsupported("an Olympus raw picture with a maker note of a kind that is not known")
    }
    let order = isBigEndian
    defer { isBigEndian = order }
    if format.countsFromNote {
      // The byte order comes four bytes before the directory, then a version.
      isBigEndian = head.dropFirst(format.directory - 4).starts(with: "MM".utf8)
    }
    let base = format.countsFromNote ? note.lowerBound : 0
    guard let directory = try directory(at: note.lowerBound + format.directory, base: base) else {
      throw .malformed("a maker note without its directory", offset: Int64(note.lowerBound))
    }
    kept.append(directory.range)
    var preview: (offset: Int?, length: Int?)
    for entry in directory.entries {
      switch entry.tag {
      // Thumbnail, and two generations of previews, as values.
      case 0x0081, 0x0100, 0x0280:
        if let value = entry.value { try takeOlympusPicture(at: value.lowerBound, value.count) }
      case 0x0088: preview.offset = try numbers(of: entry, limit: 1).first
      case 0x0089: preview.length = try numbers(of: entry, limit: 1).first
      case 0x2020: try takeCameraSettings(entry, base: base)
      default: break
      }
    }
    try takeOlympusPicture(preview, base: base)
  }

  /// The directory of camera settings refers to the preview. Older cameras store it as the value of the entry.
  private mutating func takeCameraSettings(_ entry: Entry, base: Int) throws(LocationRemovalError) {
    let isInside = entry.type == 7 || entry.type == 2
    let number = isInside ? nil : try numbers(of: entry, limit: 1).first
    guard let start = isInside ? entry.value?.lowerBound : number.map({ base + $0 }),
      let directory = try directory(at: start, base: base)
    else { return }
    kept.append(directory.range)
    var preview: (offset: Int?, length: Int?)
    for entry in directory.entries {
      switch entry.tag {
      case 0x0101: preview.offset = try numbers(of: entry, limit: 1).first
      case 0x0102: preview.length = try numbers(of: entry, limit: 1).first
      default: break
      }
    }
    try takeOlympusPicture(preview, base: base)
  }

  private mutating func takeOlympusPicture(
    _ preview: (offset: Int?, length: Int?), base: Int
  ) throws(LocationRemovalError) {
    guard let offset = preview.offset, let length = preview.length else { return }
    try takeOlympusPicture(at: base + offset, length)
  }

  private mutating func takeOlympusPicture(at offset: Int, _ length: Int) throws(LocationRemovalError) {
    // Cameras without a preview state an empty one.
    if length < 4 || found.pictures.contains(where: { $0.lowerBound == offset }) { return }
    let known = found.pictures.count
    try takePicture(at: offset, length)
    if found.pictures.count == known { throw .unsupported("a preview that is not a JPEG") }
  }
}
