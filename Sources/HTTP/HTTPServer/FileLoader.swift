import CPhotodSystem
import HTTPCore

#if canImport(Glibc)
  import Glibc
#endif

/// Loads ranges of files into the page cache on a work queue, so that a connection's loop does not wait for a disk when
/// it sends them.
final class FileLoader: Sendable {
  /// Submits work to the queue that reads files. Returns `false` if the work is not accepted.
  let submit: @Sendable (@escaping @Sendable () -> Void) -> Bool
  /// Called on any thread with the cause, if the rest of a body can't be read.
  let onFailure: @Sendable (BodySourceError) -> Void

  init(
    submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool,
    onFailure: @escaping @Sendable (BodySourceError) -> Void
  ) {
    self.submit = submit
    self.onFailure = onFailure
  }

  /// Loads a range that is no longer in the page cache. Calls `completion` once, on the queue, with whether this
  /// succeeded. Returns `false` if the queue does not accept the work; then `completion` is not called.
  func reload(
    _ range: Range<Int64>, of file: any SendableFile, completion: @escaping @Sendable (Bool) -> Void
  ) -> Bool {
    submit { [self] in
      do throws(BodySourceError) {
        try Self.load(range, of: file)
        completion(true)
      } catch {
        onFailure(error)
        completion(false)
      }
    }
  }

  /// Waits until the range is in the page cache: nearly always all of it, see `photod_load_range`. Call it on the
  /// queue, or for a range that `isCached` has found. Throws `readFailed` if a read fails.
  static func load(_ range: Range<Int64>, of file: any SendableFile) throws(BodySourceError) {
    guard !file.isCached(range) else { return }
    guard photod_load_range(file.descriptor, range.lowerBound, Int64(range.count)) == 0 else {
      throw .readFailed(code: errno)
    }
  }
}
