import Foundation
import ImageCodec
import ImageService
import LibraryFolder
import PhotoFixtures
import PhotoModel
import Testing

/// The original changes while it is rendered: the result may be used only for the old version, if at all.
@Suite("Originals that change during a render")
struct ChangedOriginalTests {
  /// A folder with one picture whose readers can be blocked in the middle.
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

    /// A new file under the same name, from a program that writes a temporary file and renames it.
    func replace(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: file), options: .atomic) }

    /// Overwrites the file in place.
    func overwrite(_ bytes: [UInt8]) throws {
      let handle = try FileHandle(forWritingTo: URL(filePath: file))
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: Data(bytes))
      try handle.close()
      // With a coarse clock the change would be invisible.
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: file)
    }

    /// The asset as a scan would read it now.
    func asset(_ bytes: [UInt8], version: String) throws -> Asset {
      let header = try ImageHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits())
      let folder = try LibraryFolder(path: path)
      let opened = try folder.open(Array("a.jpg".utf8))
      let time = Timestamp(milliseconds: 0)
      return Asset(
        localIdentifier: LocalIdentifier("a"), contentVersion: ContentVersion(version), revision: ChangeToken(1),
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

  @Test(
    "a render of a changed file is not stored under the new version, however the file changed", arguments: Way.allCases)
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
    try await harness.untilIdle()
    switch way {
    case .overwritten:
      guard case .failed = outcome.last else {
        Issue.record("\(outcome) was delivered for a file that mixed two pictures")
        return
      }
    case .replaced: #expect(Self.frame(outcome) != nil, "the file that was opened is still the old picture")
    }
    // No frame of this render is served for the new version, from memory or elsewhere.
    let fresh = try #require(Self.frame(await harness.deliveries(new, Self.request())))
    #expect(fresh.result.source == .original)
    let reference = try #require(Self.frame(await harness.deliveries(new, Self.request(), bypassesCaches: true)))
    #expect(fresh.bytes == reference.bytes)
    if let stale = Self.frame(outcome) { #expect(stale.bytes != fresh.bytes) }
    // The old version is gone: a request for it does not get the new picture.
    guard way == .overwritten else { return }
    let late = await harness.deliveries(old, Self.request())
    guard case .failed(.originalChanged) = late.last else {
      Issue.record("the old version was answered with \(late)")
      return
    }
  }
}
