import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("All metadata of a container")
struct ContainerMetadataTests {
  private func metadata(_ bytes: [UInt8], includesLocations: Bool = true) throws(CodecError) -> FileMetadata {
    try FileMetadata.read(from: MemoryByteSource(bytes), limits: CodecLimits(), includesLocations: includesLocations)
  }

  private static let gathered: [(format: MediaFormat, bytes: [UInt8])] = ContainerSamples.all.filter {
    [.tiff, .dng, .cr2, .nef, .arw, .cr3].contains($0.format)
  }

  @Test("an EXIF block in several pieces is assembled", arguments: gathered.map { $0.format })
  func pieces(_ format: MediaFormat) throws {
    let bytes = try #require(Self.gathered.first { $0.format == format }).bytes
    let read = try metadata(bytes)
    #expect(read.sections["TIFF"]?["Model"] == .text("Model 1"))
    // More than the catalogue needs. Sony's first directory has no picture.
    #expect(read.sections["TIFF"]?["ImageWidth"] != nil || format == .arw)
    #expect(read.sections["EXIF"]?["DateTimeOriginal"] == .text("2024:05:06 07:08:09"))
    #expect(read.sections["GPS"]?["Latitude"] == .number(33.5) || read.sections["GPS"]?["GPSLatitude"] == .number(33.5))
    #expect(read.sections["Image"]?["UniformTypeIdentifier"] == .text(format.uniformTypeIdentifier))
    #expect(try metadata(bytes, includesLocations: false).sections["GPS"] == nil)
  }

  @Test("a block that is too long to assemble is reported as incomplete")
  func leftOut() throws {
    let long = TIFFPicture.dng(.init { $0.makerNote = [UInt8](repeating: 7, count: 500) }) {
      $0.chain[0].entries.append((0x9999, .undefined([UInt8](repeating: 7, count: 20_000))))
    }
    #expect(
      try metadata(long.bytes).incomplete
        == ["EXIF: 2 values that are longer than 16384 bytes or are a maker note"])
  }

  @Test("values beyond the limit of a block are left out, and reported as incomplete")
  func many() throws {
    let many = TIFFPicture.tiff(.init()) { file in
      file.chain[0].entries += (0..<200).map { (0xC800 + $0, .undefined([UInt8](repeating: 7, count: 1000))) }
    }
    let read = try metadata(many.bytes)
    #expect(read.incomplete.count == 1 && read.incomplete[0].hasPrefix("EXIF: 1"))
    #expect(read.sections["TIFF"]?["Model"] == .text("Model 1"))
  }

  @Test("the metadata of a movie's container is read, with its location only if allowed")
  func movie() throws {
    let bytes = MovieFile {
      $0.keys = [
        ("com.apple.quicktime.creationdate", "2019-08-13T14:05:06-0330"), ("com.apple.quicktime.make", "Maker"),
        ("com.apple.quicktime.content.identifier", "5F9A"),
        ("com.apple.quicktime.location.ISO6709", "+48.25-016.5+100/"),
      ]
    }.bytes
    #expect(
      try metadata(bytes).sections["Movie"] == [
        "CreationDate": .text("2019-08-13T14:05:06-03:30"), "Make": .text("Maker"),
        "ContentIdentifier": .text("5F9A"), "Latitude": .number(48.25), "Longitude": .number(-16.5),
        "Altitude": .number(100), "Codec": .text("avc1"), "FramesPerSecond": .number(30),
      ])
    let movie = try #require(try metadata(bytes, includesLocations: false).sections["Movie"])
    #expect(movie.keys.sorted() == ["Codec", "ContentIdentifier", "CreationDate", "FramesPerSecond", "Make"])
  }

  @Test("the metadata blocks of a HEIC file are read at their offsets")
  func heic() throws {
    let read = try metadata(
      HEIFFile {
        $0.exif = exifBlock { $0.model = "Model 1" }
        $0.xmp = packet(rating: 4)
        $0.transformations = [.rotation(1)]
      }.bytes)
    #expect(read.sections["TIFF"]?["Model"] == .text("Model 1") && read.sections["XMP"]?["xmp:Rating"] == .text("4"))
    #expect(read.sections["Image"]?["Orientation"] == .integer(8))
  }
}
