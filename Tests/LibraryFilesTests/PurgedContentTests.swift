import Foundation
import LibraryFixtures
import LibraryFolder
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

@Suite("Purged contents")
struct PurgedContentTests {
  private static let later = Timestamp(milliseconds: 4_000_000_000_000)

  private let library: TemporaryLibrary
  private let catalogue: Catalogue
  private let files: LibraryFiles

  init() throws {
    library = try TemporaryLibrary()
    try library.put(Self.bytes, "a.jpg")
    try library.put(smallJPEG, "other.jpg")
    catalogue = try library.catalogue()
    try library.scan(catalogue)
    files = try library.files(catalogue)
  }

  private static let bytes = smallJPEG + Array("a".utf8)

  private func content(_ path: String) throws -> PurgedContent {
    let file = try LibraryFolder(path: library.root).open(Array(path.utf8))
    return PurgedContent(fingerprint: try FileFingerprint(of: file), digest: try ContentDigest(of: file))
  }

  private func purge(_ path: String) throws {
    let asset = try #require(try catalogue.everything()[path])
    try files.perform([.delete(asset.localIdentifier)])
    #expect(try files.purge(now: Self.later) == 1)
  }

  @Test("a purged content is remembered, and forgotten when the same file came back and was removed by others")
  func remembered() throws {
    let content = try content("a.jpg")
    #expect(try catalogue.purgedContents(with: content.fingerprint) == [])
    try purge("a.jpg")
    #expect(try catalogue.purgedContents(with: content.fingerprint) == [content.digest])
    func putBack() throws {
      try library.put(Self.bytes, "back.jpg")
      try library.scan(catalogue)
    }
    try putBack()
    try FileManager.default.removeItem(atPath: library.root + "/back.jpg")
    try library.scan(catalogue)
    #expect(try catalogue.purgedContents(with: content.fingerprint) == [])
    try putBack()
    try purge("back.jpg")
    #expect(try catalogue.purgedContents(with: content.fingerprint) == [content.digest])
  }

  @Test("the oldest contents are forgotten first")
  func bounded() throws {
    let fingerprint = try content("a.jpg").fingerprint
    let contents = try (UInt8(0)..<4).map { number in
      let digest = try #require(ContentDigest(Array(repeating: number, count: ContentDigest.byteCount)))
      return PurgedContent(fingerprint: fingerprint, digest: digest)
    }
    func remembered() throws -> Set<ContentDigest> { Set(try catalogue.purgedContents(with: fingerprint)) }
    try catalogue.beginPurge(of: [], remembering: Array(contents[0...2]), atMost: 3)
    #expect(try remembered() == Set(contents[0...2].map(\.digest)))
    // The first one becomes the newest.
    try catalogue.beginPurge(of: [], remembering: [contents[0], contents[3]], atMost: 2)
    #expect(try remembered() == [contents[0].digest, contents[3].digest])
  }

  @Test("the digest of a long file depends on its blocks, its end and its size")
  func longFile() throws {
    func digest(_ size: Int64, at offset: Int64) throws -> ContentDigest {
      try library.put([UInt8](), "long")
      let handle = try FileHandle(forWritingTo: URL(filePath: library.root + "/long"))
      try handle.truncate(atOffset: UInt64(size))
      try handle.seek(toOffset: UInt64(offset))
      try handle.write(contentsOf: Data([1]))
      try handle.close()
      return try ContentDigest(of: LibraryFolder(path: library.root).open(Array("long".utf8)))
    }
    let size = ContentDigest.maximumBytes + 1
    let digests = [try digest(size, at: size / 2), try digest(size, at: size - 1), try digest(size - 1, at: size / 2)]
    #expect(Set(digests).count == 3)
  }
}
