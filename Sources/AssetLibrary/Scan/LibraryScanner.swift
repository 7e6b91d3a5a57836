// A scan: the folder as it is, merged with the catalogue as it was, both in the order of their paths. What stands in
// both with the same identity is left alone, unopened; what is new or changed is probed, a batch in parallel; what is
// only in the catalogue is removed at the end, if it is not suspiciously much.

import Foundation
import ImageCodec
import LibraryFolder
import Logging
import PhotoModel

package struct LibraryScanner: Sendable {
  private static let batchSize = 128
  private static let pageSize = 1000
  /// Fewer missing files than this are believed whatever share of the library they are.
  private static let alwaysRemovable = 20

  let catalogue: Catalogue
  private let directory: String
  private let timeZone: TimeZone
  private let maximumRemovalPercent: Int
  private let limits: CodecLimits
  let logger: Logger

  /// - Parameters:
  ///   - directory: the library's folder.
  ///   - timeZone: what EXIF dates without an offset are in.
  ///   - maximumRemovalPercent: a scan that would remove more than this share of the files stops and says so.
  package init(
    catalogue: Catalogue, directory: String, timeZone: String, maximumRemovalPercent: Int, limits: CodecLimits,
    logger: Logger
  ) throws(AssetLibraryError) {
    guard let zone = TimeZone(identifier: timeZone) else { throw .unknownTimeZone(timeZone) }
    self.catalogue = catalogue
    self.directory = directory
    self.timeZone = zone
    self.maximumRemovalPercent = maximumRemovalPercent
    self.limits = limits
    self.logger = logger
  }

  /// Scans the whole library once. Blocks; `progressed` is called on this thread, a few times a second at most.
  ///
  /// A scan that is stopped leaves what it has done so far in the catalogue, and removes nothing.
  package func scan(
    stop: StopFlag = StopFlag(), progressed: (ScanProgress) -> Void = { _ in }
  ) throws(AssetLibraryError) -> ScanProgress {
    let root: LibraryFolder
    do throws(SystemError) {
      root = try LibraryFolder(path: directory)
    } catch {
      throw .libraryUnavailable(path: directory, error)
    }
    let lock = try ScanLock(dataFolder: catalogue.dataFolder)
    defer { withExtendedLifetime(lock) {} }
    let outcome: (progress: ScanProgress, refusal: AssetLibraryError?)
    do throws(AssetSourceError) {
      outcome = try merge(root, stop, progressed)
    } catch {
      throw .catalogueFailed("\(error)")
    }
    if let refusal = outcome.refusal { throw refusal }
    return outcome.progress
  }
}

extension LibraryScanner {
  private func merge(
    _ root: LibraryFolder, _ stop: StopFlag, _ progressed: (ScanProgress) -> Void
  ) throws(AssetSourceError) -> (progress: ScanProgress, refusal: AssetLibraryError?) {
    var walk = LibraryWalk(root: root)
    let lastID = try catalogue.lastFileID()
    var known = KnownFiles(catalogue: catalogue, pageSize: Self.pageSize, lastID: lastID)
    let probe = FileProbe(root: root, limits: limits, timeZone: timeZone)
    let readsAll = try catalogue.probeMark() != probe.mark
    var state = Batch(root: root, catalogue: catalogue, readsAll: readsAll, lastID: lastID)
    var missing: [KnownFile] = []
    var unreadableFolders: [[UInt8]] = []
    var lastReport = ContinuousClock.now

    while !stop.isRaised, let item = walk.next() {
      let path: [UInt8]
      switch item {
      case .unreadableFolder(let folder, let reason):
        logger.warning("a folder can't be read", metadata: ["path": "\(display(folder))", "reason": "\(reason)"])
        unreadableFolders.append(folder)
        continue
      case .unreadable(let itsPath, _): path = itsPath
      case .file(let file): path = file.path
      }
      state.progress.files += 1
      while let row = try known.next(before: path) { missing.append(row) }
      let row = try known.next(at: path)
      switch item {
      case .file(let file): try state.add(file, known: row)
      case .unreadable(_, let reason): state.add(unreadable: path, reason, known: row)
      case .unreadableFolder: break
      }
      if state.count >= Self.batchSize { try flush(&state, probe) }
      if ContinuousClock.now - lastReport > .milliseconds(200) {
        lastReport = .now
        progressed(state.progress)
      }
    }
    try flush(&state, probe)
    guard !stop.isRaised else { return (state.progress, nil) }
    while let row = try known.next(before: nil) { missing.append(row) }
    missing += state.displaced
    missing.removeAll { row in
      state.claimedIDs.contains(row.id) || unreadableFolders.contains { isPath(row.path, below: $0) }
    }
    let refusal = try remove(missing, probe, &state.progress)
    // A root that could not be listed was not scanned.
    if refusal == nil && !unreadableFolders.contains([]) { try catalogue.scanIsComplete(probeMark: probe.mark) }
    progressed(state.progress)
    return (state.progress, refusal)
  }

  /// Removes what is missing, or says why it does not.
  private func remove(
    _ missing: [KnownFile], _ probe: FileProbe, _ progress: inout ScanProgress
  ) throws(AssetSourceError) -> AssetLibraryError? {
    guard !missing.isEmpty else { return nil }
    let count = try catalogue.fileCount()
    if missing.count > Self.alwaysRemovable && missing.count * 100 > count * maximumRemovalPercent {
      return .tooMuchMissing(missing: missing.count, known: count, limitPercent: maximumRemovalPercent)
    }
    for start in stride(from: 0, to: missing.count, by: Self.pageSize) {
      let ids = missing[start..<min(start + Self.pageSize, missing.count)].map(\.id)
      let companions = try catalogue.companions(ofMissing: ids).map { WalkedFile(path: $0.path, identity: $0.identity) }
      try catalogue.remove(ids, companions: probe.probe(companions))
    }
    progress.removed = missing.count
    return nil
  }
}
