import PhotoModel
import Synchronization

/// A delivery of a task to its caller: any number of degraded frames and of `progress`, then exactly one `final` or
/// `failed`.
package enum ImageDelivery: Sendable {
  /// The share of the original that has been downloaded, 0 to 1, for opportunistic tasks that may use the network.
  case progress(Double)
  case degraded(ImageFrame)
  case final(ImageFrame)
  case failed(ImageServiceError)
}

/// One caller that waits for a picture.
package final class ImageTask: Sendable {
  /// Unique among the caller's active tasks.
  package let requestID: String
  /// The name of the principal that made the request.
  let caller: String
  let wanted: ResolvedRequest
  let priority: ImagePriority
  /// The request's parameters as the client sent them, for the list of active requests.
  let parameters: [String: String]
  let created: ContinuousClock.Instant
  /// Whether the original may be downloaded from its remote store.
  let allowsNetwork: Bool
  /// The key of the job that the task waits for.
  let key: JobKey
  /// Whether the job was started for this task; other tasks may have joined later. Set before anything is delivered.
  let startedJob = Atomic<Bool>(false)

  private typealias Receiver = @Sendable (ImageTask, ImageDelivery) -> Void

  /// Deliveries come from several threads. They reach the caller one at a time and in order, without a lock held: the
  /// thread that finds the mailbox idle delivers until it is empty.
  private struct Mailbox {
    /// Released after the last delivery, because it usually holds the response, which holds this task.
    var receiver: Receiver?
    var waiting: [ImageDelivery] = []
    var isDelivering = false
    /// The last delivery was accepted; later ones are dropped.
    var isFinished = false
    var degradedCount = 0
    var largestWidth = 0
    var lastProgress = 0.0
  }

  /// Progress is delivered again after this share of the original.
  private static let progressStep = 0.05

  private let mailbox: Mutex<Mailbox>

  /// - Parameter deliver: called in order and never concurrently; the last call is `.final` or `.failed`, and `deliver`
  ///   is released after it.
  init(
    _ context: ImageManager.RequestContext, _ wanted: ResolvedRequest, created: ContinuousClock.Instant,
    deliver: @escaping @Sendable (ImageTask, ImageDelivery) -> Void
  ) {
    requestID = context.requestID
    caller = context.caller
    self.wanted = wanted
    priority = context.priority
    parameters = context.parameters
    key = JobKey(
      rendition: wanted.key,
      uncachedRequest: context.bypassesCaches ? "\(context.caller)/\(context.requestID)" : nil)
    self.created = created
    allowsNetwork = context.allowsNetwork
    mailbox = Mutex(Mailbox(receiver: deliver))
  }

  var request: ImageRequest { wanted.request }

  /// Whether the task can use degraded frames.
  var wantsDegraded: Bool { request.deliveryMode != .highQualityFormat }

  /// Offers a degraded frame. For `fastFormat` it becomes the task's final frame; for `opportunistic` it is delivered
  /// before the final one. Returns true if the task is now complete and must leave its job.
  func receive(degraded frame: ImageFrame) -> Bool {
    switch request.deliveryMode {
    case .highQualityFormat: return false
    case .fastFormat:
      finish(.final(frame.withRequestID(requestID)))
      return true
    case .opportunistic:
      post { mailbox in
        // One degraded frame; a second one only if the request allows it and it shows more.
        guard mailbox.degradedCount < (request.allowsSecondaryDegradedImage ? 2 : 1),
          frame.result.size.width > mailbox.largestWidth
        else { return nil }
        mailbox.degradedCount += 1
        mailbox.largestWidth = frame.result.size.width
        return .degraded(frame.withRequestID(requestID))
      }
      return false
    }
  }

  /// Offers the progress of the download. Small steps are left out.
  func receive(progress: Double) {
    guard request.deliveryMode == .opportunistic else { return }
    post { mailbox in
      guard progress >= mailbox.lastProgress + Self.progressStep else { return nil }
      mailbox.lastProgress = progress
      return .progress(progress)
    }
  }

  /// Posts the last delivery. Later ones are dropped: for example a degraded frame that arrives late, or a second end.
  func finish(_ delivery: ImageDelivery) {
    post { mailbox in
      defer { mailbox.isFinished = true }
      guard case .final(let frame) = delivery else { return delivery }
      return .final(frame.withRequestID(requestID))
    }
  }

  private func post(_ make: (inout Mailbox) -> ImageDelivery?) {
    let delivers = mailbox.withLock { mailbox in
      guard !mailbox.isFinished, let delivery = make(&mailbox) else { return false }
      mailbox.waiting.append(delivery)
      defer { mailbox.isDelivering = true }
      return !mailbox.isDelivering
    }
    guard delivers else { return }
    while let (receiver, delivery) = nextDelivery() { receiver(self, delivery) }
  }

  private func nextDelivery() -> (Receiver, ImageDelivery)? {
    // Released after the lock: its deinit may run arbitrary code.
    var released: Receiver?
    defer { withExtendedLifetime(released) {} }
    return mailbox.withLock { mailbox in
      guard let receiver = mailbox.receiver, !mailbox.waiting.isEmpty else {
        mailbox.isDelivering = false
        if mailbox.isFinished { released = mailbox.receiver.take() }
        return nil
      }
      return (receiver, mailbox.waiting.removeFirst())
    }
  }
}
