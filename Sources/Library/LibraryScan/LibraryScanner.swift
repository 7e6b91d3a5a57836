// Scans of the library. A scan is usually one walk, whose steps are in LibraryMerge. A second walk of the whole library
// follows if
//
// - more files were deferred than the scanner remembers,
// - files swapped names while the first walk was between them, or
// - a folder that a disk seemed to hide is to be scanned after all.
//
// Finally, files that appeared where the walk had already been are scanned.

import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel

package struct LibraryScanner: Sendable {
  static let pageSize = 1000

  let catalogue: Catalogue
  let directory: String
  let timeZone: TimeZone
  let maximumRemovalPercent: Int
  let settleTime: Duration
  let deferralLimit: Int
  let limits: CodecLimits
  let environment: LibraryEnvironment
  let logger: Logger

  /// - Parameters:
  ///   - directory: the folder of the library.
  ///   - timeZone: the zone of EXIF dates without an offset.
  ///   - maximumRemovalPercent: a scan that would remove more than this share of the files is refused.
  ///   - settleTime: a new or changed file is indexed once it has not changed for this long.
  ///   - deferralLimit: how many unsettled files are remembered; with more, the library is walked a second time.
  package init(
    catalogue: Catalogue, directory: String, timeZone: String, maximumRemovalPercent: Int,
    settleTime: Duration = .zero, deferralLimit: Int = 10_000, limits: CodecLimits,
    environment: LibraryEnvironment = .system, logger: Logger
  ) throws(LibraryError) {
    guard let zone = TimeZone(identifier: timeZone) else { throw .unknownTimeZone(timeZone) }
    self.catalogue = catalogue
    self.directory = directory
    self.timeZone = zone
    self.maximumRemovalPercent = maximumRemovalPercent
    self.settleTime = settleTime
    self.deferralLimit = deferralLimit
    self.limits = limits
    self.environment = environment
    self.logger = logger
  }

  /// Scans the whole library once. Blocks; `onProgress` is called on this thread, a few times a second at most.
  ///
  /// A stopped scan keeps what it has written so far, and removes nothing.
  ///
  /// - Parameters:
  ///   - acceptsRemovals: remove all missing files, however many, and even if a disk is missing.
  ///   - estimatesTotal: include the expected number of files in the progress.
  package func scan(
    acceptingRemovals acceptsRemovals: Bool = false, estimatingTotal estimatesTotal: Bool = false,
    stop: StopFlag = StopFlag(),
    onProgress: (ScanProgress) -> Void = { _ in }
  ) throws(LibraryError) -> ScanProgress {
    var options = ScanOptions(stop: stop)
    options.acceptsRemovals = acceptsRemovals
    options.estimatesTotal = estimatesTotal
    let outcome = try scan(options, onProgress)
    if let refusal = outcome.refusal { throw refusal }
    return outcome.progress
  }

  /// Scans the scope of `options`. A scan that can't run throws; `ScanOutcome.refusal` means that only the removals
  /// were refused.
  func scan(
    _ options: ScanOptions, _ onProgress: (ScanProgress) -> Void = { _ in }
  ) throws(LibraryError) -> ScanOutcome {
    let root: LibraryFolder
    do throws(SystemError) {
      root = try LibraryFolder(path: directory)
      // A folder that may be listed but not entered would look like the folder of a disk that is not mounted.
      _ = try root.open([], isFolder: true)
    } catch {
      throw .libraryUnavailable(path: directory, error)
    }
    let lock = try DataFolderLock.forScan(into: catalogue.dataFolder)
    defer { lock.unlock() }
    defer { catalogue.releaseMemory() }
    do throws(AssetSourceError) {
      var outcome = try walk(root, options, onProgress)
      if options.returnsRechecks { return outcome }
      if outcome.fullScanDelayNanoseconds != nil, outcome.refusal == nil, !options.stop.isRaised {
        // If files were deferred, the first walk has waited until those beyond the limit settled, too.
        var secondWalk = options
        secondWalk.isSecondWalk = true
        secondWalk.recentRemovals += outcome.progress.removed
        let firstProgress = outcome.progress
        outcome = try walk(root, secondWalk, onProgress)
        outcome.progress.add(walk: firstProgress)
      }
      if !options.stop.isRaised { try scanAppeared(root, options, &outcome) }
      return outcome
    } catch {
      throw LibraryError(error, dataFolder: catalogue.dataFolder)
    }
  }
}

extension LibraryScanner {
  private func walk(
    _ root: LibraryFolder, _ options: ScanOptions, _ onProgress: (ScanProgress) -> Void
  ) throws(AssetSourceError) -> ScanOutcome {
    var merge = try LibraryMerge(self, root, options)
    return try merge.run(onProgress)
  }

  /// Scans the files that appeared where the walk had already been.
  private func scanAppeared(
    _ root: LibraryFolder, _ options: ScanOptions, _ outcome: inout ScanOutcome
  ) throws(AssetSourceError) {
    if outcome.appeared.isEmpty { return }
    var followUp = options
    followUp.scope = ScanScope(outcome.appeared.map { .file($0) })
    followUp.estimatesTotal = false
    followUp.recentRemovals = outcome.progress.removed
    let progress = try walk(root, followUp) { _ in }.progress
    outcome.progress.add(walk: progress)
    outcome.progress.unsettled += progress.unsettled
  }

  /// Refuses an empty library folder if the catalogue has files.
  func emptyLibraryRefusal() throws(AssetSourceError) -> LibraryError? {
    let count = try catalogue.fileCount()
    return count > 0 ? .libraryIsEmpty(path: directory, known: count) : nil
  }
}
