// Moments that a change left stale, because recomputing them takes longer than a caller should wait: a change list may
// change thousands of days, and a scan that ended early may have left as many.

import Dispatch
import LibraryCatalogue
import Logging
import PhotoModel
import Synchronization

extension LibraryFiles {
  /// Recomputes the moments that a commit left stale, on a queue of its own. Call it after the commit.
  func refreshMomentsLater() {
    // If this can't be read, the refresh logs why.
    let isStale = (try? catalogue.hasStaleMoments()) ?? true
    guard isStale, !isMomentRefreshQueued.exchange(true, ordering: .acquiringAndReleasing) else { return }
    momentQueue.async { [self] in
      // First, so that a commit that this refresh may miss queues another one.
      isMomentRefreshQueued.store(false, ordering: .releasing)
      refreshMoments()
    }
  }

  private func refreshMoments() {
    do throws(AssetSourceError) {
      try catalogue.refreshMoments(zone: timeZone)
    } catch {
      // The next change or scan refreshes them.
      logger.warning("refreshing moments failed", metadata: ["error": "\(error)"])
    }
  }
}
