import MediaMetadata

/// The EXIF values of a TIFF, assembled into one EXIF block in memory. A RAW picture has its directories anywhere among
/// its samples, and CR3 has them in three TIFFs, but the EXIF reader needs one block in memory.
struct TIFFMetadata: Sendable, Hashable {
  enum Selection {
    /// Only the values that the catalogue needs.
    case catalogue
    /// All values that are short enough.
    case everything
  }

  private enum Section: Int, CaseIterable {
    case first, exif, gps
  }

  private struct Value: Hashable {
    let tag: Int
    let type: Int
    let count: Int
    let bytes: ArraySlice<UInt8>
  }

  private var values: [[Value]] = [[], [], []]
  private var bytes = 0
  /// Number of requested values that were left out: too long, or meaningless outside their file.
  private(set) var omittedCount = 0
  private let isBigEndian: Bool
  let selection: Selection

  /// Description, make, model, orientation, date; Windows' rating.
  private static let firstTags: Set<Int> = [0x010E, 0x010F, 0x0110, 0x0112, 0x0132, 0x4746]
  /// Dates with their UTC offsets and fractions, colour space, custom rendering, comment, exposure time, lens model.
  private static let exifTags: Set<Int> = [
    0x9003, 0x9004, 0x9010, 0x9011, 0x9012, 0x9290, 0x9291, 0x9292, 0xA001, 0xA401, 0x9286, 0x829A, 0xA434,
  ]
  /// Latitude, longitude and altitude with their reference tags.
  private static let gpsTags: Set<Int> = [1, 2, 3, 4, 5, 6]
  /// Tags that are left out: those that contain file offsets, and those that are not EXIF and are read in other ways:
  /// strips and tiles, directories, XMP, IPTC, Photoshop's resources, the profile, thumbnails.
  private static let foreignTags: Set<Int> = [
    0x0111, 0x0117, 0x0144, 0x0145, 0x014A, 0x0201, 0x0202, 0x02BC, 0x83BB, 0x8649, 0x8769, 0x8773, 0x8825, 0xA005,
  ]
  private static let makerNote = 0x927C
  /// Maximum size of an EXIF block, minus its headers and pointers.
  private static let maximumBytes = EXIFSummary.maximumBytes - 128
  private static let appleNote = Array("Apple iOS".utf8)

  init(isBigEndian: Bool, _ selection: Selection) {
    self.isBigEndian = isBigEndian
    self.selection = selection
  }

  mutating func takeFirst(
    _ directory: TIFFFile.Directory, of file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) {
    try take(directory, .first, Self.firstTags, of: file, &reader)
  }

  mutating func takeEXIF(
    _ directory: TIFFFile.Directory, of file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) {
    try take(directory, .exif, Self.exifTags, of: file, &reader)
    // Only Apple's maker notes are read, and only their offsets stay valid in another place.
    guard let note = directory.entries.first(where: { $0.tag == Self.makerNote }) else { return }
    guard let value = note.value,
      try reader.bytes(at: value.lowerBound, count: Self.appleNote.count).elementsEqual(Self.appleNote)
    else {
      omittedCount += 1
      return
    }
    try take(note, .exif, atMost: ContainerLimits.makerNoteBytes, of: file, &reader)
  }

  mutating func takeGPS(
    _ directory: TIFFFile.Directory, of file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) {
    try take(directory, .gps, Self.gpsTags, of: file, &reader)
  }

  private mutating func take(
    _ directory: TIFFFile.Directory, _ section: Section, _ tags: Set<Int>, of file: TIFFFile,
    _ reader: inout HeaderReader
  ) throws(CodecError) {
    for entry in directory.entries where entry.tag != Self.makerNote {
      guard selection == .catalogue ? tags.contains(entry.tag) : !Self.foreignTags.contains(entry.tag) else { continue }
      let limit = selection == .catalogue ? ContainerLimits.valueBytes : ContainerLimits.assembledValueBytes
      try take(entry, section, atMost: limit, of: file, &reader)
    }
  }

  private mutating func take(
    _ entry: TIFFFile.Entry, _ section: Section, atMost limit: Int, of file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) {
    // BigTIFF's own types are none of EXIF's.
    guard file.isBigEndian == isBigEndian, TIFFBlock.typeBytes(entry.type) != nil,
      !values[section.rawValue].contains(where: { $0.tag == entry.tag })
    else {
      return
    }
    guard let value = entry.value, bytes + value.count + 14 <= Self.maximumBytes,
      let bytes = try file.bytes(of: entry, atMost: limit, &reader)
    else {
      omittedCount += 1
      return
    }
    self.bytes += value.count + 14
    values[section.rawValue].append(Value(tag: entry.tag, type: entry.type, count: entry.count, bytes: bytes))
  }

  /// The assembled block, starting with its TIFF header; `nil` if nothing was found.
  var block: [UInt8]? {
    guard values.contains(where: { !$0.isEmpty }) else { return nil }
    // Header, then the three directories, each followed by its larger values.
    var starts = [8, 0, 0]
    starts[1] = starts[0] + length(of: .first, pointers: 2)
    starts[2] = starts[1] + length(of: .exif, pointers: 0)
    let pointers = [Section.exif, .gps].map { section in
      Value(
        tag: (section == .exif ? TIFFTag.exifDirectory : .gpsDirectory).rawValue, type: 4, count: 1,
        bytes: number(starts[section.rawValue], 4)[...])
    }
    var block = (isBigEndian ? [0x4D, 0x4D] : [0x49, 0x49]) + number(42, 2) + number(8, 4)
    block += directory(values[0] + pointers, at: starts[0])
    block += directory(values[1], at: starts[1])
    return block + directory(values[2], at: starts[2])
  }

  private func length(of section: Section, pointers: Int) -> Int {
    let own = values[section.rawValue]
    return 2 + 12 * (own.count + pointers) + 4 + own.reduce(0) { $0 + Self.room($1.bytes.count) }
  }

  /// Bytes of a value after its directory: 0 if it fits into its entry, else rounded up to an even number.
  private static func room(_ bytes: Int) -> Int { bytes <= 4 ? 0 : bytes + bytes % 2 }

  private func directory(_ values: [Value], at start: Int) -> [UInt8] {
    var entries = number(values.count, 2)
    var data: [UInt8] = []
    let dataStart = start + 2 + 12 * values.count + 4
    for value in values.sorted(by: { $0.tag < $1.tag }) {
      entries += number(value.tag, 2) + number(value.type, 2) + number(value.count, 4)
      if value.bytes.count <= 4 {
        entries += value.bytes + [UInt8](repeating: 0, count: 4 - value.bytes.count)
      } else {
        entries += number(dataStart + data.count, 4)
        data += value.bytes + [UInt8](repeating: 0, count: value.bytes.count % 2)
      }
    }
    return entries + number(0, 4) + data
  }

  private func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    let little = (0..<bytes).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    return isBigEndian ? little.reversed() : little
  }
}
