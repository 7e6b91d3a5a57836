// Originals in the cloud that entries need: which one is downloaded next, and how a download ended. An entry whose
// frame can be made from a cache or a derivative needs no download.

import PhotoModel

extension CachingState {
  /// A preparation needs an original that is in the cloud.
  mutating func originalIsInCloud(_ entryKey: EntryKey) {
    guard let entry = entries[entryKey] else { return }
    // It was downloaded once and has been evicted since: do not download it again.
    if entry.hasDownloaded { return leaveOut(entryKey, .failed) }
    leaveOut(entryKey, .inCloud)
    guard entry.allowsNetwork else { return }
    updateEntry(entryKey) { $0.state = .awaitingOriginal }
    awaitingOriginals.insert(entryKey)
  }

  /// Starts to download the original of the most urgent entry that awaits its own. Returns false if none does.
  package mutating func startNextDownload() -> Bool {
    guard !awaitingOriginals.isEmpty else { return false }
    awaitingOriginals = awaitingOriginals.filter { entryKey in
      if case .awaitingOriginal? = entries[entryKey]?.state { true } else { false }
    }
    // In a fling, quality is reduced and nothing is downloaded.
    let next = awaitingOriginals.filter { entries[$0]?.isReducedQuality == false }
      .min { (entries[$0]?.rank ?? 0) < (entries[$1]?.rank ?? 0) }
    guard let next, let entry = entries[next] else { return false }
    awaitingOriginals.remove(next)
    lastDownload += 1
    let id = DownloadID(number: lastDownload)
    downloading[id] = next
    updateEntry(next) { $0.state = .downloading(id) }
    effects.append(.download(id, entry.wanted.asset.original))
    return true
  }

  /// A download has ended. Without effect if it was cancelled before.
  ///
  /// - Parameter isLocal: the original is on this machine now.
  package mutating func downloadEnded(_ id: DownloadID, isLocal: Bool) {
    guard let entryKey = downloading.removeValue(forKey: id) else { return }
    if !isLocal { effects.append(.endHold(id)) }
    updateEntry(entryKey) { entry in
      entry.hasDownloaded = true
      entry.held = isLocal ? id : nil
      entry.state = isLocal ? .waiting : .leftOut(.failed)
    }
    needsSort = true
  }
}
