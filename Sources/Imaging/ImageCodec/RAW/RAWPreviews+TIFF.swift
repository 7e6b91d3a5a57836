extension RAWPreviews {
  /// The start of the maker notes of Olympus and OM System that count offsets from the note, and the position of their
  /// directory (ExifTool, "Olympus Tags").
  private static let olympusNotes: [(start: [UInt8], directory: Int)] = [
    (Array("OLYMPUS\0".utf8), 12), (Array("OM SYSTEM\0".utf8), 16),
  ]
  private static let jpegCompressions = [6, 7]

  /// TIFF and the formats based on it: all directories of the chain, and those inside of them.
  static func findByDirectories(
    _ reader: inout HeaderReader, _ candidates: inout Candidates
  ) throws(CodecError) {
    let file = try TIFFFile(&reader, in: 0..<reader.size)
    try walk(file, &reader) { directory, reader throws(CodecError) in
      try find(in: directory, of: file, &reader, &candidates)
    }
  }

  /// Visits all directories of the chain, and those inside of them.
  static func walk(
    _ file: TIFFFile, _ reader: inout HeaderReader,
    _ visit: (TIFFFile.Directory, inout HeaderReader) throws(CodecError) -> Void
  ) throws(CodecError) {
    var waiting = [file.firstOffset]
    var seen: Set<Int> = []
    while let offset = waiting.popLast() {
      guard offset != 0, seen.insert(offset).inserted else { continue }
      if seen.count > ContainerLimits.directories {
        throw .limitExceeded("the number of directories", limit: ContainerLimits.directories, found: seen.count)
      }
      guard let directory = try file.directory(at: offset, &reader) else { continue }
      try visit(directory, &reader)
      // One more than the limit is enough to exceed it.
      waiting += try file.numbers(of: directory[.subIFDs], atMost: ContainerLimits.directories + 1, &reader)
      waiting.append(directory.next)
    }
  }

  private static func find(
    in directory: TIFFFile.Directory, of file: TIFFFile, _ reader: inout HeaderReader,
    _ candidates: inout Candidates
  ) throws(CodecError) {
    if let offset = try file.number(of: directory[.jpegOffset], &reader),
      let length = try file.number(of: directory[.jpegLength], &reader), let range = file.place(offset, length)
    {
      candidates.add(range)
    }
    // A picture of one strip, which is a JPEG.
    if directory[.stripOffsets]?.count == 1,
      let compression = try file.number(of: directory[.compression], &reader), jpegCompressions.contains(compression),
      let offset = try file.number(of: directory[.stripOffsets], &reader),
      let length = try file.number(of: directory[.stripByteCounts], &reader), let range = file.place(offset, length)
    {
      candidates.add(range)
    }
    // TIFF and the other formats do not use this number.
    if let jpeg = directory[PanasonicTag.jpeg]?.value { candidates.add(jpeg) }
    guard let pointer = try file.number(of: directory[.exifDirectory], &reader),
      let exif = try file.directory(at: pointer, &reader), let note = exif[.makerNote]?.value
    else { return }
    try find(inNote: note, &reader, &candidates)
  }

  /// Olympus: the note has a directory of camera settings, which refers to the preview.
  private static func find(
    inNote note: Range<Int64>, _ reader: inout HeaderReader, _ candidates: inout Candidates
  ) throws(CodecError) {
    let head = try reader.bytes(at: note.lowerBound, count: 16)
    guard let format = olympusNotes.first(where: { head.starts(with: $0.start) }), head.count == 16 else { return }
    // The byte order comes four bytes before the directory, then a version.
    let order = head.dropFirst(format.directory - 4).prefix(2)
    // The preview may come after the note.
    let file = TIFFFile(
      in: note.lowerBound..<reader.size, isBigEndian: order.elementsEqual("MM".utf8), firstOffset: format.directory)
    guard let directory = try file.directory(at: file.firstOffset, &reader),
      let entry = directory[OlympusTag.cameraSettings], let value = entry.value
    else { return }
    // Older cameras store the directory as the value of the entry, others refer to it.
    let isInside = entry.type == 7 || entry.type == 2
    let pointer =
      isInside ? Int(clamping: value.lowerBound - note.lowerBound) : try file.number(of: entry, &reader) ?? 0
    guard let settings = try file.directory(at: pointer, &reader),
      let offset = try file.number(of: settings[OlympusTag.previewOffset], &reader),
      let length = try file.number(of: settings[OlympusTag.previewLength], &reader),
      let range = file.place(offset, length)
    else { return }
    candidates.add(range)
  }
}
