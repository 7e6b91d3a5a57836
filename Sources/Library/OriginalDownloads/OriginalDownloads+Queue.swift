// The work on the queue of the downloads: which one starts next, and how each one ends.

import Dispatch
import ObjectStores
import PhotoModel

extension OriginalDownloads {
  func rejoin(
    _ key: ObjectKey, _ identity: FileIdentity, _ fingerprint: FileFingerprint?, _ priority: Priority,
    _ ticket: Ticket, _ waiter: any OriginalWaiter
  ) {
    state.withLock { state in
      if state.jobs[ticket.name] == nil {
        state.jobs[ticket.name] = Job(
          key: key, identity: identity, fingerprint: fingerprint, waiters: [:], number: ticket.number)
      }
      state.jobs[ticket.name]?.waiters[ticket.number] = Waiter(receiver: waiter, priority: priority)
    }
    startNext()
  }

  /// The decision about the first job that waits.
  private enum NextStep {
    /// It has its permit and its room, for which these originals are evicted.
    case starts(OriginalName, Job, removed: [OriginalName])
    /// Even when all downloads have ended, there would be no room for it.
    case hasNoSpace(OriginalName, number: UInt64)
    /// It takes the place of a download without a caller, which was removed from the table.
    case displaces(Download?)
  }

  /// Starts downloads while there are places and room: requests before windows, older before newer ones. Called after
  /// every change of who waits and of the room, which may also let paused downloads continue.
  func startNext() {
    dispatchPrecondition(condition: .onQueue(queue))
    resumeWindows()
    while let step = state.withLock({ state in next(&state) }) {
      switch step {
      case .starts(let name, let job, let removed):
        for name in removed { folder.remove(name) }
        start(name, job)
      case .hasNoSpace(let name, let number): finish(name, number, .failure(.noSpace))
      case .displaces(let download): download?.cancel()
      }
    }
  }

  private func start(_ name: OriginalName, _ job: Job) {
    do throws(SystemError) {
      let partial = try folder.makePartial(job.number)
      let download = Download(
        name, job.key, job.identity, fingerprint: job.fingerprint, checksTag: state.withLock { $0.checksTags },
        partial: partial, pendingLimit: limits.pendingBytes, queue: queue,
        mayReceive: { [weak self] in self?.mayReceive($0, $1) ?? true },
        progressed: { [weak self] in self?.progressed($0) }, ended: { [weak self] in self?.ended($0, $1) })
      let isWanted = state.withLock { state in
        guard state.jobs[name]?.number == job.number else { return false }
        state.jobs[name]?.download = download
        state.running += 1
        return true
      }
      if isWanted { download.begin(from: store) } else { folder.discard(partial) }
    } catch {
      finish(name, job.number, .failure(.system(error)))
    }
  }

  /// The first job that waits, once it has a permit. Others do not overtake it while it waits for room, because a large
  /// original would never get any.
  private func next(_ state: inout State) -> NextStep? {
    let waiting = state.jobs.filter { $0.value.download == nil }
    let first = waiting.min {
      ($1.value.priority.rawValue, $0.value.number) < ($0.value.priority.rawValue, $1.value.number)
    }
    guard let (name, job) = first else { return nil }
    let mayRun = hasPermit(for: job, state)
    guard mayRun, let removed = state.index.reserve(job.identity.size) else {
      if mayRun, !state.index.mayHaveRoom(for: job.identity.size) { return .hasNoSpace(name, number: job.number) }
      if job.priority == .request, let other = state.jobs.first(where: { $0.value.waiters.isEmpty }) {
        Self.end(other.key, &state)
        state.ended.abandoned += 1
        return .displaces(other.value.download)
      }
      return nil
    }
    state.jobs[name]?.hasRoom = true
    return .starts(name, job, removed: removed)
  }

  private func hasPermit(for job: Job, _ state: borrowing State) -> Bool {
    guard job.priority < .request else { return state.running < limits.downloads }
    let ofWindows = state.jobs.values.count { $0.download != nil && $0.priority < .request }
    return ofWindows < limits.windowDownloads && state.running < max(1, limits.downloads - 1)
  }

  private func progressed(_ download: Download) {
    let waiters = state.withLock { state in
      state.jobs[download.name].flatMap { $0.download === download ? Array($0.waiters.values) : nil } ?? []
    }
    let original = ArrivingOriginal(download)
    for waiter in waiters { waiter.receiver.downloadProgressed(original) }
  }

  private func ended(_ download: Download, _ result: Result<Void, DownloadError>) {
    dispatchPrecondition(condition: .onQueue(queue))
    let number = state.withLock { state in
      state.jobs[download.name].flatMap { $0.download === download ? $0.number : nil }
    }
    guard let number else {
      // All waiters have left.
      return folder.discard(download.partial)
    }
    guard case .success = result else {
      folder.discard(download.partial)
      return finish(download.name, number, result)
    }
    if download.isUnmatched { state.withLock { _ = $0.noteUnmatched(download.name) } }
    if download.hasNonMD5Tag { state.withLock { $0.checksTags = false } }
    do throws(SystemError) {
      try folder.keep(download.partial, as: download.name)
      finish(download.name, number, .success(()))
    } catch {
      folder.discard(download.partial)
      finish(download.name, number, .failure(.system(error)))
    }
  }

  private func finish(_ name: OriginalName, _ number: UInt64, _ result: Result<Void, DownloadError>) {
    let job = state.withLock { state -> Job? in
      guard let job = state.jobs[name], job.number == number else {
        // All waiters left while the file got its name: it is complete, but not in the index.
        return nil
      }
      Self.end(name, &state)
      if case .success = result {
        state.index.insert(name, size: job.identity.size)
        state.ended.complete += 1
        state.ended.completeBytes += job.identity.size
      } else {
        state.ended.failed += 1
      }
      return job
    }
    guard let job else { return folder.remove(name) }
    let opened: Result<any FileByteSource, DownloadError> = result.flatMap {
      if let file = folder.open(name, size: job.identity.size) {
        .success(file)
      } else {
        .failure(.system(.missingFile))
      }
    }
    for (_, waiter) in job.waiters.sorted(by: { $0.key < $1.key }) { waiter.receiver.downloadEnded(opened) }
    startNext()
  }
}

extension SystemError {
  /// ENOENT.
  fileprivate static let missingFile = SystemError(code: 2)
}
