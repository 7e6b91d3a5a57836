import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Removing places from segments and entries of single programs")
struct EmbeddedLocationTests {
  private static let thumbnail = JPEGFile { $0.exif = LocationRemovalTests.exif }
    .encoded(Scene(seed: 3).pixels(width: 8, height: 8))
  private static let settings = Array("[picture info]\r\nGPSLatitude=48.2\r\n".utf8)
  private static let text = Array("[picture info]\r\nShutter=12\r\n".utf8)
  private static let ducky = Array("Ducky\0\u{1}\0\u{4}\0\0\0\u{3C}".utf8)

  @Test("a thumbnail in JFIF's extension loses its places")
  func jfifThumbnail() throws {
    func file(_ thumbnail: [UInt8]) -> [UInt8] {
      let segment = JPEGSegment(marker: 0xE0, content: Array("JFXX\0\u{10}".utf8) + thumbnail)
      return JPEGFile { $0.segments = [segment] }.encoded(LocationRemovalTests.pixels)
    }
    let clean = try LocationRemovalTests.blanked(Self.thumbnail)
    #expect(clean != Self.thumbnail)
    #expect(try LocationRemovalTests.blanked(file(Self.thumbnail)) == file(clean))
    #expect(try LocationRemovalTests.blanked(file(clean)) == file(clean))
  }

  @Test("a camera's settings become zeros if they name a place")
  func cameraSettings() throws {
    func file(_ content: [UInt8]) -> [UInt8] {
      JPEGFile { $0.segments = [JPEGSegment(marker: 0xEC, content: content)] }.encoded(LocationRemovalTests.pixels)
    }
    #expect(try LocationRemovalTests.blanked(file(Self.settings)) == file(Self.settings.map { _ in 0 }))
    #expect(try LocationRemovalTests.blanked(file(Self.text)) == file(Self.text))
    #expect(try LocationRemovalTests.blanked(file(Self.ducky)) == file(Self.ducky))
  }

  /// Entries of a TIFF that state a place.
  static let entries: [(name: String, tag: Int, value: TIFFPicture.Value)] = [
    ("a signed manifest", 0xCD41, .undefined(Array("jumb{\"exif:City\": \"Wien\"}".utf8))),
    ("GDAL's metadata", 0xA480, .ascii("<GDALMetadata><Item name=\"Latitude\">Wien</Item></GDALMetadata>")),
    ("rational polynomials", 0xC69C, .bytes(Array("Wien and other numbers".utf8))),
  ]

  @Test("an entry of a TIFF that states a place becomes zeros", arguments: entries.map(\.name), [false, true])
  func entry(_ name: String, isBigEndian: Bool) throws {
    let sample = try #require(Self.entries.first { $0.name == name })
    let file = TIFFPicture {
      $0.isBigEndian = isBigEndian
      $0.chain = [
        TIFFPicture.Directory([
          (0x0100, .long([64])), (0x0101, .long([48])), (0x010E, .ascii("A description")), (sample.tag, sample.value),
        ])
      ]
    }.bytes
    let edited = try LocationRemovalTests.blanked(file)
    #expect(Self.occurs("Wien", in: file) && !Self.occurs("Wien", in: edited))
    #expect(Self.occurs("A description", in: edited))
  }

  @Test("a signed manifest of a TIFF without a place stays")
  func manifest() throws {
    let entry: (Int, TIFFPicture.Value) = (0xCD41, .undefined(Array("jumb{\"title\": \"Salem\"}".utf8)))
    let file = TIFFPicture { $0.chain = [TIFFPicture.Directory([(0x0100, .long([64])), entry])] }.bytes
    #expect(try LocationRemovalTests.blanked(file) == file)
  }

  private static func occurs(_ text: String, in bytes: [UInt8]) -> Bool {
    let wanted = Array(text.utf8)
    return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
  }
}
