import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryScan
import Logging
import PhotoFixtures
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// A library folder and a data folder for one test. Both are removed with this value.
package final class TemporaryLibrary {
  package let root: String
  package let data: String

  package init() throws {
    var template = Array((FileManager.default.temporaryDirectory.path + "/photod-XXXXXX").utf8CString)
    guard let folder = mkdtemp(&template) else { throw SystemError(code: errno) }
    let base = String(cString: folder)
    root = base + "/library"
    data = base + "/data"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: String(root.dropLast("/library".count))) }

  /// Writes a file, given by its path below the root, and makes its folders.
  package func put(_ bytes: [UInt8], _ path: String) throws {
    let whole = root + "/" + path
    try FileManager.default.createDirectory(
      atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: whole))
  }

  /// Writes a file at the top of the library, by system calls: for names that are not text.
  package func put(_ bytes: [UInt8], named name: [UInt8]) throws {
    let path = Array(root.utf8) + [UInt8(ascii: "/")] + name + [0]
    let descriptor = path.withUnsafeBytes {
      open($0.assumingMemoryBound(to: CChar.self).baseAddress!, O_CREAT | O_WRONLY, 0o600)
    }
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    defer { close(descriptor) }
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw SystemError(code: errno) }
  }

  package func catalogue() throws -> Catalogue { try Catalogue(dataFolder: data) }

  @discardableResult
  package func scan(
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
  /// All assets that a principal sees, by path.
  package func everything(
    includesHidden: Bool = false, includesAllBurstAssets: Bool = false, for principal: Principal = .local
  ) throws -> [String: Asset] {
    var fetch = AssetFetch()
    fetch.includesHidden = includesHidden
    fetch.includesAllBurstAssets = includesAllBurstAssets
    let page = try assets(fetch, FetchPageRequest(limit: 1000), for: principal)
    return Dictionary(uniqueKeysWithValues: page.assets.map { ($0.original.displayPath, $0) })
  }
}

package let smallJPEG = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))
package let smallPNG = PNGFile(.rgba(depth: 8)).encoded(Pixels.orientationCard(width: 30, height: 20))
