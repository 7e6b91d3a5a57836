import ImageService
import Logging
import PhotoModel

/// Downloads originals of a remote library for routes that need the file itself. No queue waits during a download.
struct RouteDownloads: Sendable {
  let originals: OriginalStore
  let logger: Logger

  /// Downloads an original, then runs work on a queue; a problem that it throws is the response. If the client
  /// disconnects, its wait for the download is cancelled.
  func download(
    _ original: OriginalFile, for reply: Reply, then queue: WorkQueue,
    _ work: @escaping @Sendable () throws(Problem) -> Void
  ) {
    guard let downloader = originals.downloader else { return reply.send(Problem(ImageServiceError.inCloud).response) }
    let wait = downloader.download(original, isUrgent: true, onBytes: { _ in }) { [logger] result in
      switch result {
      case .failure(let error):
        reply.send(reply.problem(ImageServiceError(error), "fetching an original failed", logger).response)
      case .success:
        let isAccepted = queue.submit {
          do throws(Problem) {
            try work()
          } catch {
            // Evicted again before the work has opened it: the downloads under way need more room than there is.
            reply.send((error.isInCloud ? Problem(ImageServiceError.downloadFailed(.noSpace)) : error).response)
          }
        }
        if !isAccepted { reply.send(Problem.overloaded.response) }
      }
    }
    reply.onClose { wait.cancel() }
  }

  /// Runs work that opens an original. If the original is in the cloud and the request may use the network, it is
  /// downloaded, and the work runs again on a queue.
  func run(
    _ original: OriginalFile, allowsNetwork: Bool, for reply: Reply, on queue: WorkQueue,
    _ work: @escaping @Sendable () throws(Problem) -> Void
  ) throws(Problem) {
    do throws(Problem) {
      try work()
    } catch {
      guard error.isInCloud, allowsNetwork else { throw error }
      download(original, for: reply, then: queue, work)
    }
  }
}
