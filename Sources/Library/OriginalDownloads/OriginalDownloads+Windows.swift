// Downloads that only windows wait for, or that are to be kept. They pause while another original arrives for a
// request, and share one maximum rate. They do not pause for a request whose download has not begun: it may wait for
// the place or for the room of one of these.
//
//     mayReceive     bytes have come: they are taken, or the download is noted as paused
//     resumeWindows  after every change of who waits, and when the rate allows more: paused downloads ask again

extension OriginalDownloads {
  /// Whether a download may receive `count` bytes now. A download for a window must wait while another original arrives
  /// for a request, and when all windows together exceed their rate. A refused download is added to `paused` and
  /// continued later.
  func mayReceive(_ download: Download, _ count: Int) -> Bool {
    enum Answer {
      case yes
      case afterRequests
      case after(Duration)
    }
    let now = clock.now()
    let (answer, isScheduled) = state.withLock { state -> (Answer, Bool) in
      guard let job = state.jobs[download.name], job.download === download, job.priority < .request else {
        return (.yes, true)
      }
      if state.jobs.values.contains(where: { $0.priority == .request && $0.download != nil }) {
        state.paused.insert(download.name)
        return (.afterRequests, true)
      }
      guard let delay = state.throttle.admit(count, now: now) else { return (.yes, true) }
      state.paused.insert(download.name)
      defer { state.isResumeScheduled = true }
      return (.after(delay), state.isResumeScheduled)
    }
    switch answer {
    case .yes: return true
    case .afterRequests: return false
    case .after(let delay):
      if isScheduled { return false }
      clock.after(delay) { [weak self] in
        guard let self else { return }
        state.withLock { $0.isResumeScheduled = false }
        queue.async { self.resumeWindows() }
      }
      return false
    }
  }

  func resumeWindows() {
    let downloads = state.withLock { state in
      defer { state.paused = [] }
      return state.paused.compactMap { state.jobs[$0]?.download }
    }
    for download in downloads { download.continueReading() }
  }
}
