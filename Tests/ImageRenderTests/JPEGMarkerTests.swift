import ImageCodec
import ImageRender
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

/// The rule: what libjpeg-turbo decodes is shown. libjpeg itself, called directly, is the reference.
@Suite("JPEG markers as libjpeg reads them")
struct JPEGMarkerTests {
  private static let scene = Scene(seed: 9).pixels(width: 24, height: 16)
  /// The restart interval adds a DRI: with it the header has a segment of every kind that a decoder needs.
  private static let plain = JPEGFile { $0.restartRows = 1 }.encoded(scene)
  private static let progressive = JPEGFile { $0.isProgressive = true }.encoded(scene)

  /// Where the markers of a valid file's header are, in order: APP0 is the first, SOS the last.
  private static func markers(_ file: [UInt8]) -> [Int] {
    var positions = [2]
    while let last = positions.last, file[last + 1] != 0xDA {
      positions.append(last + 2 + Int(file[last + 2]) << 8 + Int(file[last + 3]))
    }
    return positions
  }

  /// Where further tables and scans of a progressive file begin, after its first SOS.
  private static func laterMarkers(_ file: [UInt8]) -> [Int] {
    let scan = markers(file).last ?? 0
    return (scan + 2..<file.count - 1).filter { file[$0] == 0xFF && [0xC4, 0xDA].contains(file[$0 + 1]) }
  }

  private static func inserting(_ bytes: [UInt8], at position: Int, into file: [UInt8]) -> [UInt8] {
    Array(file[..<position]) + bytes + Array(file[position...])
  }

  private static func header(_ file: [UInt8], limits: CodecLimits = CodecLimits()) throws -> ImageHeader {
    try ImageHeader.read(from: MemoryByteSource(file), limits: limits)
  }

  /// The whole picture, by its pixels.
  private static func picture(_ file: [UInt8]) throws -> Pixels { try render(file, request(24, 16)).pixels }

  /// Expects the header to agree with libjpeg.
  private static func compare(_ header: ImageHeader, _ facts: JPEGFacts, _ comment: Comment? = nil) {
    #expect(header.storedSize == PixelSize(width: facts.width, height: facts.height), comment)
    #expect(header.colorChannels == facts.components && header.jpegComponents?.isYCbCr == facts.isYCbCr, comment)
    #expect(header.isProgressive == facts.isProgressive && header.isBuffered == facts.hasMultipleScans, comment)
  }

  // MARK: Shown

  static let skippable: [UInt8] = Array(0xE0...0xEF) + [0xFE, 0xDC]

  @Test(
    "an APPn, COM or DNL segment of length 0 or 1 changes nothing, at any position", arguments: skippable,
    [0, 1] as [UInt8])
  func shortSegment(_ marker: UInt8, _ length: UInt8) throws {
    for file in [Self.plain, Self.progressive] {
      let (header, picture) = (try Self.header(file), try Self.picture(file))
      let places = Self.markers(file)
      for position in places + Self.laterMarkers(file) {
        let odd = Self.inserting([0xFF, marker, 0, length], at: position, into: file)
        let (oddHeader, oddPicture) = (try Self.header(odd), try Self.picture(odd))
        #expect(JPEGFacts(odd) == JPEGFacts(file), "before byte \(position)")
        #expect(oddHeader == header && oddPicture == picture, "before byte \(position)")
      }
      // The entry point of the catalogue's scan.
      let odd = Self.inserting([0xFF, marker, 0, length], at: places[0], into: file)
      let media = try MediaHeader.read(from: MemoryByteSource(odd), limits: CodecLimits().headerOnly)
      #expect(media.format == .jpeg && media.storedSize == header.storedSize)
    }
  }

  static let skipped: [(name: String, bytes: [UInt8])] = [
    ("fill bytes", [0xFF, 0xFF, 0xFF]), ("zeros", [0, 0, 0]), ("text", Array("hello".utf8)),
    ("stuffed zeros", [0xFF, 0, 0xFF, 0xFF, 0]), ("restart markers", [0xFF, 0xD0, 0xFF, 0xD7]), ("TEM", [0xFF, 1]),
    ("100,000 fill bytes", [UInt8](repeating: 0xFF, count: 100_000)),
    ("100,000 zeros", [UInt8](repeating: 0, count: 100_000)),
    ("an empty comment", [0xFF, 0xFE, 0, 2]), ("a comment of one byte", [0xFF, 0xFE, 0, 3, 65]),
    ("a comment that is longer than its length says", [0xFF, 0xFE, 0, 4, 104, 101, 108, 108, 111]),
    ("a segment of length 0 and its content", [0xFF, 0xE5, 0, 0, 104, 101, 108, 108, 111]),
    ("a segment of length 1 and fill bytes", [0xFF, 0xE5, 0, 1, 0xFF]),
  ]

  @Test("stray bytes and markers between segments are skipped, from SOI to SOS", arguments: skipped.indices)
  func between(_ i: Int) throws {
    let (name, bytes) = Self.skipped[i]
    let (header, picture) = (try Self.header(Self.plain), try Self.picture(Self.plain))
    for position in Self.markers(Self.plain) {
      let odd = Self.inserting(bytes, at: position, into: Self.plain)
      #expect(JPEGFacts(odd) != nil, "\(name) before byte \(position)")
      let (oddHeader, oddPicture) = (try Self.header(odd), try Self.picture(odd))
      #expect(oddHeader == header && oddPicture == picture, "\(name) before byte \(position)")
    }
  }

  @Test("the bytes skipped between segments are limited in total")
  func skippedBytes() throws {
    let name = "the number of bytes between header segments"
    let header = try Self.header(Self.plain)
    for pair in [[0, 0], [0xFF, 0xFF], [0xFF, 0]] as [[UInt8]] {
      let bytes = (0..<300).flatMap { _ in pair }
      let places = Self.markers(Self.plain)
      let once = Self.inserting(bytes, at: places[1], into: Self.plain)
      let twice = Self.inserting(bytes, at: places[0], into: once)
      let limits = CodecLimits(headerSkippedBytes: 1199)
      #expect(try Self.header(once, limits: limits) == header)
      #expect(throws: CodecError.limitExceeded(name, limit: 1199, found: 1200)) {
        try Self.header(twice, limits: limits)
      }
    }
  }

  @Test("the colour model follows APP0 and APP14 of any length, as in libjpeg", arguments: UInt8(0)...20)
  func colors(_ length: UInt8) throws {
    // T.871 §10.1: version, units, density, no thumbnail. Adobe's: version, two flags, the transform to YCbCr.
    let jfif: [UInt8] = Array("JFIF".utf8) + [0, 1, 1, 0, 0, 1, 0, 1, 0, 0]
    let adobe: [UInt8] = Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 1]
    let file = JPEGFile { $0.color = .rgb }.encoded(Self.scene)
    for (marker, content, needed) in [(0xE0, jfif, 16), (0xEE, adobe, 14)] as [(UInt8, [UInt8], UInt8)] {
      let padded = content + [UInt8](repeating: 0, count: 20)
      let segment: [UInt8] = [0xFF, marker, 0, length] + Array(padded.prefix(max(0, Int(length) - 2)))
      // After the file's own segment, which says that the colours are RGB.
      let odd = Self.inserting(segment, at: try #require(Self.markers(file).last), into: file)
      let facts = try #require(JPEGFacts(odd))
      #expect(facts.isYCbCr == (length >= needed))
      Self.compare(try Self.header(odd), facts)
    }
  }

  // MARK: Metadata

  @Test(
    "a segment of length 0 or 1 holds no metadata; the other segments count", arguments: [0, 1] as [UInt8])
  func metadata(_ length: UInt8) throws {
    let packet = "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><tiff:Make>Maker</tiff:Make></x:xmpmeta>"
    let resource = Array("8BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, 6, 0x1C, 2, 105, 0, 1, 65]
    let file = JPEGFile {
      $0.exif = EXIFBlock {
        $0.orientation = 6
        $0.make = "Maker"
      }
      $0.segments = [.xmp(packet), JPEGSegment(marker: 0xED, content: Array("Photoshop 3.0\0".utf8) + resource)]
      $0.profile = ICCFile.displayP3
    }.encoded(Self.scene)
    let stale: [JPEGSegment] = [
      JPEGSegment(marker: 0xE1, content: EXIFBlock { $0.make = "Other" }.bytes), .xmp("<x:xmpmeta/>"),
      JPEGSegment(marker: 0xED, content: Array("Photoshop 3.0\0".utf8) + resource),
      .profilePart([1, 2, 3], 1, of: 2), JPEGSegment(marker: 0xE2, content: Array("MPF\0II*\0".utf8)),
      JPEGSegment(marker: 0xE2, content: Array("urn:iso:std:iso:ts:21496:-1\0".utf8)),
    ]
    let expected = try Found(file)
    #expect(expected.color.profile == ICCFile.displayP3 && expected.blocks.count == 3)
    #expect(expected.header.orientation == .rightTop)
    for segment in stale {
      let odd = Self.inserting([0xFF, segment.marker, 0, length] + segment.content, at: 2, into: file)
      #expect(JPEGFacts(odd) != nil)
      let found = try Found(odd)
      #expect(found.header.metadata == expected.header.metadata && found.facts == expected.facts)
      #expect(found.blocks == expected.blocks && found.color == expected.color && found.all == expected.all)
    }
  }

  /// The metadata of a file.
  private struct Found {
    let header: ImageHeader
    let facts: MediaFacts
    let color: SourceColor
    /// The bytes that the header's blocks point at.
    let blocks: [[UInt8]]
    let all: FileMetadata

    init(_ file: [UInt8]) throws {
      let source = MemoryByteSource(file)
      header = try JPEGMarkerTests.header(file)
      facts = try MediaHeader.read(from: source, limits: CodecLimits()).facts
      color = try SourceColor(header, in: source, limits: CodecLimits())
      blocks = header.blocks.map { Array(file[Int($0.range.offset)..<Int($0.range.offset) + $0.range.length]) }
      all = try FileMetadata.read(from: source, limits: CodecLimits(), includesLocations: true)
    }
  }

  // MARK: Refused

  @Test(
    "a frame, scan or table segment with a wrong length is refused, as by libjpeg",
    arguments: [0xC0, 0xC4, 0xDB, 0xDD, 0xDA] as [UInt8])
  func wrongLength(_ marker: UInt8) throws {
    let position = try #require(Self.markers(Self.plain).first { Self.plain[$0 + 1] == marker })
    let length = Int(Self.plain[position + 2]) << 8 + Int(Self.plain[position + 3])
    for wrong in [0, 1, 3, length - 1, length + 1] {
      var file = Self.plain
      file[position + 2] = UInt8(wrong >> 8)
      file[position + 3] = UInt8(wrong & 255)
      #expect(JPEGFacts(file) == nil, "\(wrong)")
      #expect(throws: CodecError.self, "\(wrong)") { try Self.picture(file) }
    }
  }

  @Test("a segment that the decoder needs can't have length 0 or 1", arguments: [0, 1] as [UInt8])
  func neededSegment(_ length: UInt8) throws {
    for marker in [0xC0, 0xC4, 0xDB, 0xDD, 0xDA, 0xCC] as [UInt8] {
      let place = try #require(Self.markers(Self.plain).last)
      let file = Self.inserting([0xFF, marker, 0, length], at: place, into: Self.plain)
      let offset = Int64(place + 2)
      #expect(JPEGFacts(file) == nil)
      #expect(throws: CodecError.malformed("a marker segment whose length is \(length)", offset: offset)) {
        try Self.header(file)
      }
    }
  }

  @Test(
    "a second SOI, an EOI before the scan and reserved markers are refused, as by libjpeg",
    arguments: [0xD8, 0xD9, 0x02, 0xBF, 0xC8, 0xF0, 0xFD, 0xDE, 0xDF] as [UInt8])
  func wrongMarker(_ marker: UInt8) throws {
    for position in Self.markers(Self.plain) {
      let file = Self.inserting([0xFF, marker, 0, 2], at: position, into: Self.plain)
      #expect(JPEGFacts(file) == nil, "before byte \(position)")
      #expect(throws: CodecError.self, "before byte \(position)") { try Self.picture(file) }
    }
  }

  @Test("a second frame header is refused, as by libjpeg")
  func secondFrame() throws {
    let places = Self.markers(Self.plain)
    let frame = try #require(places.firstIndex { Self.plain[$0 + 1] == 0xC0 })
    let segment = Array(Self.plain[places[frame]..<places[frame + 1]])
    let place = try #require(places.last)
    let file = Self.inserting(segment, at: place, into: Self.plain)
    #expect(JPEGFacts(file) == nil)
    #expect(throws: CodecError.malformed("a second frame header", offset: Int64(place + 4))) { try Self.header(file) }
  }

  // MARK: Changed headers

  static let kinds: [JPEGFile] = [
    JPEGFile { $0.restartRows = 1 }, JPEGFile { $0.isProgressive = true }, JPEGFile { $0.isArithmetic = true },
    JPEGFile { $0.hasMultipleScans = true }, JPEGFile { $0.color = .rgb }, JPEGFile { $0.color = .cmyk },
    JPEGFile { $0.leadingSegments = [JPEGSegment(marker: 0xE5, content: [0xFF, 0xE6, 0, 0, 0xFF, 0xD8, 0xFF, 0xD9])] },
  ]

  @Test("every file that libjpeg decodes is shown, with the size that libjpeg reports", arguments: kinds.indices)
  func mutations(_ kind: Int) throws {
    let file = Self.kinds[kind].encoded(Self.scene)
    var mutation = Mutation(seed: UInt64(kind))
    let maximumPixels = 4096
    let limits = CodecLimits(sourcePixels: maximumPixels)
    var shown = 0
    for i in 0..<300 {
      let changed = mutation.change(file)
      guard let facts = JPEGFacts(changed, maximumPixels: maximumPixels) else { continue }
      shown += 1
      do {
        Self.compare(try Self.header(changed, limits: limits), facts, "change \(i)")
        _ = try render(changed, request(24, 16), limits: limits)
      } catch {
        Issue.record(error, "change \(i): \(changed.prefix(700))")
      }
    }
    #expect(shown > 30, "too few of the changed files are decoded by libjpeg")
  }
}

/// Changes of a JPEG's header, the same in every run.
private struct Mutation {
  private var random: SplitMix

  /// Bytes with a meaning in a header.
  private static let values: [UInt8] = [
    0, 1, 2, 3, 4, 16, 17, 0xC0, 0xC2, 0xC4, 0xC8, 0xCC, 0xD0, 0xD8, 0xD9, 0xDA, 0xDB, 0xDC, 0xDD, 0xDE, 0xE0, 0xE1,
    0xEE, 0xF0, 0xFE, 0xFF,
  ]

  init(seed: UInt64) { random = SplitMix(state: seed) }

  private mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

  private mutating func byte() -> UInt8 {
    below(3) == 0 ? UInt8(below(256)) : Self.values[below(Self.values.count)]
  }

  /// One to three changes, near a marker as a rule.
  mutating func change(_ file: [UInt8]) -> [UInt8] {
    var file = file
    for _ in 0...below(3) {
      var position = below(min(file.count, 700))
      if below(3) > 0, let marker = file[position...].firstIndex(of: 0xFF) {
        position = min(marker + below(5), file.count - 1)
      }
      switch below(4) {
      case 0: file[position] = byte()
      case 1:
        for _ in 0...below(5) { file.insert(byte(), at: position) }
      case 2: file.removeSubrange(position..<min(position + 1 + below(6), file.count - 1))
      default:
        let marker = below(2) == 0 ? UInt8(0xE0 + below(16)) : byte()
        file.insert(contentsOf: [0xFF, marker, 0, UInt8(below(4))], at: position)
      }
    }
    return file
  }
}
