// Removes locations from maker notes. If the directory or the values of a note that may hold locations are not where
// they should be, the whole note becomes zeros: some program has moved the note without correcting its offsets, so the
// locations can't be found here, while ExifTool guesses where they are. Notes of all other makers stay.

extension DirectoryLocations {
  /// The bytes by which a format is recognised.
  private static var signatureBytes: Int { 18 }
  /// Values of at most this many numbers are in the note itself.
  private static var maximumSmallValue: Int { 24 }
  private static var maximumNoteEntries: Int { 1024 }

  mutating func takeNote(_ entry: Entry) throws(LocationRemovalError) {
    guard let value = entry.value else { return }
    try takeNote(value, base: 0)
  }

  /// - Parameter base: the position from which offsets count that count from the TIFF header; not 0 if the note was
  ///   copied from another file.
  private mutating func takeNote(_ note: Range<Int>, base: Int) throws(LocationRemovalError) {
    let head = try content(note.lowerBound..<min(note.upperBound, note.lowerBound + Self.signatureBytes))
    if head.starts(with: "[ae_dbg_info:".utf8) { return try removePose(fromText: note) }
    guard let format = MakerNote(head, make: make, isBigEndian: isBigEndian) else { return }
    let order = isBigEndian
    defer { isBigEndian = order }
    let start = note.lowerBound + format.directory
    guard format.directory < note.count, try setOrder(format, at: start) else { return try zero(note) }
    for candidate in format.bases {
      let origin: Int
      switch candidate {
      case .block: origin = base
      case .note(let position): origin = note.lowerBound + position
      }
      guard let directory = try directory(at: start, base: origin), directory.range.lowerBound < note.upperBound else {
        return try zero(note)
      }
      if isConsistent(directory, format, note) { return try remove(format, directory, base: origin) }
    }
    try zero(note)
  }

  /// Chooses the byte order; false if the directory has no sensible number of entries.
  private mutating func setOrder(_ format: MakerNote, at start: Int) throws(LocationRemovalError) -> Bool {
    guard let two = try bytes.read(at: start, count: 2) else { return false }
    let little = Int(two[two.startIndex]) | Int(two[two.startIndex + 1]) << 8
    let big = Int(two[two.startIndex]) << 8 | Int(two[two.startIndex + 1])
    isBigEndian = format.isBigEndian ?? (big < little)
    return (1...Self.maximumNoteEntries).contains(isBigEndian ? big : little)
  }

  /// Whether all locations are where the offsets say: in the entries, or together with all other values in the note.
  private func isConsistent(_ directory: Directory, _ format: MakerNote, _ note: Range<Int>) -> Bool {
    let outer = directory.entries.filter { entry in
      (TIFFBlock.typeBytes(entry.type) ?? 0) * entry.count > 4
    }
    guard outer.contains(where: { format.locations[$0.tag] != nil }) else { return true }
    // Previews and other large values may be outside.
    return outer.filter { format.locations[$0.tag] != nil || $0.count <= Self.maximumSmallValue }.allSatisfy { entry in
      guard let value = entry.value else { return false }
      return value.lowerBound >= directory.range.upperBound - 4 && value.upperBound <= note.upperBound
    }
  }

  private mutating func remove(
    _ format: MakerNote, _ directory: Directory, base: Int
  ) throws(LocationRemovalError) {
    for entry in directory.entries {
      guard let removal = format.locations[entry.tag], let value = entry.value else { continue }
      switch removal {
      case .zero(let start):
        if start < value.count { try zero(value.lowerBound + start..<value.upperBound) }
      case .zeroBytes(let part): try fill(part, of: value, 0)
      case .ones(let part): try fill(part, of: value, 0xFF)
      case .captureRecords: try removeIPTC(fromCaptureRecords: value)
      case .inner(let tag):
        guard let offset = try numbers(of: entry, limit: 1).first,
          let inner = try self.directory(at: base + offset, base: base)
        else { continue }
        for entry in inner.entries where entry.tag == tag {
          if let value = entry.value { try zero(value) }
        }
      }
    }
  }

  private mutating func fill(_ part: Range<Int>, of value: Range<Int>, _ byte: UInt8) throws(LocationRemovalError) {
    let part = part.clamped(to: 0..<value.count)
    try fill(value.lowerBound + part.lowerBound..<value.lowerBound + part.upperBound, byte)
  }

  /// Each record has 22 bytes of head, which begin with a tag and end with a length that counts 4 of them.
  private mutating func removeIPTC(fromCaptureRecords records: Range<Int>) throws(LocationRemovalError) {
    var position = records.lowerBound + 22
    while position + 22 <= records.upperBound {
      let head = try content(position..<position + 22)
      func number(_ start: Int) -> Int { head.dropFirst(start).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) } }
      let length = number(18) - 4
      let start = position + 22
      guard length >= 0, length <= records.upperBound - start else { return }
      if number(0) == 0x9EF5_F6E0 {
        add(IPTCLocations.patches(try content(start..<start + length)), at: start)
      }
      position = start + length
    }
  }

  /// Canon's note as a TIFF of its own.
  mutating func takeCanon(_ directory: Directory) throws(LocationRemovalError) {
    for entry in directory.entries {
      guard case .zeroBytes(let part)? = MakerNote.canon[entry.tag], let value = entry.value else { continue }
      try fill(part, of: value, 0)
    }
  }

  /// Removes the angles and the speed of a drone from DJI's note as text: `[FlightDegree(Y,P,R): 1, 2, 3]`.
  private mutating func removePose(fromText note: Range<Int>) throws(LocationRemovalError) {
    if note.count > Self.maximumValueBytes {
      throw .limitExceeded("the size of a maker note", limit: Self.maximumValueBytes, found: note.count)
    }
    let old = try content(note)
    var edited = Array(old)
    for name in ["[GimbalDegree", "[FlightDegree", "[FlightSpeed"] {
      let name = Array(name.utf8)
      var position = 0
      while position + name.count <= edited.count {
        guard edited[position] == name[0], edited[position...].starts(with: name) else {
          position += 1
          continue
        }
        let end = edited[position...].firstIndex(of: UInt8(ascii: "]")) ?? edited.count
        let start = edited[position..<end].firstIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? end
        for i in start..<end { edited[i] = UInt8(ascii: " ") }
        position = max(end, position + 1)
      }
    }
    add(BlockPatch.differences(from: old, to: edited), at: note.lowerBound)
  }

  /// DNGPrivateData: a maker's own data, or Adobe's copy of a maker note (`Adobe`, then blocks of a name, a length and
  /// content; in the block `MakN` a byte order and the note's offset in the original file come first).
  mutating func takePrivateData(_ entry: Entry) throws(LocationRemovalError) {
    guard let value = entry.value else { return }
    let signature = Array("Adobe".utf8) + [0]
    let head = try content(value.lowerBound..<min(value.upperBound, value.lowerBound + signature.count))
    guard head.elementsEqual(signature) else { return try takeNote(value, base: 0) }
    var position = value.lowerBound + signature.count
    while position + 8 <= value.upperBound {
      let head = Array(try content(position..<position + 8))
      let length = head[4..<8].reduce(0) { $0 << 8 | Int($1) }
      let block = position + 8
      guard length <= value.upperBound - block else { return try zero(position..<value.upperBound) }
      if head.starts(with: "MakN".utf8), length > 6 {
        let start = Array(try content(block..<block + 6))
        let order = isBigEndian
        isBigEndian = start[0] == UInt8(ascii: "M")
        let note = block + 6..<block + length
        try takeNote(note, base: note.lowerBound - start[2..<6].reduce(0) { $0 << 8 | Int($1) })
        isBigEndian = order
      }
      position = block + length + length % 2
    }
  }
}
