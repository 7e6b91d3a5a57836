import Foundation
import ImageCodec
import ImageService
import LibraryFolder
import PhotoFixtures
import PhotoModel
import Testing

/// A file that becomes another picture while it is rendered: what comes of that is nobody's but the old version's, if
/// anybody's at all.
@Suite("Originals that change")
struct ChangedOriginalTests {
  /// A folder with one picture, whose readers can be stopped in the middle.
  private final class ChangingOriginal: Sendable {
    let path: String
    let store: OriginalStore
    let gate = Gate()

    init() throws {
      path = FileManager.default.temporaryDirectory.path + "/photod-changed-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      let gate = gate
      let folder = OriginalStore(folder: try LibraryFolder(path: path))
      store = OriginalStore { original throws(OriginalStoreError) in
        GatedSource(try folder.open(original), gate)
      }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    private var file: String { path + "/a.jpg" }

    /// Another picture by the same name: a file of its own, as programs do that write beside and rename.
    func replace(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: file), options: .atomic) }

    /// Another picture in the same file.
    func overwrite(_ bytes: [UInt8]) throws {
      let handle = try FileHandle(forWritingTo: URL(filePath: file))
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: Data(bytes))
      try handle.close()
      // A clock that is too coarse would hide it from everybody.
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: file)
    }

    /// As a scan that looks now would have it.
    func asset(_ bytes: [UInt8], version: String) throws -> Asset {
      let header = try ImageHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits())
      let folder = try LibraryFolder(path: path)
      let opened = try folder.open(Array("a.jpg".utf8))
      let time = Timestamp(milliseconds: 0)
      return Asset(
        localIdentifier: LocalIdentifier("a"), contentVersion: ContentVersion(version), revision: version,
        mediaType: .image, uniformTypeIdentifier: "public.jpeg", pixelSize: header.uprightSize,
        orientation: header.orientation, hasAlpha: header.hasAlpha, creationDate: time, creationDateSource: .file,
        modificationDate: time, location: nil, cameraMake: nil, cameraModel: nil, isFavorite: false, isHidden: false,
        original: OriginalFile(path: Array("a.jpg".utf8), identity: opened.identity))
    }
  }

  private final class GatedSource: ByteSource {
    private let source: any ByteSource
    private let gate: Gate

    init(_ source: any ByteSource, _ gate: Gate) {
      self.source = source
      self.gate = gate
    }

    var size: Int64 { source.size }
    var canReturnNotYet: Bool { false }
    var isUnchanged: Bool { source.isUnchanged }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
      if offset >= 65_536 { gate.pass() }
      return try source.read(into: buffer, at: offset)
    }
  }

  private static func picture(_ seed: Int) -> [UInt8] {
    JPEGFile { $0.quality = 95 }.encoded(Scene(seed: seed).pixels(width: 1600, height: 1200))
  }

  private static func frame(_ deliveries: [ImageDelivery]) -> ImageFrame? {
    for case .final(let frame) in deliveries { return frame }
    return nil
  }

  private static func request() -> ImageRequest {
    ImageRequest(targetSize: .size(PixelSize(width: 900, height: 900)), deliveryMode: .highQualityFormat)
  }

  enum Way: CaseIterable { case overwritten, replaced }

  @Test("a render under way is not kept under the new version, whichever way the file changed", arguments: Way.allCases)
  func change(_ way: Way) async throws {
    let changing = try ChangingOriginal()
    let harness = ImageManagerHarness {
      $0.cacheBytes = 8 << 20
      $0.originals = changing.store
    }
    let (first, second) = (Self.picture(7), Self.picture(8))
    try changing.replace(first)
    let old = try changing.asset(first, version: "1")
    changing.gate.shut()
    async let under = harness.deliveries(old, Self.request())
    await changing.gate.waitUntilBlocked()
    switch way {
    case .overwritten: try changing.overwrite(second)
    case .replaced: try changing.replace(second)
    }
    let new = try changing.asset(second, version: "2")
    #expect(new.original.identity != old.original.identity)
    changing.gate.open()
    let outcome = await under
    await harness.untilIdle()
    switch way {
    case .overwritten:
      guard case .failed = outcome.last else {
        Issue.record("\(outcome) was told of a file that was half of each")
        return
      }
    case .replaced: #expect(Self.frame(outcome) != nil, "the file that was opened is still the old picture")
    }
    // Nothing of it is told to who asks for the new version, in memory or anywhere else.
    let fresh = try #require(Self.frame(await harness.deliveries(new, Self.request())))
    #expect(fresh.result.source == .original)
    let reference = try #require(Self.frame(await harness.deliveries(new, Self.request(), bypassesCaches: true)))
    #expect(fresh.bytes == reference.bytes)
    if let stale = Self.frame(outcome) { #expect(stale.bytes != fresh.bytes) }
    // The old version is gone: who still asks for it is not given the new picture.
    guard way == .overwritten else { return }
    let late = await harness.deliveries(old, Self.request())
    guard case .failed(.originalChanged) = late.last else {
      Issue.record("the old version was answered with \(late)")
      return
    }
  }
}
