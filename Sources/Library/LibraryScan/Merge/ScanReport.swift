// The progress reports of one walk: when one is due, and the expected number of files.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

struct ScanReport {
  private static let interval = Duration.milliseconds(200)

  private var last = ContinuousClock.now
  /// The number of known files; `nil` if it was not requested, or for a first scan.
  private let knownCount: Int?
  /// Counts the files of a first scan.
  private let estimate: FileCountEstimate?

  init(estimatesTotal: Bool, root: LibraryFolder, catalogue: Catalogue) throws(AssetSourceError) {
    guard estimatesTotal else {
      knownCount = nil
      estimate = nil
      return
    }
    let count = try catalogue.fileCount()
    knownCount = count > 0 ? count : nil
    estimate = count > 0 ? nil : FileCountEstimate(root: root)
  }

  /// The expected number of files, if it is known.
  var expected: Int? { estimate?.result ?? knownCount }

  /// Whether a report is due. If so, the next one is due after the interval.
  mutating func isDue() -> Bool {
    let now = ContinuousClock.now
    guard now - last > Self.interval else { return false }
    last = now
    return true
  }

  /// Stops counting.
  func end() { estimate?.cancel() }
}
