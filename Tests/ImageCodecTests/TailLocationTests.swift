import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Removing places after the end of a picture")
struct TailLocationTests {
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
  private static let pixels = Scene(seed: 7).pixels(width: 48, height: 32)
  private static let plain = JPEGFile().encoded(pixels)
  private static let other = JPEGFile { $0.segments = [.xmp(secretPacket)] }.encoded(pixels)
  private static let movie = MovieFile { $0.userData = [("©xyz", secret), ("©nam", kept)] }.bytes

  private static func little(_ value: Int, _ bytes: Int) -> [UInt8] { Boxes.number(value, bytes).reversed() }

  /// A picture whose XMP packet states the length of what follows it.
  private static func container(_ length: Int, _ attribute: String = "Item:Length") -> [UInt8] {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
      <rdf:Description rdf:about="" xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" \
      xmlns:Item="http://ns.google.com/photos/1.0/container/item/" \(attribute)="\(length)"/></rdf:RDF></x:xmpmeta>
      """
    return JPEGFile { $0.segments = [.xmp(packet)] }.encoded(pixels)
  }

  /// Samsung's trailer: blocks with their names, a directory, its length.
  static func samsung(_ blocks: [(name: String, data: [UInt8])]) -> [UInt8] {
    var data: [UInt8] = []
    var starts: [(offset: Int, length: Int)] = []
    for (i, block) in blocks.enumerated() {
      let content =
        [0, 0] + little(0x0A00 + i, 2) + little(block.name.utf8.count, 4) + Array(block.name.utf8) + block.data
      starts.append((data.count, content.count))
      data += content
    }
    var directory = Array("SEFH".utf8) + little(106, 4) + little(blocks.count, 4)
    for (i, start) in starts.enumerated() {
      directory += [0, 0] + little(0x0A00 + i, 2) + little(data.count - start.offset, 4) + little(start.length, 4)
    }
    return data + directory + little(directory.count, 4) + Array("SEFT".utf8)
  }

  /// A motion photo of Samsung's: XMP counts from the movie in the last block to the end of the file.
  private static func samsungMotionPhoto(_ attribute: String) -> [UInt8] {
    let trailer = samsung([("Image_UTC_Data", bytes(kept)), ("MCC_Data", bytes(secret)), ("MotionPhoto_Data", movie)])
    // The directory of three blocks, its length, the signature.
    return container(movie.count + 12 + 3 * 12 + 8, attribute) + trailer
  }

  static let files: [(name: String, bytes: [UInt8], kept: Int)] = [
    ("a movie", plain + movie, 1),
    ("a picture", plain + other, 1),
    ("two pictures", plain + other + other, 2),
    ("twenty pictures", plain + (0..<20).flatMap { _ in other }, 20),
    ("a picture after one without an end", plain.dropLast(2) + other, 1),
    ("a picture, then padding", plain + other + [UInt8](repeating: 0, count: 16), 1),
    ("a movie after padding", plain + [UInt8](repeating: 0, count: 16) + movie, 1),
    ("a movie that XMP names", container(movie.count, "GCamera:MicroVideoOffset") + movie, 1),
    ("a movie in Google's container", container(movie.count) + movie, 1),
    ("a picture in Google's container", container(other.count) + other, 1),
    ("a picture, then a movie", plain + other + movie, 2),
    ("a picture, then a movie that XMP names", container(movie.count) + other + movie, 2),
    (
      "Samsung's trailer",
      plain
        + samsung([
          ("Image_UTC_Data", bytes(kept)), ("MCC_Data", bytes(secret)), ("MotionPhoto_Data", movie),
          ("New_Data", bytes(secret)),
        ]), 2
    ),
    ("Samsung's trailer after a movie", plain + movie + samsung([("Image_UTC_Data", bytes(kept))]), 2),
    ("Samsung's trailer with a movie that XMP names", samsungMotionPhoto("GCamera:MicroVideoOffset"), 2),
    ("Samsung's trailer with a movie in Google's container", samsungMotionPhoto("Item:Length"), 2),
    ("data without metadata", plain + bytes("a note: \(kept)"), 1),
    (
      "an indexed picture, then a movie",
      MultiPictureFile(previews: [(type: 0x01_0001, bytes: plain)]).encoded(plain) + movie, 1
    ),
  ]

  @Test("places disappear, and everything else stays", arguments: files.map(\.name))
  func places(_ name: String) throws {
    let file = try #require(Self.files.first { $0.name == name })
    let edited = try withoutPlaces(file.bytes)
    #expect(count(of: secret, in: edited) == 0)
    #expect(count(of: kept, in: edited) == file.kept && count(of: kept, in: file.bytes) == file.kept)
    // The picture itself.
    #expect(edited.prefix(20) == file.bytes.prefix(20))
  }

  static let refusals: [(name: String, bytes: [UInt8], error: LocationRemovalError)] = [
    ("EXIF of no known place", plain + bytes("xxxxExif\0\0II"), .unsupported("the metadata after the end of a file")),
    (
      "a trailer whose directory is too long", plain + bytes("SEFH") + little(9999, 4) + bytes("SEFT"),
      .malformed("a trailer longer than what it is in", offset: Int64(plain.count))
    ),
  ]

  @Test("metadata in a structure that is not known is refused", arguments: refusals.map(\.name))
  func refused(_ name: String) throws {
    let (_, bytes, error) = try #require(Self.refusals.first { $0.name == name })
    #expect(throws: error, "\(name)") { try LocationRemoval.overlay(of: MemoryByteSource(bytes)) }
  }

  @Test("trailers in trailers are refused at the limit")
  func nested() {
    var tail: [UInt8] = []
    for _ in 0..<12 { tail += Self.samsung([("Image_UTC_Data", Self.bytes(kept))]) }
    #expect(throws: LocationRemovalError.self) { try LocationRemoval.overlay(of: MemoryByteSource(Self.plain + tail)) }
  }

  @Test("the scans of a large picture are read only if it may not be the end of the file")
  func reads() throws {
    let scan = [UInt8](repeating: 0x11, count: 8 << 20)
    // The scan of the picture is longer now; nothing decodes it.
    let picture = Array(Self.plain.dropLast(2)) + scan + [0xFF, 0xD9]
    for (name, file, isRead) in [
      ("a plain picture", picture, false),
      ("a picture and a movie", picture + Self.movie, true),
      ("a picture and another picture", picture + Self.other, true),
    ] {
      let source = CountingSource(file)
      _ = try LocationRemoval.overlay(of: source)
      // The last 4 MiB are searched.
      #expect((source.bytesRead > 6 << 20) == isRead, "\(name): \(source.bytesRead) bytes")
    }
  }
}
