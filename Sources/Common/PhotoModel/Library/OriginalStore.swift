// Opens originals: turns a file name from the catalogue into bytes. `LibraryFolder` provides the store over the
// library's folder, `OriginalDownloads` the one over a remote library, whose originals have to be downloaded first.

/// Why an original could not be opened.
package enum OriginalStoreError: Error, Sendable, Equatable {
  /// The file is missing, or its path leads out of the library.
  case notFound
  /// The path exists, but it is neither the file that the catalogue knows nor a copy of it: it was replaced or edited.
  case changed
  /// The original is in a remote store, and not on this machine. ``OriginalDownloader`` downloads it.
  case inCloud
  case failed(SystemError)
}

extension OriginalStoreError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .notFound: "the file is missing, or its path leads out of the library"
    case .changed: "the file was replaced or edited since the last scan"
    case .inCloud: "the original is not on this machine"
    case .failed(let error): error.description
    }
  }
}

package struct OriginalStore: Sendable {
  /// Makes originals local; `nil` if all of them are.
  package let downloader: (any OriginalDownloader)?
  private let opening: @Sendable (OriginalFile) throws(OriginalStoreError) -> any ByteSource

  package init(
    downloader: (any OriginalDownloader)? = nil,
    _ opening: @escaping @Sendable (OriginalFile) throws(OriginalStoreError) -> any ByteSource
  ) {
    self.downloader = downloader
    self.opening = opening
  }

  /// Opens an original for reading. Blocks while the file system does, and never waits for a network.
  package func open(_ original: OriginalFile) throws(OriginalStoreError) -> any ByteSource { try opening(original) }

  /// Whether an original is in a remote store and not on this machine. Takes a lock for a moment; reads no file.
  package func isInCloud(_ original: OriginalFile) -> Bool { downloader.map { !$0.isLocal(original) } ?? false }
}

/// Downloads originals of a remote library. Nothing here waits for the network.
package protocol OriginalDownloader: Sendable {
  /// Whether an original is on this machine, by an index in memory.
  func isLocal(_ original: OriginalFile) -> Bool

  /// The parts of an original that scans have kept, for its embedded thumbnail. A read of another part fails. `nil` if
  /// there are none. Reads a file.
  func head(of original: OriginalFile) -> (any ByteSource)?

  /// Starts to download an original, or joins a download that others wait for.
  ///
  /// - Parameters:
  ///   - isUrgent: a caller waits, so it comes before originals that are downloaded in advance. One that is downloaded
  ///     in advance is held until the wait is cancelled: other originals are evicted before it.
  ///   - onBytes: called each time more bytes have been received, on any queue; must return quickly. Nothing that was
  ///     made of these bytes may be kept or called final before `ended` has succeeded: only then are they verified.
  ///   - ended: called once, later and on any queue, unless the wait is cancelled before; must return quickly. The
  ///     source stays readable when the original is evicted.
  func download(
    _ original: OriginalFile, isUrgent: Bool, onBytes: @escaping @Sendable (any ArrivingSource) -> Void,
    ended: @escaping @Sendable (Result<any FileByteSource, OriginalDownloadError>) -> Void
  ) -> any OriginalWait
}

/// One caller that waits for an original.
package protocol OriginalWait: Sendable {
  /// Stops waiting, or holding what was downloaded in advance. The download ends if no other caller waits for it.
  func cancel()

  /// Stops waiting, because the caller's deadline has passed. A download that has received bytes continues without a
  /// caller, so that the next request finds more of the original.
  func expire()
}

/// Why an original could not be downloaded. No case holds a credential or text of the store.
package enum OriginalDownloadError: Error, Sendable, Hashable {
  /// The store has no such object.
  case notFound
  /// The object is not the one that the catalogue knows.
  case changed
  /// The local store of originals, or its disk, has no room for it.
  case noSpace
  /// The local store of originals could not be read or written; the text is for the log.
  case localStoreFailed(String)
  /// Too many downloads wait.
  case queueFull
  /// No answer, or not complete in time.
  case timedOut
  /// The store failed repeatedly, and gets no request before this time has passed.
  case suspended(retryAfter: Duration)
  /// The store failed, or refused the request; the text is for the log.
  case failed(String)
}
