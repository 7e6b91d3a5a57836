import AssetLibrary
import Foundation
import ImageCodec
import Logging
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A library folder and a data folder of a test's own, gone when the test is.
final class TemporaryLibrary {
  let root: String
  let data: String

  init() throws {
    var template = Array((FileManager.default.temporaryDirectory.path + "/photod-XXXXXX").utf8CString)
    let base = String(cString: try #require(mkdtemp(&template)))
    root = base + "/library"
    data = base + "/data"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: String(root.dropLast("/library".count))) }

  func put(_ bytes: [UInt8], _ path: String) throws {
    let whole = root + "/" + path
    try FileManager.default.createDirectory(
      atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: whole))
  }

  /// By system call, for names that are no text.
  func put(_ bytes: [UInt8], named name: [UInt8]) throws {
    let path = Array(root.utf8) + [UInt8(ascii: "/")] + name + [0]
    let descriptor = path.withUnsafeBytes {
      open($0.assumingMemoryBound(to: CChar.self).baseAddress!, O_CREAT | O_WRONLY, 0o600)
    }
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    #expect(write(descriptor, bytes, bytes.count) == bytes.count)
  }

  func catalogue() throws -> Catalogue { try Catalogue(dataFolder: data) }

  @discardableResult
  func scan(
    _ catalogue: Catalogue, timeZone: String = "UTC", removal: Int = 50, acceptingRemovals: Bool = false,
    settleTime: Duration = .zero, deferralLimit: Int = 10_000, environment: LibraryEnvironment = .system,
    logger: Logger? = nil,
    stop: StopFlag = StopFlag(),
    onProgress: (ScanProgress) -> Void = { _ in }
  ) throws -> ScanProgress {
    try LibraryScanner(
      catalogue: catalogue, directory: root, timeZone: timeZone, maximumRemovalPercent: removal, settleTime: settleTime,
      deferralLimit: deferralLimit, limits: CodecLimits(), environment: environment,
      logger: logger ?? Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ).scan(acceptingRemovals: acceptingRemovals, stop: stop, onProgress: onProgress)
  }
}

extension Catalogue {
  /// Everything, by path.
  func everything(
    _ query: AssetQuery = AssetQuery(limit: 1000), for principal: Principal = .local
  ) throws -> [String: Asset] {
    let page = try assets(query, for: principal)
    return Dictionary(uniqueKeysWithValues: page.assets.map { ($0.original.displayPath, $0) })
  }
}

let smallJPEG = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))
let smallPNG = PNGFile(.rgba(depth: 8)).encoded(Pixels.orientationCard(width: 30, height: 20))
