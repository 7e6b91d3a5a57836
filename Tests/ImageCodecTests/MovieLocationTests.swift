import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

/// A text that every place of these tests contains, and one that has to stay.
let secret = "SECRET"
let kept = "KEPT"

/// The file without places. The length stays, and a second removal changes nothing.
func withoutPlaces(_ file: [UInt8]) throws -> [UInt8] {
  let overlay = try LocationRemoval.overlay(of: MemoryByteSource(file))
  var bytes = file
  overlay.apply(to: &bytes)
  var again = bytes
  try LocationRemoval.overlay(of: MemoryByteSource(bytes)).apply(to: &again)
  #expect(bytes.count == file.count && again == bytes)
  return bytes
}

func count(of text: String, in bytes: [UInt8]) -> Int {
  let text = Array(text.utf8)
  return bytes.indices.count { bytes[$0...].starts(with: text) }
}

/// An XMP packet with a place and with something else.
let secretPacket = """
  <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
  <rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" \
  xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" photoshop:City="SECRET" photoshop:Headline="KEPT" \
  xmp:Rating="3"/></rdf:RDF></x:xmpmeta>
  """

@Suite("Removing places from movies")
struct MovieLocationTests {
  private static let movieHead = Boxes.fullBox("mvhd", [UInt8](repeating: 0, count: 96))
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
  private static func userText(_ text: String) -> [UInt8] {
    Boxes.number(text.utf8.count, 2) + Boxes.number(0x15C7, 2) + bytes(text)
  }
  private static func value(_ text: String) -> [UInt8] {
    Boxes.box("data", Boxes.number(1, 4), Boxes.number(0, 4), bytes(text))
  }
  private static func handler(_ type: String) -> [UInt8] {
    Boxes.fullBox("hdlr", Boxes.number(0, 4), Boxes.fourCC(type), [UInt8](repeating: 0, count: 13))
  }
  private static func movie(_ content: [UInt8]...) -> [UInt8] {
    Boxes.fileType("qt  ") + Boxes.box("moov", movieHead, Array(content.joined())) + Boxes.box("mdat", bytes(kept))
  }
  private static func userData(_ boxes: [UInt8]...) -> [UInt8] {
    movie(Boxes.box("udta", Array(boxes.joined()) + [0, 0, 0, 0]))
  }
  /// QuickTime's metadata with one key.
  private static func keyed(_ key: String, _ text: String) -> [UInt8] {
    Boxes.box(
      "meta", handler("mdta"),
      Boxes.fullBox("keys", Boxes.number(1, 4), Boxes.number(key.utf8.count + 8, 4), Boxes.fourCC("mdta"), bytes(key)),
      Boxes.box("ilst", Boxes.number(value(text).count + 8, 4), Boxes.number(1, 4), value(text)))
  }
  /// GoPro's key, type, size of one element, number of elements, and padded content.
  private static func telemetry(_ key: String, _ content: [UInt8], isList: Bool = false) -> [UInt8] {
    bytes(key) + [isList ? 0 : UInt8(ascii: "c"), 1] + Boxes.number(content.count, 2) + content
      + [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
  }
  private static let goPro = telemetry(
    "DEVC",
    telemetry("DVNM", bytes(kept)) + telemetry("STRM", telemetry("GPS5", bytes(secret)), isList: true)
      + telemetry("STRM", telemetry("GPS9", bytes(secret + secret)), isList: true), isList: true)

  /// Files with places, and how often they contain what has to stay, besides the sample data.
  static let files: [(name: String, bytes: [UInt8], kept: Int)] = [
    ("QuickTime's coordinates", userData(Boxes.box("©xyz", userText(secret)), Boxes.box("©nam", userText(kept))), 1),
    ("3GPP's location", userData(Boxes.fullBox("loci", bytes(secret)), Boxes.fullBox("titl", bytes(kept))), 1),
    ("user data of an unknown kind", userData(Boxes.box("WHAT", bytes(secret)), Boxes.box("manu", bytes(kept))), 1),
    ("a drone's heading", userData(Boxes.box("©fyw", userText(secret)), Boxes.box("©mod", userText(kept))), 1),
    ("user data that is no list of boxes", userData(bytes("plain text " + secret)), 0),
    ("XMP in user data", userData(Boxes.box("XMP_", bytes(secretPacket))), 1),
    ("XMP in a box of its own", movie() + Boxes.userBox(Boxes.xmpType, bytes(secretPacket)), 1),
    ("a box with another type of 16 bytes", movie(Boxes.userBox([UInt8](1...16), bytes(secret))), 0),
    ("a key for coordinates", movie(keyed("com.apple.quicktime.location.ISO6709", secret)), 0),
    ("a key for the name of a place", movie(keyed("com.apple.quicktime.location.name", secret)), 0),
    ("a key for a direction", movie(keyed("com.apple.quicktime.direction.facing", secret)), 0),
    ("a key for the camera", movie(keyed("com.apple.quicktime.make", kept)), 1),
    ("a key in a track", movie(Boxes.box("trak", keyed("com.apple.quicktime.location.role", secret))), 0),
    (
      "iTunes' list",
      userData(
        Boxes.fullBox(
          "meta", handler("mdir"),
          Boxes.box(
            "ilst", Boxes.box("©xyz", value(secret)), Boxes.box("©too", value(kept)),
            Boxes.box("----", Boxes.fullBox("name", bytes("Latitude")), value(secret)),
            Boxes.box("----", Boxes.fullBox("name", bytes("Mood")), value(kept))))), 2
    ),
    (
      "XML with coordinates",
      movie(Boxes.fullBox("meta", handler("nrtm"), Boxes.fullBox("xml ", bytes("<a Latitude='\(secret)'/>")))),
      0
    ),
    (
      "XML without coordinates",
      movie(Boxes.fullBox("meta", handler("nrtm"), Boxes.fullBox("xml ", bytes("<a b='\(kept)'/>")))), 1
    ),
    ("free space in the movie", movie(Boxes.box("free", bytes(secret))), 0),
    ("free space in the file", movie() + Boxes.box("skip", bytes(secret)), 0),
    ("GoPro's telemetry in user data", userData(Boxes.box("GPMF", goPro)), 1),
    ("a box of an unknown kind in the file", movie() + Boxes.box("gps0", bytes(secret)), 0),
    (
      "user data of a fragment",
      movie() + Boxes.box("moof", Boxes.box("traf", Boxes.box("udta", Boxes.box("©xyz", userText(secret))))), 0
    ),
    ("a movie in a movie's file", movie() + Boxes.box("mpvd", userData(Boxes.box("©xyz", userText(secret)))), 1),
    ("a movie after a movie", movie() + userData(Boxes.box("©xyz", userText(secret))), 1),
    (
      "a camera's picture in user data",
      userData(
        Boxes.box(
          "CNTH",
          Boxes.box(
            "CNDA", JPEGFile { $0.segments = [.xmp(secretPacket)] }.encoded(Pixels(width: 8, height: 8, channels: 3))))
      ), 1
    ),
  ]

  @Test("places disappear, and everything else stays", arguments: files.map(\.name))
  func places(_ name: String) throws {
    let file = try #require(Self.files.first { $0.name == name })
    let edited = try withoutPlaces(file.bytes)
    #expect(count(of: secret, in: edited) == 0)
    // The sample data has it too.
    #expect(count(of: kept, in: edited) == file.kept + 1 && count(of: kept, in: file.bytes) == file.kept + 1)
  }

  @Test("a movie that names no place is not changed")
  func unchanged() throws {
    let file = MovieFile {
      $0.keys = [
        ("com.apple.quicktime.make", "Apple"), ("com.apple.quicktime.creationdate", "2019-08-13T14:05:06+0200"),
      ]
      $0.userData = [("©nam", "A title")]
      $0.xmp = packet(rating: 2)
    }.bytes
    #expect(try LocationRemoval.overlay(of: MemoryByteSource(file)).isEmpty)
  }

  @Test("the header of a movie stays, apart from its location", arguments: [false, true])
  func headerStays(_ isLong: Bool) throws {
    let file = MovieFile {
      ($0.isLong, $0.samplesFirst, $0.created) = (isLong, 1000, 3_600_000_000)
      $0.keys = [("com.apple.quicktime.location.ISO6709", "+48.2+016.3/"), ("com.apple.quicktime.make", "Apple")]
      $0.userData = [("©xyz", "+48.2+016.3/"), ("©mod", "Model")]
      $0.items = [("©xyz", "+48.2+016.3/")]
    }.bytes
    var expected = try ImageCodecTests.header(file)
    #expect(expected.exif.location == Location(latitude: 48.2, longitude: 16.3))
    expected.exif.location = nil
    #expect(try ImageCodecTests.header(withoutPlaces(file)) == expected)
  }

  // MARK: Timed metadata

  /// A movie with one track of samples.
  static func track(
    _ handlerType: String, _ entry: [UInt8], _ samples: [[UInt8]], isFragmented: Bool = false, compactBits: Int? = nil
  ) -> [UInt8] {
    let start = Boxes.fileType("qt  ")
    let sizes = samples.flatMap { Boxes.number($0.count, 4) }
    // Two samples in the first chunk, one in each other.
    let first = min(2, samples.count)
    var offsets: [Int] = [start.count + 8]
    var position = start.count + 8 + samples.prefix(first).joined().count
    for sample in samples.dropFirst(first) {
      offsets.append(position)
      position += sample.count
    }
    let table = Boxes.box(
      "stbl", Boxes.fullBox("stsd", Boxes.number(1, 4), entry),
      compactBits.map { Boxes.compactSizes(samples.map(\.count), bits: $0) }
        ?? Boxes.fullBox("stsz", Boxes.number(0, 4), Boxes.number(samples.count, 4), sizes),
      Boxes.fullBox("stsc", Boxes.number(2, 4), [1, first, 1, 2, 1, 1].flatMap { Boxes.number($0, 4) }),
      Boxes.fullBox("stco", Boxes.number(offsets.count, 4), offsets.flatMap { Boxes.number($0, 4) }))
    let movie = Boxes.box(
      "moov", movieHead, Boxes.box("trak", Boxes.box("mdia", handler(handlerType), Boxes.box("minf", table))))
    return start + Boxes.box("mdat", Array(samples.joined()) + bytes(kept)) + movie
      + (isFragmented ? Boxes.box("moof") : [])
  }

  private static func entry(_ type: String, _ content: [UInt8] = []) -> [UInt8] {
    Boxes.box(type, [0, 0, 0, 0, 0, 0, 0, 1], content)
  }
  private static func key(_ number: Int, _ name: String) -> [UInt8] {
    let content = Boxes.box("keyd", Boxes.fourCC("mdta"), bytes(name))
    return Boxes.number(content.count + 8, 4) + Boxes.number(number, 4) + content
  }
  private static func timed(_ number: Int, _ text: String) -> [UInt8] {
    Boxes.number(text.utf8.count + 8, 4) + Boxes.number(number, 4) + bytes(text)
  }
  private static func text(_ text: String) -> [UInt8] { Boxes.number(text.utf8.count, 2) + bytes(text) }
  /// Little-endian: two reserved bytes, a type.
  private static func motion(_ type: UInt8, _ text: String, _ length: Int) -> [UInt8] {
    [0, 0, type, 0] + bytes(text) + [UInt8](repeating: 1, count: length - text.utf8.count)
  }
  private static func sonyTag(_ tag: Int, _ text: String) -> [UInt8] {
    Boxes.number(tag, 2) + Boxes.number(text.utf8.count, 2) + bytes(text)
  }
  private static let appleKeys = Boxes.box(
    "keys", key(1, "com.apple.quicktime.location.ISO6709"), key(2, "com.apple.quicktime.video-orientation"))

  static let tracks: [(name: String, bytes: [UInt8], kept: Int)] = [
    ("GoPro's telemetry", track("meta", entry("gpmd"), [goPro, goPro, goPro, goPro]), 4),
    (
      "GoPro's telemetry with compact sizes",
      track("meta", entry("gpmd"), [goPro, goPro, goPro, goPro], compactBits: 16), 4
    ),
    (
      "subtitles with the most compact sizes",
      track("text", entry("text"), [text("GPS(\(secret))"), text(kept), text("GPS(\(secret))")], compactBits: 4), 1
    ),
    ("telemetry of another maker", track("meta", entry("gpmd"), [bytes("FMAS" + secret)]), 0),
    (
      "camera motion",
      track(
        "camm", entry("camm"),
        [
          motion(5, secret, 24) + motion(3, kept, 12), motion(6, secret, 56), motion(2, kept, 12),
          motion(77, secret, 12),
        ]), 2
    ),
    (
      "QuickTime's timed metadata",
      track("meta", entry("mebx", appleKeys), [timed(1, secret) + timed(2, kept), timed(2, kept), timed(1, secret)]), 2
    ),
    (
      "Sony's real-time metadata",
      track(
        "meta", entry("rtmd"),
        [[0, 4, 0, 0] + sonyTag(0x8000, kept) + [0x83, 0, 0, 99] + sonyTag(0x8502, secret) + sonyTag(0xE303, kept)]), 2
    ),
    (
      "a drone's subtitles",
      track("text", entry("text"), [text("GPS(\(secret))"), text(kept), text("latitude: \(secret)")]), 1
    ),
    ("3GPP's subtitles", track("sbtl", entry("tx3g"), [text(kept), text("HOME(\(secret))")]), 1),
    ("subtitles for browsers", track("text", entry("wvtt"), [Boxes.box("vttc", bytes("gps \(secret)"))]), 0),
    ("metadata of an unknown kind", track("meta", entry("what"), [bytes(secret), bytes(secret)]), 0),
    ("telemetry under the handler of pictures", track("vide", entry("gpmd"), [goPro]), 1),
    ("pictures", track("vide", entry("avc1", [UInt8](repeating: 0, count: 70)), [bytes(kept)]), 1),
    ("time codes", track("tmcd", entry("tmcd"), [bytes(kept)]), 1),
    (
      "texts of motion photos",
      track("meta", entry("mett", [0] + Boxes.text("application/microvideo-meta")), [bytes(kept)]), 1
    ),
    (
      "keys without places", track("meta", entry("mebx", Boxes.box("keys", key(2, "a.b.rate"))), [timed(2, kept)]), 1
    ),
  ]

  @Test("places in tracks of metadata disappear, and other samples stay", arguments: tracks.map(\.name))
  func timedMetadata(_ name: String) throws {
    let file = try #require(Self.tracks.first { $0.name == name })
    let edited = try withoutPlaces(file.bytes)
    #expect(count(of: secret, in: edited) == 0)
    #expect(count(of: kept, in: edited) == file.kept + 1 && count(of: kept, in: file.bytes) == file.kept + 1)
  }

  // MARK: Refused

  static let refusals: [(name: String, bytes: [UInt8], error: LocationRemovalError)] = [
    (
      "a compressed header", MovieFile { $0.isCompressed = true }.bytes,
      .unsupported("a movie whose header is compressed")
    ),
    (
      "a dash camera", movie(Boxes.box("gps ", bytes(secret))),
      .unsupported("a movie of a dash camera with positions among its samples")
    ),
    (
      "timed metadata in fragments", track("meta", entry("gpmd"), [goPro], isFragmented: true),
      .unsupported("timed metadata in a fragmented movie")
    ),
    (
      "a track of several kinds", track("meta", entry("gpmd") + entry("camm"), [goPro]),
      .unsupported("a track with several kinds of metadata")
    ),
    (
      "Insta360's records", movie() + bytes("    8db42d694ccc418790edff439fe026bf"),
      .unsupported("the metadata after the end of a file")
    ),
    (
      "a movie box beyond the end", Boxes.fileType("qt  ") + Boxes.number(4000, 4) + Boxes.fourCC("moov") + goPro,
      .malformed("a file without boxes", offset: 16)
    ),
    (
      "a box longer than what it is in", movie(Boxes.box("trak", Boxes.number(4000, 4) + Boxes.fourCC("mdia"))),
      .malformed("a box that is longer than what it is in", offset: 140)
    ),
    (
      "more boxes than any file has", movie() + Array((0..<40_000).map { _ in Boxes.box("free") }.joined()),
      .limitExceeded("the number of structures", limit: 32_768, found: 32_769)
    ),
    (
      "user data in user data in user data",
      movie((0..<12).reduce(Boxes.box("udta")) { inner, _ in Boxes.box("udta", inner) }),
      .limitExceeded("the depth of files inside of files", limit: 6, found: 7)
    ),
    (
      "four milliards of samples",
      movie(
        Boxes.box(
          "trak",
          Boxes.box(
            "mdia", handler("meta"),
            Boxes.box(
              "minf",
              Boxes.box(
                "stbl", Boxes.fullBox("stsd", Boxes.number(1, 4), entry("gpmd")),
                Boxes.fullBox("stsz", Boxes.number(1, 4), Boxes.number(0xFFFF_FFFF, 4)),
                Boxes.fullBox(
                  "stsc", Boxes.number(1, 4), Boxes.number(1, 4), Boxes.number(0xFFFF_FFFF, 4), Boxes.number(1, 4)),
                Boxes.fullBox("stco", Boxes.number(1, 4), Boxes.number(1 << 30, 4))))))),
      .limitExceeded("the number of structures", limit: 32_768, found: 32_769)
    ),
  ]

  @Test("a movie without a safe way is refused with its reason", arguments: refusals.map(\.name))
  func refused(_ name: String) throws {
    let (_, bytes, error) = try #require(Self.refusals.first { $0.name == name })
    #expect(throws: error, "\(name)") { try LocationRemoval.overlay(of: MemoryByteSource(bytes)) }
  }

  @Test("samples that become zeros take little memory, and too many of them are refused")
  func patchLimit() throws {
    var limits = LocationRemovalLimits()
    limits.patchBytes = 2000
    let long = Self.track("meta", Self.entry("what"), [[UInt8](repeating: 1, count: 5000)])
    #expect(try LocationRemoval.overlay(of: MemoryByteSource(long), limits: limits).byteCount >= 5000)
    let short = [[UInt8]](repeating: [UInt8](repeating: 1, count: 20), count: 300)
    let many = Self.track("meta", Self.entry("what"), short)
    #expect(
      throws: LocationRemovalError.limitExceeded("the number of bytes that are replaced", limit: 2000, found: 4016)
    ) {
      try LocationRemoval.overlay(of: MemoryByteSource(many), limits: limits)
    }
  }

  @Test("four gigabytes of samples before or after the movie box are not read", arguments: [false, true])
  func reads(_ samplesFirst: Bool) throws {
    let start = Boxes.fileType("qt  ")
    let box = Boxes.box("moov", Self.movieHead, Boxes.box("udta", Boxes.box("©xyz", Self.userText(secret))))
    let samples = Boxes.number(1, 4) + Boxes.fourCC("mdat") + Boxes.number(4 << 30, 8)
    let gap = 4 << 30 - 16
    let source =
      samplesFirst
      ? SparseSource([(0, start + samples), (Int64(start.count + 16 + gap), box)])
      : SparseSource([(0, start + box + samples), (Int64(start.count + box.count + 16 + gap), [])])
    let overlay = try LocationRemoval.overlay(of: source)
    #expect(overlay.byteCount >= secret.utf8.count)
    #expect(source.counter.reads <= 8 && source.counter.bytesRead <= 64 << 10)
  }
}

/// A file with parts at positions, and zeros between them.
final class SparseSource: ByteSource {
  private let parts: [(offset: Int64, bytes: [UInt8])]
  let size: Int64
  let counter: CountingSource

  init(_ parts: [(Int64, [UInt8])]) {
    self.parts = parts.map { (offset: $0.0, bytes: $0.1) }
    size = parts.map { $0.0 + Int64($0.1.count) }.max() ?? 0
    counter = CountingSource([], size: size)
  }

  var canReturnNotYet: Bool { false }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
    let read = counter.read(into: buffer, at: offset)
    guard case .bytes(let count) = read else { return read }
    for part in parts {
      for (i, byte) in part.bytes.enumerated() {
        let position = part.offset + Int64(i) - offset
        if position >= 0, position < Int64(count) { buffer[Int(position)] = byte }
      }
    }
    return read
  }
}
