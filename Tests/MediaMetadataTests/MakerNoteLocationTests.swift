import MediaMetadata
import Testing

@Suite("Removing places from maker notes")
struct MakerNoteLocationTests {
  private typealias Block = LocationBlockTests

  /// An EXIF block with a maker, and a maker note at ``noteStart``.
  private static func block(_ make: String, _ note: [UInt8]) -> [UInt8] {
    let make = Array(make.utf8) + [UInt8](repeating: 0, count: 20 - make.utf8.count)
    return Block.header + Block.number(2, 2) + Block.entry(0x010F, 2, 20, Block.number(38, 4))
      + Block.entry(0x8769, 4, 1, Block.number(58, 4)) + Block.number(0, 4) + make
      + Block.number(1, 2) + Block.entry(0x927C, 7, note.count, Block.number(noteStart, 4)) + Block.number(0, 4) + note
  }

  private static let noteStart = 76

  /// A directory whose values start at `values`, as offsets count.
  private static func directory(_ entries: [(tag: Int, type: Int, count: Int, value: [UInt8])], values: Int) -> [UInt8]
  {
    var data: [UInt8] = []
    var bytes = Block.number(entries.count, 2)
    for entry in entries {
      let isInline = entry.value.count <= 4
      bytes += Block.entry(
        entry.tag, entry.type, entry.count,
        isInline
          ? entry.value + [UInt8](repeating: 0, count: 4 - entry.value.count) : Block.number(values + data.count, 4))
      if !isInline { data += entry.value }
    }
    return bytes + Block.number(0, 4) + data
  }

  private static func text(_ tag: Int, _ text: String) -> (Int, Int, Int, [UInt8]) {
    (tag, 2, text.utf8.count, Array(text.utf8))
  }

  private static let nikonHeader = Array("Nikon\0".utf8) + [2, 0x10, 0, 0]

  /// Notes as text: their places are written `#`, one for each byte, and become zeros; other bytes stay.
  static let notes: [(name: String, make: String, note: @Sendable (String) -> [UInt8], places: String)] = [
    (
      "Panasonic, from the TIFF header", "Panasonic",
      { place in
        Array("Panasonic\0\0\0".utf8)
          + directory(
            [text(0x25, "serial nr"), text(0x69, place), (0x6D, 2, 3, Array("ab\0".utf8))], values: 76 + 12 + 42)
      }, "Country"
    ),
    (
      "Panasonic, from its directory", "Panasonic",
      { place in
        Array("Panasonic\0\0\0".utf8) + directory([text(0x6F, place), text(0x65, "a title")], values: 12 + 30 - 12)
      },
      "Landmark"
    ),
    (
      "Nikon", "NIKON CORPORATION",
      { place in
        nikonHeader + Block.header
          + directory([(0x39, 7, 13, Array("0100".utf8) + [1] + place.utf8), text(1, "serial")], values: 8 + 30)
      }, "AUTWien:"
    ),
    (
      "Samsung", "SAMSUNG",
      { place in directory([(1, 7, 4, Array("0100".utf8)), text(0x31, place), text(0x25, "serial")], values: 42) },
      "Gangnam"
    ),
    (
      "Casio", "CASIO COMPUTER",
      { place in
        // Big-endian: one entry with its value after it.
        Array("QVC\0\0\0".utf8) + [0, 1, 0x30, 6, 0, 2, 0, 0, 0, 8, 0, 0, 0, UInt8(noteStart + 24), 0, 0, 0, 0]
          + place.utf8
      }, "New York"
    ),
    (
      "DJI", "DJI",
      { place in directory([(5, 11, 1, Array(place.utf8)), (0x0C, 11, 1, [1, 2, 3, 4])], values: 0) }, "1234"
    ),
    (
      "Ricoh", "RICOH",
      { place in
        Array("Ricoh\0\0\0".utf8) + directory([(0x4001, 4, 1, Block.number(noteStart + 26, 4))], values: 0)
          + directory([text(3, "accelero"), text(4, place)], values: noteStart + 26 + 30)
      }, "12345678"
    ),
    (
      "Canon", "Canon",
      { place in
        directory(
          [(0x35, 4, 4, [16, 0, 0, 0, 60, 0, 0, 0] + Array(place.utf8) + [1, 0, 0, 0])], values: noteStart + 18)
      }, "\u{1}\0\0\0"
    ),
  ]

  @Test("places become zeros, and all else stays", arguments: notes.map(\.name))
  func places(_ name: String) throws {
    let sample = try #require(Self.notes.first { $0.name == name })
    let block = Self.block(sample.make, sample.note(sample.places))
    let zeros = String(repeating: "\0", count: sample.places.utf8.count)
    var expected = Self.block(sample.make, sample.note(zeros))
    // Short values are places in their entry.
    if name.hasPrefix("Panasonic, from the TIFF") {
      expected = expected.split(after: Array("m\0\u{2}\0\u{3}\0\0\0".utf8), zeros: 2)
    }
    let edited = withoutPlaces(block, try LocationBlocks.exif(block[...]).patches)
    #expect(edited == expected)
  }

  @Test("the cities of Pentax's clock become unknown")
  func cities() throws {
    func note(_ city: UInt8, _ home: UInt8) -> [UInt8] {
      Array("AOC\0II".utf8)
        + Self.directory(
          [
            (0x22, 3, 1, [1, 0]), (0x23, 3, 1, [city, home]), (0x24, 3, 1, [city, home]),
            (0x6B, 7, 4, [1, 2, city, city]),
          ],
          values: 0)
    }
    let block = Self.block("PENTAX", note(3, 0))
    #expect(
      withoutPlaces(block, try LocationBlocks.exif(block[...]).patches) == Self.block("PENTAX", note(0xFF, 0xFF)))
  }

  @Test("a drone's pose in DJI's text becomes spaces")
  func pose() throws {
    func note(_ pose: String) -> [UInt8] { Array("[ae_dbg_info:1][FlightDegree(Y,P,R):\(pose)][sensor_id:2]".utf8) }
    let block = Self.block("DJI", note("10,20,30"))
    #expect(
      withoutPlaces(block, try LocationBlocks.exif(block[...]).patches) == Self.block("DJI", note("        ")))
  }

  @Test(
    "a note that holds places but is not where its offsets say becomes zeros", arguments: [0, 60, 4000, 0xFFFF_FFF0])
  func moved(values: Int) throws {
    let note = Array("Panasonic\0\0\0".utf8) + Self.directory([Self.text(0x69, "Country")], values: values)
    let block = Self.block("Panasonic", note)
    let edited = withoutPlaces(block, try LocationBlocks.exif(block[...]).patches)
    #expect(edited == block.prefix(Self.noteStart) + [UInt8](repeating: 0, count: note.count))
  }

  @Test("notes of other makers stay", arguments: ["Olympus", "FUJIFILM", "Apple", "Canon", "SONY", "SAMSUNG"])
  func others(_ make: String) throws {
    let block = Self.block(make, Self.directory([(1, 7, 4, [9, 9, 9, 9]), (2, 7, 3, [1, 2, 3])], values: 0))
    #expect(try LocationBlocks.exif(block[...]).patches.isEmpty)
  }

  @Test("IPTC datasets in Nikon Capture's records become spaces")
  func capture() throws {
    func note(_ city: String) -> [UInt8] {
      let datasets = [0x1C, 2, 90, 0, UInt8(city.utf8.count)] + Array(city.utf8)
      let record =
        Block.number(0x9EF5_F6E0, 4) + [UInt8](repeating: 7, count: 14) + Block.number(datasets.count + 4, 4) + datasets
      let records = [UInt8](repeating: 7, count: 22) + record
      return Self.nikonHeader + Block.header + Self.directory([(0x0E01, 7, records.count, records)], values: 8 + 18)
    }
    let block = Self.block("NIKON", note("Wien"))
    #expect(withoutPlaces(block, try LocationBlocks.exif(block[...]).patches) == Self.block("NIKON", note("    ")))
  }
}

extension [UInt8] {
  /// The bytes with the `count` bytes after the first occurrence of others as zeros.
  fileprivate func split(after wanted: [UInt8], zeros count: Int) -> [UInt8] {
    var bytes = self
    guard let start = indices.first(where: { self[$0...].starts(with: wanted) }) else { return bytes }
    for i in start + wanted.count..<start + wanted.count + count { bytes[i] = 0 }
    return bytes
  }
}
