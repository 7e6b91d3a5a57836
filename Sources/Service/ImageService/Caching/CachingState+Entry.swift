import PhotoModel

extension CachingState {
  enum EntryState {
    case waiting
    case preparing(PreparationID)
    case ready(CachedFrame, wasPrepared: Bool)
    case awaitingOriginal
    case downloading(DownloadID)
    case leftOut(Reason)

    enum Reason: Equatable {
      case needsOriginal, failed
      /// Its original is in the cloud, and may not be downloaded for it.
      case inCloud
      /// Lack of room for this many bytes.
      case noRoom(Int)
    }

    /// The entry waits or is being prepared.
    var isPending: Bool {
      switch self {
      case .waiting, .preparing, .awaitingOriginal, .downloading: true
      case .ready, .leftOut: false
      }
    }
  }

  struct Entry {
    var wanted: ResolvedRequest
    var state = EntryState.waiting
    var isStarted = false
    var isInWindow = false
    /// The latest plan keeps the entry's frame if it exists, but would not prepare it.
    var isOnlyKept = false
    /// Position in the queue: lowest first.
    var rank = 0
    /// The side of the visible range on which the entry was first wanted.
    var side: PreheatWindow.Side?
    /// Prepare it only if that is cheap: without decoding the original.
    var isReducedQuality = false
    /// Its original may be downloaded.
    var allowsNetwork = false
    /// A download of its original has ended. There is only one attempt.
    var hasDownloaded = false
    /// The download that holds its original on this machine until the entry no longer needs it.
    var held: DownloadID?
    var isUsed = false

    /// The key of the frame.
    var key: RenditionKey { wanted.key }

    /// The entry was started, or the latest plan prepares it.
    var isWanted: Bool { isStarted || (isInWindow && !isOnlyKept) }

    mutating func leaveWindow() {
      isInWindow = false
      isOnlyKept = false
    }
  }
}
