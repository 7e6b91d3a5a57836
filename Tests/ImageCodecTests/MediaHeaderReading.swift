import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Synchronization

/// The header of a file in memory.
func header(_ bytes: [UInt8]) throws(CodecError) -> MediaHeader {
  try MediaHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits())
}

/// The bytes of a file in a range or a block.
func part(_ range: ByteRange?, of bytes: [UInt8]) -> [UInt8]? {
  range.map { Array(bytes[Int($0.offset)..<Int($0.offset) + $0.length]) }
}

extension MediaHeader {
  func block(_ kind: MetadataBlock.Kind) -> ByteRange? { blocks.first { $0.kind == kind }?.range }
}

/// An EXIF block from its TIFF header on.
func exifBlock(_ change: (inout EXIFBlock) -> Void) -> [UInt8] { Array(EXIFBlock(change).bytes.dropFirst(6)) }

/// An XMP packet with a rating and other properties.
func packet(rating: Int) -> String {
  """
  <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
  <rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="\(rating)"/></rdf:RDF></x:xmpmeta>
  """
}

/// A source that counts its reads, and may be longer than its bytes.
final class CountingSource: ByteSource {
  private let source: MemoryByteSource
  private let counts = Mutex((reads: 0, bytes: 0))
  /// The size; zeros follow the bytes.
  let size: Int64

  init(_ bytes: [UInt8], size: Int64? = nil) {
    source = MemoryByteSource(bytes)
    self.size = size ?? Int64(bytes.count)
  }

  var canReturnNotYet: Bool { false }
  var reads: Int { counts.withLock { $0.reads } }
  var bytesRead: Int { counts.withLock { $0.bytes } }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
    guard offset >= 0, offset < size else { return .end }
    let length = min(buffer.count, Int(clamping: size - offset))
    counts.withLock {
      $0.reads += 1
      $0.bytes += length
    }
    var filled = 0
    if case .bytes(let count) = source.read(into: buffer, at: offset) { filled = count }
    for i in filled..<max(filled, length) { buffer[i] = 0 }
    return .bytes(length)
  }
}

/// One file of each format, with everything that a reader reads.
enum ContainerSamples {
  static let details = TIFFPicture.Details { $0.pixelSize = (3504, 2336) }

  static let all: [(format: MediaFormat, bytes: [UInt8])] = [
    (
      .heic,
      HEIFFile {
        $0.exif = exifBlock { $0.orientation = 6 }
        $0.xmp = packet(rating: 3)
        $0.thumbnail = TIFFPicture.jpeg
        $0.auxiliaries = ["urn:mpeg:hevc:2015:auxid:1"]
        $0.transformations = [.crop(width: 60, height: 40), .rotation(1), .mirror(axis: 0)]
        $0.tiles = 3
      }.bytes
    ),
    (
      .avif,
      HEIFFile {
        ($0.major, $0.compatible, $0.itemType) = ("avif", ["mif1", "miaf"], "av01")
        $0.isWide = true
        $0.usesItemData = true
        $0.exif = exifBlock { $0.make = "Maker" }
      }.bytes
    ),
    (
      .cr3,
      CR3File {
        $0.xmp = packet(rating: 1)
      }.bytes
    ),
    (
      .quickTime,
      MovieFile {
        $0.samplesFirst = 64
        $0.isLong = true
        $0.created = 3_600_000_000
        $0.keys = [
          ("com.apple.quicktime.make", "Apple"), ("com.apple.quicktime.creationdate", "2019-08-13T14:05:06+0200"),
        ]
        $0.userData = [("©xyz", "+48.2-016.3/")]
        $0.xmp = packet(rating: 2)
      }.bytes
    ),
    (
      .mpeg4,
      MovieFile {
        ($0.major, $0.compatible) = ("isom", ["mp42"])
        $0.items = [("©day", "2013-05-04T03:02:01Z")]
        $0.fragmentDuration = 600
        $0.duration = 0
      }.bytes
    ), (.tiff, TIFFPicture.tiff(details).bytes), (.dng, TIFFPicture.dng(details).bytes),
    (.cr2, TIFFPicture.cr2(details).bytes), (.nef, TIFFPicture.nef(.init { $0.make = "NIKON" }).bytes),
    (.arw, TIFFPicture.arw(.init { $0.make = "SONY" }).bytes),
    (
      .webp,
      WebPFile(.extended) {
        $0.exif = exifBlock { $0.orientation = 8 }
        $0.xmp = packet(rating: 4)
      }.bytes
    ),
    (
      .gif,
      GIFFile {
        $0.comment = "made by hand"
        $0.xmp = packet(rating: 5)
      }.bytes
    ),
    (
      .jxl,
      JXLSamples.file(
        JXLSamples.exif(exifBlock { $0.make = "Maker" }), Boxes.box("jxlc", JXLSamples.turned),
        Boxes.box("xml ", Array(packet(rating: 3).utf8)))
    ),
    (
      .bmp,
      BMPFile(width: 3, height: 2, bitsPerPixel: 24, pixels: [UInt8](repeating: 7, count: 24)) { $0.header = .v5 }.bytes
    ),
  ]
}
