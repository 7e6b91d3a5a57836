// The staged uploads of this process: how many bytes each one may have and which request appends to it. The catalogue
// has their records; this table only enforces the limits, and is filled again at start.

import LibraryCatalogue
import LibraryFolder
import PhotoModel
import Synchronization

final class StagedUploadTable: Sendable {
  private struct Entry {
    let owner: String
    /// The greater of its length, if known, and the bytes that it has.
    var bytes: Int64
    weak var append: StagedAppend?
  }

  private struct State {
    var entries: [UploadIdentifier: Entry] = [:]
    /// The bytes of all entries.
    var bytes: Int64 = 0
  }

  private let limitBytes: Int64
  private let limitPerOwner: Int
  private let state = Mutex(State())

  init(limitBytes: Int64, limitPerOwner: Int) {
    self.limitBytes = limitBytes
    self.limitPerOwner = limitPerOwner
  }

  /// Counts a staged upload of an earlier process, even beyond the limits.
  func load(_ identifier: UploadIdentifier, owner: String, bytes: Int64) {
    state.withLock { state in
      state.bytes += bytes
      state.entries[identifier] = Entry(owner: owner, bytes: bytes)
    }
  }

  /// Adds a new staged upload.
  ///
  /// - Parameter bytes: its length, if known; otherwise 0.
  func add(_ identifier: UploadIdentifier, owner: String, bytes: Int64) throws(LibraryFilesError) {
    let failure = state.withLock { state -> LibraryFilesError? in
      if state.entries.values.count(where: { $0.owner == owner }) >= limitPerOwner {
        return .tooManyUploads(limit: limitPerOwner)
      }
      guard hasRoom(for: bytes, state) else { return .stagedStorageFull(limit: limitBytes) }
      state.bytes += bytes
      state.entries[identifier] = Entry(owner: owner, bytes: bytes)
      return nil
    }
    if let failure { throw failure }
  }

  /// Reserves space for more bytes.
  ///
  /// - Parameter bytes: the number of bytes that the staged upload has then. A smaller number than before changes
  ///   nothing.
  func grow(_ identifier: UploadIdentifier, to bytes: Int64) throws(LibraryFilesError) {
    let failure = state.withLock { state -> LibraryFilesError? in
      guard let entry = state.entries[identifier] else { return .noSuchUpload(identifier) }
      let more = bytes - entry.bytes
      if more <= 0 { return nil }
      guard hasRoom(for: more, state) else { return .stagedStorageFull(limit: limitBytes) }
      state.bytes += more
      state.entries[identifier]?.bytes = bytes
      return nil
    }
    if let failure { throw failure }
  }

  /// Makes a request the only one that appends. Ends the older one, and returns after its last write.
  ///
  /// - Parameter append: `nil`: no request appends from now on.
  func setAppend(_ append: StagedAppend?, to identifier: UploadIdentifier) {
    let older = state.withLock { state in
      let older = state.entries[identifier]?.append
      state.entries[identifier]?.append = append
      return older
    }
    older?.supersede()
  }

  /// Whether a request appends to it now.
  func isAppending(to identifier: UploadIdentifier) -> Bool {
    state.withLock { $0.entries[identifier]?.append } != nil
  }

  func remove(_ identifier: UploadIdentifier) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: identifier) else { return }
      state.bytes -= entry.bytes
    }
  }

  func contains(_ identifier: UploadIdentifier) -> Bool { state.withLock { $0.entries[identifier] != nil } }

  private func hasRoom(for bytes: Int64, _ state: borrowing State) -> Bool {
    let (sum, isTooMuch) = state.bytes.addingReportingOverflow(bytes)
    return !isTooMuch && sum <= limitBytes
  }
}
