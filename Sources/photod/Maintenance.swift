import AccessControl
import Dispatch
import ImageService
import LibraryCatalogue
import LibraryFiles
import Logging
import PhotoAPI
import PhotoModel
import Synchronization

/// The periodic work of the daemon, except scans.
struct Maintenance: Sendable {
  let catalogue: Catalogue
  let images: ImageManager
  let frames: FrameStore
  /// Started when another process has finished changing the catalogue, and when the disk cache gets its folder.
  let background: BackgroundRunner
  let results: FetchResultStore
  let streams: ChangeStreams
  let access: AccessRegistry
  let caching: CachingManagerRegistry
  let history: HistoryLimits
  let files: LibraryFiles
  let formerPictures: FormerPictures
  let api: PhotoAPI
  /// Stops pruning.
  let stop: StopFlag
  private let externalChanges = ExternalChanges()
  private let logger = Logger(label: "photod")
  private let timers = DispatchSources()

  private static let historyPruneSeconds = 300
  /// Seconds until the history is first pruned and its age is recorded: few, so that the time before the clock is set
  /// is known.
  private static let firstHistoryPruneSeconds = 1
  private static let termPruneSeconds = 86_400
  /// Seconds until former words are first removed.
  private static let firstTermPruneSeconds = 3600
  private static let uploadExpirySeconds = 300
  private static let formerPictureSeconds = 60
  private static let unusedLibrarySeconds = 3600
  /// Seconds until unused libraries are first removed.
  private static let firstUnusedLibrarySeconds = 60

  /// Starts all timers. They run as long as the process.
  func start() {
    timers.repeatEvery(1, after: 1, leeway: .milliseconds(200), on: .global(qos: .userInitiated)) { [self] in tick() }
    let pruning = DispatchQueue(label: "photod.history", qos: .utility)
    timers.repeatEvery(
      Self.historyPruneSeconds, after: Self.firstHistoryPruneSeconds, leeway: .seconds(10), on: pruning
    ) { [self] in pruneHistory() }
    timers.repeatEvery(
      Self.termPruneSeconds, after: Self.firstTermPruneSeconds, leeway: .seconds(60), on: pruning
    ) { [self] in pruneSearchTerms() }
    timers.repeatEvery(
      Self.unusedLibrarySeconds, after: Self.firstUnusedLibrarySeconds, leeway: .seconds(60),
      on: .global(qos: .utility)
    ) { [self] in removeUnusedLibraries() }
    // The first time after an interval: start-up has removed those that expired before.
    timers.repeatEvery(
      Self.uploadExpirySeconds, after: Self.uploadExpirySeconds, leeway: .seconds(10), on: .global(qos: .utility)
    ) { [self] in removeExpiredUploads() }
    timers.repeatEvery(Self.formerPictureSeconds, after: 1, leeway: .seconds(1), on: .global(qos: .utility)) { [self] in
      removeFormerPictures()
    }
  }

  /// Writes SQLite's log into the catalogue, so that a copy of this one file is complete. Call it last.
  func finish() {
    do throws(AssetSourceError) {
      try catalogue.checkpoint()
    } catch {
      logger.warning("the catalogue's log could not be emptied", metadata: ["error": "\(error)"])
    }
  }

  /// Once a second: picks up changes by other processes (`photod scan` changes the catalogue, `photod token` the
  /// tokens), sends stream heartbeats, ends expired requests and leases and those of callers whose token has ended,
  /// closes idle originals, drops expired plans of archives, and opens the disk cache that another daemon has released.
  private func tick() {
    access.refresh()
    let isChanged = catalogue.checkForExternalChanges()
    let hasSettled = externalChanges.record(isChanged: isChanged)
    streams.tick()
    images.expire()
    results.expire()
    results.endAll { access.admits($0) }
    caching.tick { [access] in access.admits($0) }
    api.tick()
    let isReopened = frames.reopen()
    // New and changed pictures have no placeholders and derivatives yet.
    if hasSettled || isReopened { background.start() }
  }

  /// Removes history older than the configured retention, in small steps.
  private func pruneHistory() {
    do {
      try catalogue.pruneHistory(history, needed: results.oldestChangeToken, until: stop)
    } catch {
      logger.error("history pruning failed", metadata: ["error": "\(error)"])
    }
  }

  /// Removes words that no asset has any more from the words that searches look up, in small steps.
  private func pruneSearchTerms() {
    do {
      try catalogue.pruneSearchTerms(until: stop)
    } catch {
      logger.error("removing former words failed", metadata: ["error": "\(error)"])
    }
  }

  /// Removes staged uploads that receive nothing more.
  private func removeExpiredUploads() {
    do {
      try files.removeExpiredUploads(until: stop)
    } catch .busy {
      // The daemon is stopping.
    } catch {
      logger.error("removing expired staged uploads failed", metadata: ["error": "\(error)"])
    }
  }

  /// Removes frames, derivatives and full-size renders of contents that no asset has.
  private func removeFormerPictures() {
    do {
      try formerPictures.remove()
    } catch {
      logger.error("removing pictures of former contents failed", metadata: ["error": "\(error)"])
    }
  }

  /// Removes limited libraries that are no longer used.
  private func removeUnusedLibraries() {
    do {
      try catalogue.pruneLimitedLibraries()
    } catch {
      logger.error("limited library cleanup failed", metadata: ["error": "\(error)"])
    }
  }
}

/// Detects that other processes have stopped changing the catalogue. A scan commits many times, and background work
/// begins with the first asset at each start.
private final class ExternalChanges: Sendable {
  private let wasChanged = Atomic(false)

  /// Records whether the catalogue has changed since the last call. Returns whether the changes have just ended: there
  /// were some before the last call, and none since.
  func record(isChanged: Bool) -> Bool {
    wasChanged.exchange(isChanged, ordering: .relaxed) && !isChanged
  }
}
