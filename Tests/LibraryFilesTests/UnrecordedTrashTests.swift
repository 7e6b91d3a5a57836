import ImageCodec
import LibraryFixtures
import Logging
import PhotoModel
import Synchronization
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

/// Files in the trash that the catalogue of a backup can't know.
@Suite("Unrecorded files in the trash")
struct UnrecordedTrashTests {
  private final class Lines: Sendable {
    let kept = Mutex<[String]>([])
  }

  private struct LineKeeper: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(lines: Lines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let line = "\(event.message) \(event.metadata?["path"].map { "\($0)" } ?? "")"
      lines.kept.withLock { $0.append(line) }
    }
  }

  @Test("after a restore, the log names a file that joined an asset which was deleted again")
  func joinedSince() throws {
    let library = try TemporaryLibrary()
    let copy = library.data + "/../copy.sqlite"
    try library.put(smallJPEG, "2024/a.jpg")
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      let asset = try #require(try catalogue.everything()["2024/a.jpg"]).localIdentifier
      let files = try library.files(catalogue)
      try files.perform([.delete(asset)])
      try catalogue.backUp(to: copy)
      try files.perform([.restore(asset)])
      try library.put(Array("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"></x:xmpmeta>".utf8), "2024/a.jpg.xmp")
      try library.scan(catalogue)
      try files.perform([.delete(asset)])
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let lines = Lines()
    let files = try LibraryFiles(
      catalogue: try library.catalogue(), directory: library.root, timeZone: "UTC", limits: CodecLimits(),
      options: LibraryFiles.Options(), logger: Logger(label: "test") { _ in LineKeeper(lines: lines) })
    try files.recover()
    let warnings = lines.kept.withLock { $0 }.filter { $0.hasPrefix("file in the trash is not recorded") }
    #expect(warnings.count == 1 && warnings.allSatisfy { $0.hasSuffix("/a.jpg.xmp") }, "\(warnings)")
  }
}
