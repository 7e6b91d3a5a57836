import DurableFiles
import Foundation
import LibraryCatalogue
import LibraryFolder
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// One request that appends bytes to a staged upload. The written bytes stay, however the request ends.
package final class StagedAppend: Sendable {
  /// Bytes written between two checks of the free space, each with a sync of the file, so that the final sync is short.
  private static let bytesBetweenSyncs: Int64 = 64 << 20

  package let upload: StagedUpload
  /// The length of the whole file, if it is known by now.
  let length: Int64?
  /// The bytes that the staged upload had before.
  package let start: Int64
  private let file: LibraryFile
  private let table: StagedUploadTable
  private let reserveBytes: Int64
  /// Held during each write, so that a newer request begins after the last write of this one.
  private let state: Mutex<State>

  private struct State {
    var offset: Int64
    var isSuperseded = false
    /// Called once, when a newer request ends this one.
    var onSupersede: (@Sendable () -> Void)?
  }

  /// - Parameters:
  ///   - length: of the whole file, if this request gives it.
  ///   - file: open for appending. Its size is the offset.
  init(
    _ upload: StagedUpload, length: Int64?, _ file: LibraryFile, _ table: StagedUploadTable, reserveBytes: Int64
  ) {
    self.length = upload.length ?? length
    self.upload = upload
    self.file = file
    self.table = table
    self.reserveBytes = reserveBytes
    start = file.size
    state = Mutex(State(offset: file.size))
  }

  /// The bytes that the staged upload has now.
  package var offset: Int64 { state.withLock { $0.offset } }

  /// Throws if there is no room for the bytes that the request announces.
  func checkRoom(for bytes: Int64) throws(LibraryFilesError) {
    let (end, isTooMuch) = start.addingReportingOverflow(bytes)
    try table.grow(upload.identifier, to: isTooMuch ? .max : end)
    try file.checkSpace(for: bytes, leaving: reserveBytes)
  }

  /// Appends bytes: all of them, or as many as the disk takes.
  package func write(_ bytes: [UInt8]) throws(LibraryFilesError) {
    let result = state.withLock { state -> Result<Void, LibraryFilesError> in
      do throws(LibraryFilesError) {
        if state.isSuperseded { throw .uploadSuperseded }
        let end = state.offset + Int64(bytes.count)
        if let length, end > length {
          throw .uploadLengthMismatch(length: length, offset: state.offset)
        }
        try table.grow(upload.identifier, to: end)
        let isDue = state.offset / Self.bytesBetweenSyncs != end / Self.bytesBetweenSyncs
        if isDue { try file.checkSpace(for: Int64(bytes.count), leaving: reserveBytes) }
        do throws(SystemError) {
          try writeAll(bytes.span.bytes, to: file.descriptor)
          state.offset = end
          if isDue { try file.sync() }
        } catch {
          throw LibraryFilesError(error)
        }
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    fault(.received)
    try result.get()
  }

  /// Removes the bytes that this request has written: the offset is `start` again.
  package func discard() throws(LibraryFilesError) {
    let result = state.withLock { state -> Result<Void, LibraryFilesError> in
      if state.isSuperseded { return .failure(.uploadSuperseded) }
      guard ftruncate(file.descriptor, off_t(start)) == 0 else {
        return .failure(LibraryFilesError(SystemError(code: errno)))
      }
      state.offset = start
      return .success(())
    }
    try result.get()
    try sync()
  }

  /// Sets the file's modification time, which becomes the creation date of an asset without a date of its own. Call it
  /// after the last write.
  package func setModificationDate(_ date: Timestamp) throws(LibraryFilesError) {
    let seconds = Int(date.milliseconds.quotientAndRemainder(dividingBy: 1000).quotient)
    let rest = Int(date.milliseconds % 1000)
    // The fraction must not be negative.
    let time = timespec(
      tv_sec: rest < 0 ? seconds - 1 : seconds, tv_nsec: (rest < 0 ? rest + 1000 : rest) * 1_000_000)
    if futimens(file.descriptor, [time, time]) != 0 { throw LibraryFilesError(SystemError(code: errno)) }
  }

  /// Syncs what was written, so that it survives a power failure.
  func sync() throws(LibraryFilesError) {
    do throws(SystemError) { try file.sync() } catch { throw LibraryFilesError(error) }
    fault(.synced)
  }

  /// Calls `handler` when a newer request ends this one, after its last write; at once if that has happened already.
  package func onSupersede(_ handler: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if !state.isSuperseded { state.onSupersede = handler }
      return state.isSuperseded
    }
    if isLate { handler() }
  }

  /// Ends this request for a newer one: every later write throws `uploadSuperseded`.
  func supersede() {
    let handler = state.withLock { state in
      state.isSuperseded = true
      return state.onSupersede.take()
    }
    handler?()
  }

  var isSuperseded: Bool { state.withLock { $0.isSuperseded } }
}
