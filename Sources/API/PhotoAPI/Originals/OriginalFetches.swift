import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel

/// Fetches originals of a remote library for routes that need the file itself. No queue waits meanwhile.
struct OriginalFetches: Sendable {
  let originals: OriginalStore
  let logger: Logger

  /// Downloads an original, then runs work on a queue; a problem that it throws is the response. If the client
  /// disconnects, the download no longer runs for it.
  func fetch(
    _ original: OriginalFile, for reply: Reply, then queue: WorkQueue,
    _ work: @escaping @Sendable () throws(Problem) -> Void
  ) {
    guard let fetcher = originals.fetcher else { return reply.send(Problem(ImageServiceError.inCloud).response) }
    let fetch = fetcher.fetch(original, isUrgent: true, onBytes: { _ in }) { [logger] result in
      switch result {
      case .failure(let error):
        let error = ImageServiceError(error)
        let problem = Problem(error)
        if problem.isServerFailure { reply.logFailure("fetching an original failed", error, to: logger) }
        reply.send(problem.response)
      case .success:
        let isAccepted = queue.submit {
          do throws(Problem) {
            try work()
          } catch {
            // Evicted again before the work has opened it: the downloads under way need more room than there is.
            reply.send((error.isInCloud ? Problem(ImageServiceError.fetchFailed(.noSpace)) : error).response)
          }
        }
        if !isAccepted { reply.send(Problem.overloaded.response) }
      }
    }
    reply.onClose { fetch.cancel() }
  }

  /// Runs work that opens an original. If that is in the cloud, and the request may use the network, it is downloaded,
  /// and the work runs once more on a queue.
  func run(
    _ original: OriginalFile, allowsNetwork: Bool, for reply: Reply, on queue: WorkQueue,
    _ work: @escaping @Sendable () throws(Problem) -> Void
  ) throws(Problem) {
    do throws(Problem) {
      try work()
    } catch {
      guard error.isInCloud, allowsNetwork else { throw error }
      fetch(original, for: reply, then: queue, work)
    }
  }
}
