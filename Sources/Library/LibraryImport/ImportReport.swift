// Counts what an import does, and reports what it can't import: each part of an export that is left out is counted
// here.

import LibraryFolder

/// The progress and the result of one import. For one thread at a time.
package final class ImportReport {
  /// The result for a part of an export.
  package enum Notice: Sendable, Hashable {
    /// A picture or video could not be imported.
    case failed(path: [UInt8], reason: String)
    /// A picture or video was not imported because photod does not read its format.
    case unsupported(path: [UInt8])
    /// A file was left out by a rule, for example because it is no picture.
    case skipped(path: [UInt8], reason: String)
    /// Neither the export nor the file states a date; the asset gets the modification time of the exported file.
    case undated(path: [UInt8])

    /// One line, whatever bytes a path has.
    package var line: String {
      switch self {
      case .failed(let path, let reason): "failed \(LibraryPath.escaped(path)): \(reason)"
      case .unsupported(let path):
        "unsupported \(LibraryPath.escaped(path)): photod does not read this format; the file was not imported"
      case .skipped(let path, let reason): "skipped \(LibraryPath.escaped(path)): \(reason)"
      case .undated(let path): "undated \(LibraryPath.escaped(path)): it gets the modification time of the file"
      }
    }
  }

  /// Maximum number of distinct names in each table. Further ones are counted together.
  static let maximumNames = 1000
  /// Stands for the names beyond the limit.
  static let otherNames = "other names"

  /// Pictures and videos that are new in the library.
  package private(set) var added = 0
  /// Pictures and videos whose content the library had.
  package private(set) var existing = 0
  package private(set) var failed = 0
  /// Pictures and videos whose format photod does not read.
  package private(set) var unsupported = 0
  package private(set) var skipped = 0
  /// Skipped pictures and videos that were deleted in photod.
  package private(set) var deleted = 0
  /// Imported files without a date.
  package private(set) var undated = 0
  package private(set) var albumsMade = 0
  package private(set) var sidecarsAdded = 0
  /// Properties that photod has no place for, by name: the number of items that have them.
  package private(set) var unmappedFields: [String: Int] = [:]
  /// Values that were changed, by kind: such as texts that were truncated.
  package private(set) var remarks: [String: Int] = [:]

  private let notify: (Notice) -> Void

  /// - Parameter notify: called with each notice as it arises; notices are not kept.
  package init(notify: @escaping (Notice) -> Void = { _ in }) { self.notify = notify }

  func noteFailure(_ path: [UInt8], _ reason: String) {
    failed += 1
    notify(.failed(path: path, reason: reason))
  }

  func noteSkip(_ path: [UInt8], _ reason: String) {
    skipped += 1
    notify(.skipped(path: path, reason: reason))
  }

  func noteUnsupported(_ path: [UInt8]) {
    unsupported += 1
    notify(.unsupported(path: path))
  }

  func noteDeleted(_ path: [UInt8], isInTrash: Bool) {
    deleted += 1
    let place = isInTrash ? "is in photod's trash" : "has left photod's trash"
    noteSkip(path, "it was deleted and \(place); --include-deleted imports it")
  }

  func noteUndated(_ path: [UInt8]) {
    undated += 1
    notify(.undated(path: path))
  }

  func noteAsset(isNew: Bool) {
    if isNew { added += 1 } else { existing += 1 }
  }

  func noteAlbum() { albumsMade += 1 }
  func noteSidecar() { sidecarsAdded += 1 }
  func noteUnmapped(_ name: String) { Self.count(name, in: &unmappedFields) }
  func noteRemark(_ kind: String) { Self.count(kind, in: &remarks) }

  private static func count(_ name: String, in table: inout [String: Int]) {
    let key = table[name] != nil || table.count < maximumNames ? name : otherNames
    table[key, default: 0] += 1
  }
}
