// All writes to the files of the library: upload, delete, restore and purge. Besides these, only MetadataExport writes
// there, if its folder is the library's.

import Dispatch
import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFolder
import LibraryScan
import Logging
import PhotoModel
import Synchronization

package final class LibraryFiles: Sendable {
  package struct Options: Sendable, Hashable {
    /// The library is read-only for every caller.
    package var isReadOnly = false
    /// Days after which an asset in the trash is deleted permanently.
    package var trashDays = 30
    /// Bytes of free disk space that uploads must leave.
    package var reserveBytes: Int64 = 256 << 20
    /// Bytes that all staged uploads together may have.
    package var stagedBytes: Int64 = 16 << 30
    /// Staged uploads that one principal may have.
    package var stagedPerCaller = 1000
    /// Seconds after which a staged upload that receives nothing is removed.
    package var stagedSeconds = 86_400
    /// How long a request waits for the lock of the files, which other requests and batches of scans hold; `nil`: no
    /// limit.
    package var lockTimeout: Duration? = .seconds(10)
    /// The path template of uploads.
    package var template = UploadTemplate.standard

    package init() {}
  }

  let catalogue: Catalogue
  /// For a library in a bucket: a local folder that holds only uploads in progress.
  let root: LibraryFolder
  /// `nil`: the library is the folder.
  let bucket: LibraryBucket?
  let options: Options
  let probe: FileProbe
  let mediaProbe: MediaProbe
  /// The zone of dates without an offset.
  package let timeZone: TimeZone
  let logger: Logger
  /// The bytes of the staged uploads, and the requests that append to them.
  let staged: StagedUploadTable
  /// The assets that staged uploads became.
  let finished: FinishedUploads
  /// Whether the last request that waited for the lock timed out.
  let isLockBusy = Atomic<Bool>(false)
  /// Knows which files were renamed and are not scanned yet; `nil` if the library is not watched.
  let watcher = Mutex<LibraryWatcher?>(nil)
  /// Recomputes the moments that commits left stale.
  let momentQueue = DispatchQueue(label: "photod.moments", qos: .utility)
  /// A refresh of moments is queued and has not begun yet.
  let isMomentRefreshQueued = Atomic<Bool>(false)

  /// - Parameters:
  ///   - directory: the folder of the library; for a bucket, a local folder for uploads in progress.
  ///   - timeZone: the zone of dates without an offset.
  package init(
    catalogue: Catalogue, directory: String, bucket: LibraryBucket? = nil, timeZone: String, limits: CodecLimits,
    options: Options, logger: Logger
  ) throws(LibraryError) {
    guard let zone = TimeZone(identifier: timeZone) else { throw .unknownTimeZone(timeZone) }
    do throws(SystemError) {
      root = try LibraryFolder(path: directory)
    } catch {
      throw .libraryUnavailable(path: directory, error)
    }
    self.catalogue = catalogue
    self.bucket = bucket
    self.options = options
    self.logger = logger
    self.timeZone = zone
    probe = FileProbe(root: root, limits: limits, timeZone: zone)
    mediaProbe = MediaProbe(limits: limits, timeZone: zone)
    staged = StagedUploadTable(limitBytes: options.stagedBytes, limitPerOwner: options.stagedPerCaller)
    finished = FinishedUploads(lifetimeSeconds: options.stagedSeconds)
    countStagedUploads()
  }

  /// Sets the watcher that knows whether a missing file was only renamed. Call it at most once.
  package func setWatcher(_ watcher: LibraryWatcher) { self.watcher.withLock { $0 = watcher } }

  /// Seconds after which a staged upload that receives nothing is removed.
  package var stagedSeconds: Int { options.stagedSeconds }

  /// Whether the library is read-only, by the settings or by its mount.
  package var isReadOnly: Bool {
    if options.isReadOnly { return true }
    let space = try? root.open([], isFolder: true).freeSpace()
    return space?.isReadOnly ?? false
  }
}
