import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Removing places from PNGs")
struct PNGLocationTests {
  private static func chunks(_ file: [UInt8]) -> [(type: String, content: [UInt8])] {
    var chunks: [(String, [UInt8])] = []
    var position = 8
    while position + 12 <= file.count {
      let length = file[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
      chunks.append(
        (
          String(decoding: file[position + 4..<position + 8], as: UTF8.self),
          Array(file[position + 8..<position + 8 + length])
        ))
      position += 12 + length
    }
    return chunks
  }

  private static func profile(_ name: String, _ block: [UInt8]) -> [UInt8] {
    let digits = block.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    return Array("Raw profile type \(name)\0\n\(name)\n      \(block.count)\n\(digits)\n".utf8)
  }

  private static let eXIf = Array(LocationRemovalTests.exif.bytes.dropFirst(6))
  private static let xmp = Array(LocationRemovalTests.packet("xmp:Rating=\"3\" photoshop:City=\"Wien\"").utf8)

  private static let compressedEXIF: [UInt8] = {
    let length = PNGChunks.bigEndian(UInt32(eXIf.count))
    return [0] + length + PNGChunks.stored(eXIf)
  }()
  private static let manifest = Array("jumb{\"exif:City\": \"Wien\"}".utf8)
  private static let gainMap = JPEGFile { $0.exif = LocationRemovalTests.exif }
    .encoded(Scene(seed: 3).pixels(width: 8, height: 8))

  /// Chunks with a place, and what becomes of them; `nil` is the private chunk with zeros.
  static let chunks: [(name: String, type: String, content: [UInt8], keeps: String?)] = [
    ("EXIF", "eXIf", eXIf, "Maker"),
    ("XMP", "iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + xmp, "xmp:Rating=\"3\""),
    ("compressed XMP", "iTXt", Array("XML:com.adobe.xmp\0".utf8) + [1, 0, 0, 0] + PNGChunks.stored(xmp), nil),
    ("EXIF as text", "tEXt", profile("exif", Array("Exif\0\0".utf8) + eXIf), "4d616b6572"),
    ("XMP as text", "tEXt", profile("xmp", xmp), "786d703a526174696e67"),
    (
      "IPTC as text", "tEXt",
      profile("iptc", LocationRemovalTests.dataset(5, "Title") + LocationRemovalTests.dataset(90, "Wien")), "5469746c65"
    ),
    (
      "compressed EXIF as text", "zTXt",
      Array("Raw profile type exif\0\0".utf8) + PNGChunks.stored(Array(profile("exif", eXIf).dropFirst(22))), nil
    ),
    ("a coordinate's keyword", "tEXt", Array("exif:GPSLatitude\0Wien".utf8), "exif:GPSLatitude"),
    ("a place's keyword", "iTXt", Array("Location\0\0\0de\0Ort\0Wien".utf8), "Location"),
    ("a compressed place", "zTXt", Array("geo:lat\0\0".utf8) + PNGChunks.stored(Array("Wien".utf8)), nil),
    ("compressed EXIF", "zxIf", compressedEXIF, nil),
    ("XMP in a private chunk", "prVt", xmp, nil),
    ("a signed manifest", "caBX", manifest, nil),
    ("a gain map", "gdAT", gainMap, "Maker"),
    ("a gain map of no known format", "gdAT", Array("Wien".utf8), nil),
    ("the private chunk itself", "plZz", xmp, nil),
  ]

  @Test("a PNG's chunks lose their places, before and after the pixels", arguments: chunks.map(\.name), [false, true])
  func png(_ name: String, isAfterPixels: Bool) throws {
    let sample = try #require(Self.chunks.first { $0.name == name })
    let plain = PNGFile(.rgb(depth: 8)).encoded(LocationRemovalTests.pixels)
    let comment = PNGChunks.chunk("tEXt", Array("Comment\0Wien is free text".utf8))
    let chunk = comment + PNGChunks.chunk(sample.type, sample.content)
    let split = isAfterPixels ? plain.count - 12 : 33
    let file = plain.prefix(split) + chunk + plain[split...]
    let edited = try LocationRemovalTests.blanked(Array(file))
    #expect(PNGChunks.withRightChecksums(edited) == edited)
    let (old, new) = (Self.chunks(Array(file)), Self.chunks(edited))
    let position = try #require(old.firstIndex { $0.type == sample.type && $0.content == sample.content })
    for (i, chunk) in new.enumerated() where i != position {
      #expect(chunk.type == old[i].type && chunk.content == old[i].content)
    }
    let result = new[position]
    #expect(result.content != sample.content && result.content.count == sample.content.count)
    if let kept = sample.keeps {
      #expect(result.type == sample.type && Self.occurs(kept, in: result.content))
      #expect(!Self.occurs("Wien", in: result.content) && !Self.occurs("5769656e", in: result.content))
    } else {
      #expect(result.type == "plZz" && result.content.allSatisfy { $0 == 0 })
    }
    #expect(try LocationRemovalTests.metadata(edited).sections["GPS"] == nil)
  }

  private static func occurs(_ text: String, in bytes: [UInt8]) -> Bool {
    let wanted = Array(text.utf8)
    return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
  }

  @Test("chunks of unknown kinds become zeros that take no memory, also if they are longer than all patches may be")
  func longChunks() throws {
    let length = ByteOverlay.maximumBytes / 2 + 1
    let plain = PNGFile(.rgb(depth: 8)).encoded(LocationRemovalTests.pixels)
    let chunk = PNGChunks.chunk("prVt", [UInt8](repeating: 0x57, count: length))
    let file = Array(plain.prefix(33)) + (chunk + chunk) + plain[33...]
    let overlay = try LocationRemoval.overlay(of: MemoryByteSource(file))
    #expect(overlay.byteCount >= 2 * length && overlay.storedBytes < 100)
    var edited = file
    overlay.apply(to: &edited)
    #expect(PNGChunks.withRightChecksums(edited) == edited)
    let removed = PNGChunks.chunk("plZz", [UInt8](repeating: 0, count: length))
    let expected = Array(plain.prefix(33)) + (removed + removed) + plain[33...]
    #expect(edited == expected)
  }

  @Test("a PNG without places, and text that is not about places, stay as they are")
  func plainPNG() throws {
    let plain = PNGFile(.rgb(depth: 8)).encoded(LocationRemovalTests.pixels)
    let text =
      PNGChunks.chunk("zTXt", Array("Comment\0\0".utf8) + PNGChunks.stored(Array("Wien".utf8)))
      + PNGChunks.chunk("tEXt", Self.profile("icc", [1, 2, 3]))
      + PNGChunks.chunk("iTXt", Array("Title\0\0\0\0\0W".utf8))
      + PNGChunks.chunk("caBX", Array("jumb{\"title\": \"Salem\"}".utf8))
      + PNGChunks.chunk("iDOT", [UInt8](repeating: 1, count: 28)) + PNGChunks.chunk("plZz", [0, 0, 0])
    let drafts = PNGChunks.chunk("mDCv", [UInt8](repeating: 1, count: 24)) + PNGChunks.chunk("cLLi", [0, 0, 0, 1])
    var file = Array(plain.prefix(33))
    file += text
    file += drafts
    file += plain[33...]
    #expect(try LocationRemovalTests.blanked(file) == file)
  }
}
