import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Hostile containers")
struct HostileContainerTests {
  @Test(
    "every truncated file gives a header or an error, and ranges within the file",
    arguments: ContainerSamples.all.map { $0.format })
  func prefixes(_ format: MediaFormat) throws {
    let sample = try #require(ContainerSamples.all.first { $0.format == format })
    var whole = 0
    for length in 0..<sample.bytes.count {
      let source = CountingSource(Array(sample.bytes.prefix(length)))
      guard let read = check(source) else { continue }
      whole += 1
      #expect(read.format == format || [.tiff, .heif].contains(read.format))
    }
    // Some prefixes have a complete header, and most have not.
    #expect(whole < sample.bytes.count)
  }

  @Test(
    "every file with one changed byte gives a header or an error, and ranges within the file",
    arguments: ContainerSamples.all.map { $0.format })
  func flips(_ format: MediaFormat) throws {
    let sample = try #require(ContainerSamples.all.first { $0.format == format })
    for i in sample.bytes.indices {
      for flip: UInt8 in [0xFF, 0x80, 0x01] {
        var bytes = sample.bytes
        bytes[i] ^= flip
        check(CountingSource(bytes))
      }
    }
  }

  /// Reads a header, and checks its ranges and the number of reads.
  @discardableResult
  private func check(_ source: CountingSource) -> MediaHeader? {
    let read = try? MediaHeader.read(from: source, limits: CodecLimits().headerOnly)
    #expect(source.reads <= 64)
    guard let read else { return nil }
    #expect(read.storedSize.width > 0 && read.storedSize.height > 0 && read.durationSeconds.isFinite)
    for range in read.blocks.map(\.range) + [read.thumbnail].compactMap(\.self) {
      #expect(range.offset >= 0 && range.length >= 0 && range.offset + Int64(range.length) <= source.size)
    }
    return read
  }

  @Test("a BigTIFF whose crop has sides of 64 bits is refused", arguments: [1 << 62, 1 << 33, Int(Int32.max) + 1])
  func hugeCrop(_ side: Int) {
    func little(_ value: Int, _ count: Int) -> [UInt8] { Array(Boxes.number(value, count).reversed()) }
    let jpeg = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))
    // Tag, type, count and value; DNG 1.4 with a preview by JPEGInterchangeFormat.
    var entries = [
      (254, 4, 1, 0), (256, 4, 1, 64), (257, 4, 1, 48), (258, 3, 1, 8), (259, 3, 1, 7), (262, 3, 1, 34_892),
      (277, 3, 1, 3), (50_706, 1, 4, 0x401),
    ]
    let crop = 16 + 8 + (entries.count + 3) * 20 + 8
    entries += [(513, 16, 1, crop + 16), (514, 16, 1, jpeg.count), (50_720, 16, 2, crop)]
    entries.sort { $0.0 < $1.0 }
    var bytes = Array("II".utf8) + little(43, 2) + little(8, 2) + little(0, 2) + little(16, 8)
    bytes += little(entries.count, 8)
    for (tag, type, count, value) in entries {
      bytes += little(tag, 2) + little(type, 2) + little(count, 8) + little(value, 8)
    }
    bytes += little(0, 8)
    for (width, isRefused) in [(side, true), (64, false)] {
      let file = bytes + little(width, 8) + little(48, 8) + jpeg
      let header = Result { try MediaHeader.read(from: MemoryByteSource(file), limits: CodecLimits().headerOnly) }
      #expect(((try? header.get()) == nil) == isRefused, "\(width): \(header)")
    }
  }

  private static let huge = Boxes.number(.max, 8)
  private static let start = Boxes.fileType("qt  ")

  static let attacks: [(name: String, bytes: [UInt8], error: CodecError)] = [
    (
      "a box longer than what it is in",
      start + Boxes.box("moov", Boxes.number(4000, 4) + Boxes.fourCC("mvhd") + [0, 0, 0, 0]) + Boxes.box("free"),
      .malformed("a box that is longer than what it is in", offset: 24)
    ),
    (
      "a box shorter than its head", start + Boxes.number(7, 4) + Boxes.fourCC("moov"),
      .malformed("a box shorter than its head", offset: 16)
    ),
    (
      "a size of 64 bits that is negative",
      start + Boxes.number(1, 4) + Boxes.fourCC("moov") + [UInt8](repeating: 0xFF, count: 8),
      .malformed("a box of an impossible size", offset: 16)
    ),
    (
      "a size of 64 bits up to the end of all numbers",
      start + Boxes.number(1, 4) + Boxes.fourCC("mdat") + huge, .truncated(offset: 32)
    ),
    (
      "more boxes than any file has", start + Array((0..<5000).map { _ in Boxes.box("free") }.joined()),
      .limitExceeded("the number of boxes", limit: 4096, found: 4097)
    ),
    (
      "more tracks than any movie has",
      MovieFile { $0.tracks = (0..<65).map { _ in .init { $0.handler = "soun" } } }.bytes,
      .limitExceeded("the number of tracks", limit: 64, found: 65)
    ),
    (
      "more keys than any movie has", MovieFile { $0.keys = (0..<300).map { ("\($0)", "") } }.bytes,
      .limitExceeded("the number of a movie's metadata keys", limit: 256, found: 300)
    ),
    (
      "a table that is no table",
      Boxes.fileType("heic")
        + Boxes.fullBox(
          "meta", Boxes.fullBox("pitm", [0, 1]), Boxes.fullBox("iloc", [UInt8](repeating: 0, count: 2 << 20)),
          Boxes.box("iprp")),
      .limitExceeded("the size of a box of type iloc", limit: 1 << 20, found: 2 << 20 + 4)
    ),
    (
      "no primary item", Boxes.fileType("heic") + Boxes.fullBox("meta", Boxes.box("iprp")),
      .malformed("a heic file without a primary item", offset: 24)
    ),
    ("a picture without pixels", GIFFile { $0.width = 0 }.bytes, .malformed("a picture without pixels", offset: nil)),
    (
      "a TIFF whose first directory is beyond its end", Array("II*\0".utf8) + [0xFF, 0xFF, 0xFF, 0x7F],
      .truncated(offset: 8)
    ),
    ("a TIFF of 65,535 entries that are not there", Array("II*\0".utf8) + [8, 0, 0, 0, 0, 8], .truncated(offset: 10)),
    (
      "a WebP of nothing", Array("RIFF\0\0\0\0WEBP".utf8) + [UInt8](repeating: 0, count: 20),
      .malformed("a WebP without a picture", offset: 12)
    ),
  ]

  @Test("each attack is refused with its reason", arguments: attacks.indices)
  func refused(_ i: Int) {
    let (name, bytes, error) = Self.attacks[i]
    #expect(throws: error, "\(name)") { try header(bytes) }
  }

  @Test("a picture whose sides have more than 31 bits is refused, even without a limit")
  func pixels() {
    let file = HEIFFile { ($0.width, $0.height) = (0xFFFF_FFFF, 0xFFFF_FFFF) }
    #expect(throws: CodecError.limitExceeded("the longer side", limit: 0x7FFF_FFFF, found: 0xFFFF_FFFF)) {
      try MediaHeader.read(from: MemoryByteSource(file.bytes), limits: CodecLimits().headerOnly)
    }
  }

  @Test(
    "a header takes a few reads of a few kilobytes, however long the file is",
    arguments: ContainerSamples.all.map { $0.format })
  func reads(_ format: MediaFormat) throws {
    let sample = try #require(ContainerSamples.all.first { $0.format == format })
    // Many megabytes after it.
    let source = CountingSource(sample.bytes, size: 1 << 32)
    _ = try MediaHeader.read(from: source, limits: CodecLimits())
    #expect(source.reads <= 5, "\(source.reads) reads")
    #expect(source.bytesRead <= 96 << 10, "\(source.bytesRead) bytes")
  }
}
