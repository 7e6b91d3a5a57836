// Scans of a library in a remote store: its list merged with the rows of the catalogue, both sorted by path.
//
//     list      unchanged object: skipped; new or changed object: waits for a batch; row without an object: missing
//     batch     heads of objects read by ranges, several at a time; findings stored in one transaction
//     list again, if objects are missing: they may have been moved, or did not exist for a moment
//     remove    rows of missing objects; not if too many are missing
//     record    a complete scan
//
// A list of a store is complete or fails, so a failed scan removes nothing. It keeps what it has stored.

import Foundation
import LibraryCatalogue
import LibraryScan
import Logging
import ObjectStores
import PhotoModel

/// Why a scan of a remote library ended early.
package enum RemoteScanError: Error, Sendable, Equatable, CustomStringConvertible {
  case store(ObjectStoreError)
  /// The store refuses to read every object, the last one for this reason, and the catalogue is empty.
  case allRefused(ObjectStoreError)
  /// The store's list is not sorted by key.
  case unsortedList
  case library(LibraryError)

  package var description: String {
    switch self {
    case .store(let error): "reading the remote library failed: \(error)"
    case .allRefused(let error):
      "reading the remote library failed, because all objects are refused: \(error.refusalDescription)"
    case .unsortedList: "the list of the remote library is not sorted by key, so it is not used"
    case .library(let error): "\(error)"
    }
  }
}

package struct RemoteScanner: Sendable {
  /// Keeps the parts of an object that contain its embedded thumbnail.
  package typealias KeepHead = @Sendable (ObjectKey, FileIdentity, [(offset: Int64, bytes: [UInt8])]) -> Void

  package struct Options: Sendable {
    /// Objects whose heads are read at the same time.
    package var parallelProbes = 8
    /// Objects in one transaction.
    var batchObjects = 256
    /// A scan that would remove more than this share of the objects removes none.
    package var maximumRemovalPercent = 50
    /// Bytes and ranges of one object's head.
    var ranges = RangedObject.Limits()
    /// Called on several threads.
    package var keepHead: KeepHead = { _, _, _ in }

    package init() {}
  }

  static let pageSize = 1000

  let store: any ObjectStore
  let catalogue: Catalogue
  let probe: MediaProbe
  let timeZone: TimeZone
  let options: Options
  let logger: Logger

  package init(
    store: any ObjectStore, catalogue: Catalogue, probe: MediaProbe, timeZone: TimeZone, options: Options = Options(),
    logger: Logger
  ) {
    (self.store, self.catalogue, self.probe, self.timeZone) = (store, catalogue, probe, timeZone)
    (self.options, self.logger) = (options, logger)
  }

  /// Scans the whole library once. Blocks; waits for the store.
  ///
  /// A stopped scan keeps what it has stored so far, and removes nothing.
  ///
  /// - Parameters:
  ///   - acceptsRemovals: remove all missing objects, however many.
  ///   - onProgress: called on this thread after each batch.
  package func scan(
    acceptingRemovals acceptsRemovals: Bool = false, stop: StopFlag = StopFlag(),
    onProgress: (RemoteScanProgress) -> Void = { _ in }
  ) throws(RemoteScanError) -> RemoteScanProgress {
    let lock = try library { () throws(LibraryError) in try DataFolderLock.forScan(into: catalogue.dataFolder) }
    defer { lock.unlock() }
    defer { catalogue.releaseMemory() }
    try source { () throws(AssetSourceError) in try catalogue.updateLocalDays(zone: timeZone, stop: stop) }
    var merge = try RemoteMerge(self, stop)
    do throws(RemoteScanError) {
      try merge.run(onProgress)
      guard !stop.isRaised else { return merge.progress }
      try merge.removeMissing(acceptsAll: acceptsRemovals)
      // Rows of missing objects may be left.
      guard !stop.isRaised else { return merge.progress }
    } catch {
      // An operation with the store was cancelled because the scan was stopped.
      guard stop.isRaised, error == .store(.cancelled) else { throw error }
      return merge.progress
    }
    try source { () throws(AssetSourceError) in
      try catalogue.recordScan(probeVersion: probe.version)
      try catalogue.refreshMoments(zone: timeZone, stop: stop)
      try catalogue.recordFirstScanComplete()
    }
    return merge.progress
  }

  // MARK: Errors

  func library<Value>(_ body: () throws(LibraryError) -> Value) throws(RemoteScanError) -> Value {
    do throws(LibraryError) {
      return try body()
    } catch {
      throw .library(error)
    }
  }

  func source<Value>(_ body: () throws(AssetSourceError) -> Value) throws(RemoteScanError) -> Value {
    do throws(AssetSourceError) {
      return try body()
    } catch {
      throw .library(LibraryError(error, dataFolder: catalogue.dataFolder))
    }
  }
}

package struct RemoteScanProgress: Sendable, Hashable {
  /// Objects in the store's list.
  package var objects = 0
  /// Names that are not objects, left out by the store.
  package var skipped = 0
  /// Objects whose heads were read.
  package var probed = 0
  package var unreadable = 0
  /// Objects that the store refuses to read. They stay in the catalogue as they were.
  package var refused = 0
  package var moved = 0
  package var removed = 0
  /// Range requests for the heads that were read.
  package var ranges = 0
}
