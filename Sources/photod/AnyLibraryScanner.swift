import LibraryScan
import PhotoModel
import RemoteScan

/// The scanner of a library, wherever it is.
enum AnyLibraryScanner: Sendable {
  case folder(LibraryScanner)
  case remote(RemoteScanner)

  /// Scans the whole library once. Blocks; `onProgress` is called on this thread. Throws `LibraryError` or
  /// ``RemoteScanError``.
  ///
  /// - Parameter acceptsRemovals: remove all missing files, however many.
  func scan(
    acceptingRemovals acceptsRemovals: Bool = false, stop: StopFlag = StopFlag(),
    onProgress: ((ScanProgress) -> Void)? = nil
  ) throws -> ScanProgress {
    switch self {
    case .folder(let scanner):
      return try scanner.scan(
        acceptingRemovals: acceptsRemovals, estimatingTotal: onProgress != nil, stop: stop,
        onProgress: onProgress ?? { _ in })
    case .remote(let scanner):
      let progress = try scanner.scan(acceptingRemovals: acceptsRemovals, stop: stop) {
        onProgress?(ScanProgress($0))
      }
      return ScanProgress(progress)
    }
  }
}

extension ScanProgress {
  fileprivate init(_ remote: RemoteScanProgress) {
    self.init()
    files = remote.objects
    probed = remote.probed
    unreadable = remote.unreadable
    refused = remote.refused
    moved = remote.moved
    removed = remote.removed
  }
}
