import Foundation
import ImageCodec
import LibraryFixtures
import LibraryScan
import ObjectStores
import PhotoFixtures
import PhotoModel
import Testing

/// What it costs to index an original that is elsewhere.
@Suite struct RemoteProbeTests {
  private static let originalBytes = 20 << 20

  /// Originals of 20 MB: what a reader reads, and pixels or samples around it. Made one at a time.
  private static let originals: [(name: String, bytes: @Sendable () -> [UInt8])] = [
    ("a.jpg", { padded(JPEGFile { $0.exif = EXIFBlock { $0.make = "Maker" } }.encoded(card)) }),
    ("a.heic", { padded(HEIFFile { $0.exif = exif }.bytes) }), ("a.dng", { padded(TIFFPicture.dng(details).bytes) }),
    ("a.cr2", { padded(TIFFPicture.cr2(details).bytes) }),
    ("a.nef", { padded(TIFFPicture.nef(made(by: "NIKON CORPORATION")).bytes) }),
    ("a.arw", { padded(TIFFPicture.arw(made(by: "SONY")).bytes) }), ("a.cr3", { padded(CR3File().bytes) }),
    ("a.mov", { MovieFile { $0.samplesFirst = originalBytes }.bytes }),
    ("b.mov", { MovieFile().bytes + Boxes.box("mdat", [UInt8](repeating: 1, count: originalBytes)) }),
    ("a.webp", { WebPFile(.extended) { $0.exif = exif }.bytes }),
  ]

  private static let exif = Array(EXIFBlock { $0.make = "Maker" }.bytes.dropFirst(6))
  private static let card = Pixels.orientationCard(width: 640, height: 480)
  private static let details = made(by: "Maker")

  /// The maker decides on the format of some RAW files.
  private static func made(by make: String) -> TIFFPicture.Details { TIFFPicture.Details { $0.make = make } }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0x55, count: originalBytes - bytes.count)
  }

  @Test func `An original of 20 MB is indexed with two ranges and less than 128 KB, like the whole file`() throws {
    let library = try TemporaryLibrary()
    let store = try FolderObjectStore(path: library.root)
    let probe = MediaProbe(limits: CodecLimits(), timeZone: try #require(TimeZone(identifier: "UTC")))
    for (name, make) in Self.originals {
      let bytes = make()
      try library.put(bytes, name)
      let key = try #require(ObjectKey(name))
      let object = RangedObject(key, of: try store.waitForHead(key).identity, in: store)
      let identity = FileIdentity(inode: 1, size: Int64(bytes.count), modified: 0)
      let remote = try probe.media(of: object, identity, at: Array(name.utf8))
      let local = try probe.media(of: MemoryByteSource(bytes), identity, at: Array(name.utf8))
      #expect(remote.pixelSize == local.pixelSize, "\(name)")
      #expect(remote.cameraMake == local.cameraMake, "\(name)")
      #expect(remote.fingerprint == local.fingerprint, "\(name)")
      #expect(remote.hasPicture == local.hasPicture, "\(name)")
      let cost = object.cost
      print("indexed \(name): \(cost.bytes) bytes in \(cost.ranges) ranges")
      #expect(cost.bytes < 128 << 10, "\(name)")
      #expect(cost.ranges <= 2, "\(name)")
    }
  }

  @Test(arguments: [Int64.max, Int64.max - 16, 1 << 62, 1 << 44 + 1] as [Int64])
  func `A file of an impossible length is not indexed, wherever its parts are`(_ size: Int64) throws {
    let probe = MediaProbe(limits: CodecLimits(), timeZone: try #require(TimeZone(identifier: "UTC")))
    // A box of 64 bits whose next one begins ten bytes before the end of the file.
    let length = UInt64(size - 20 - 10)
    var head = Array("\0\0\0\u{14}ftypqt  \0\0\0\0qt  ".utf8)
    head += Array("\0\0\0\u{1}free".utf8)
    for shift in 0..<8 { head.append(UInt8(truncatingIfNeeded: length >> UInt64(56 - 8 * shift))) }
    let source = LongSource(head, size: size)
    let identity = FileIdentity(inode: 1, size: size, modified: 0)
    #expect(throws: CodecError.limitExceeded("the size of the file", limit: 1 << 44, found: Int(size))) {
      _ = try probe.media(of: source, identity, at: Array("a.mov".utf8))
    }
  }

  @Test func `The longest file is indexed`() throws {
    let probe = MediaProbe(limits: CodecLimits(), timeZone: try #require(TimeZone(identifier: "UTC")))
    let source = LongSource(JPEGFile().encoded(Self.card), size: MediaProbe.maximumFileBytes)
    let identity = FileIdentity(inode: 1, size: source.size, modified: 0)
    let media = try probe.media(of: source, identity, at: Array("a.jpg".utf8))
    #expect(media.pixelSize == PixelSize(width: 640, height: 480))
  }
}

/// The first bytes of a file, and zeros up to its length.
private final class LongSource: ByteSource {
  let size: Int64
  let canReturnNotYet = false
  private let head: [UInt8]

  init(_ head: [UInt8], size: Int64) {
    self.head = head
    self.size = size
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
    guard offset < size else { return .end }
    let count = Int(min(Int64(buffer.count), size - offset))
    for i in 0..<count { buffer[i] = offset < Int64(head.count - i) ? head[Int(offset) + i] : 0 }
    return .bytes(count)
  }
}
