import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

/// The position of the video in a motion photo.
@Suite("Videos in motion photos")
struct MotionVideoTests {
  private static let pixels = Scene(seed: 3).pixels(width: 48, height: 32)
  private static let movie = MovieFile().bytes
  private static let gainMap = JPEGFile().encoded(Scene(seed: 4).pixels(width: 16, height: 16))
  private static let start = """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
    <rdf:Description rdf:about="" xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" \
    xmlns:Container="http://ns.google.com/photos/1.0/container/" \
    xmlns:Item="http://ns.google.com/photos/1.0/container/item/"
    """
  private static let end = "</rdf:RDF></x:xmpmeta>"

  private static func samsung(_ blocks: [(name: String, data: [UInt8])]) -> [UInt8] {
    TailLocationTests.samsung(blocks)
  }

  private static func jpeg(_ packet: String, make: String? = nil) -> [UInt8] {
    JPEGFile {
      if let make { $0.exif = EXIFBlock { $0.make = make } }
      if !packet.isEmpty { $0.segments = [.xmp(packet)] }
    }.encoded(pixels)
  }

  /// A packet with the directory of a container, as attributes or as elements.
  private static func directory(
    _ items: [(semantic: String, length: Int, padding: Int)], asElements: Bool = false
  ) -> String {
    let list = items.map { item in
      asElements
        ? """
        <rdf:li rdf:parseType="Resource"><Container:Item rdf:parseType="Resource"><Item:Length>\(item.length)\
        </Item:Length><Item:Padding>\(item.padding)</Item:Padding><Item:Semantic>\(item.semantic)</Item:Semantic>\
        </Container:Item></rdf:li>
        """
        : """
        <rdf:li rdf:parseType="Resource"><Container:Item Item:Mime="x/y" Item:Semantic="\(item.semantic)" \
        Item:Length="\(item.length)" Item:Padding="\(item.padding)"/></rdf:li>
        """
    }.joined()
    return "\(start) GCamera:MotionPhoto=\"1\"><Container:Directory><rdf:Seq>\(list)</rdf:Seq></Container:Directory>"
      + "</rdf:Description>\(end)"
  }

  private static func microVideo(_ offset: String) -> String {
    "\(start) GCamera:MicroVideo=\"1\" GCamera:MicroVideoOffset=\"\(offset)\"/>\(end)"
  }

  private static func heif(_ packet: String, _ rest: [UInt8]) -> [UInt8] {
    HEIFFile { $0.xmp = packet }.bytes + rest
  }

  private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    Boxes.number(content.count + 8, 4) + Array(type.utf8) + content
  }

  /// The files, with the bytes after their video; `nil`: they have none.
  static let files: [(name: String, bytes: [UInt8], rest: Int?)] = {
    let length = movie.count
    let video = ("MotionPhoto", length, 0)
    return [
      ("a directory", jpeg(directory([("Primary", 0, 0), video])) + movie, 0),
      ("a directory as elements", jpeg(directory([("Primary", 0, 0), video], asElements: true)) + movie, 0),
      (
        "a gain map before the video",
        jpeg(directory([("Primary", 0, 0), ("GainMap", gainMap.count, 0), video])) + gainMap + movie, 0
      ),
      (
        "a gain map after the video",
        jpeg(directory([("Primary", 0, 0), video, ("GainMap", gainMap.count, 4)])) + movie + gainMap + [0, 0, 0, 0],
        gainMap.count + 4
      ),
      ("the offset of a micro video", jpeg(microVideo("\(length)")) + movie, 0),
      ("Samsung's trailer", jpeg("", make: "samsung") + samsung([("A", [1]), ("MotionPhoto_Data", movie)]), -1),
      (
        "Samsung's trailer and a directory of another length",
        jpeg(directory([("Primary", 0, 0), ("MotionPhoto", length + 5, 0)]), make: "SAMSUNG")
          + samsung([("MotionPhoto_Data", movie), ("B", [2, 3])]), -1
      ),
      (
        "Samsung's trailer and an offset of its video from the end of the file",
        jpeg(microVideo("\(length + 32)"), make: "samsung") + samsung([("MotionPhoto_Data", movie)]), 32
      ),
      (
        "Samsung's trailer and such an offset, without a maker",
        jpeg(microVideo("\(length + 44)")) + samsung([("A", [1]), ("MotionPhoto_Data", movie)]), 44
      ),
      ("a HEIF with a directory", heif(directory([("Primary", 0, 8), video]), box("mpvd", movie)), 0),
      (
        "a HEIF with the box only",
        heif("\(start) GCamera:MotionPhoto=\"1\"/>\(end)", box("mpvd", movie) + box("free", [9])), 9
      ),
      ("no video", jpeg(""), nil), ("a video that no metadata names", jpeg("") + movie, nil),
      ("a directory without its video", jpeg(directory([("Primary", 0, 0), video])), nil),
      ("a length beyond the start", jpeg(directory([("MotionPhoto", 99_999_999, 0)])) + movie, nil),
      ("a length that overflows", jpeg(directory([("MotionPhoto", .max, 0), ("GainMap", .max, .max)])) + movie, nil),
      ("a negative length", jpeg(directory([("MotionPhoto", -length, 0)])) + movie, nil),
      ("an offset that is no number", jpeg(microVideo("x")) + movie, nil),
      ("an offset into the video", jpeg(microVideo("\(length - 1)")) + movie, nil),
      ("Samsung's trailer of another maker", jpeg("", make: "Other") + samsung([("MotionPhoto_Data", movie)]), nil),
      ("Samsung's trailer without a video", jpeg("", make: "samsung") + samsung([("MotionPhoto_Data", [1, 2])]), nil),
      ("a trailer that is all signature", jpeg("", make: "samsung") + Array("SEFT".utf8), nil),
      ("a movie", movie, nil),
    ]
  }()

  private static func range(_ bytes: [UInt8]) throws(CodecError) -> ByteRange? {
    let source = MemoryByteSource(bytes)
    return try MotionVideo.range(in: source, MediaHeader.read(from: source, limits: CodecLimits()))
  }

  @Test(
    "the video is found where the metadata says that it is, and only if it begins like one",
    arguments: files.map(\.name))
  func position(_ name: String) throws {
    let file = try #require(Self.files.first { $0.name == name })
    let range = try Self.range(file.bytes)
    #expect((range != nil) == (file.rest != nil))
    guard let range, let rest = file.rest else { return }
    let isMovie = Array(file.bytes[Int(range.offset)..<Int(range.offset) + range.length]) == Self.movie
    #expect(isMovie)
    if rest >= 0 { #expect(Int(range.offset) + range.length + rest == file.bytes.count) }
  }

  @Test("a file that is cut anywhere has no video, or one inside of the file")
  func cut() throws {
    for file in Self.files where file.rest != nil {
      for count in stride(from: 600, to: file.bytes.count, by: 37) {
        let part = Array(file.bytes.prefix(count))
        do throws(CodecError) {
          if let range = try Self.range(part) {
            #expect(range.offset + Int64(range.length) <= Int64(count), "\(file.name)")
          }
        } catch {
          // The picture itself is cut.
          continue
        }
      }
    }
  }
}
