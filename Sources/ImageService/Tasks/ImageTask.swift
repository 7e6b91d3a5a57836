import PhotoModel
import Synchronization

/// What a task tells its caller: any number of degraded frames, then one of the others.
package enum ImageDelivery: Sendable {
  case degraded(ImageFrame)
  case final(ImageFrame)
  case failed(ImageServiceError)
}

/// One caller waiting for a picture.
package final class ImageTask: Sendable {
  /// Names the task among those of its owner.
  package let requestID: String
  /// Whose it is: the name of a principal.
  package let owner: String
  package let asset: Asset
  package let request: ImageRequest
  package let priority: ImagePriority
  /// What was asked, as it was asked, for whoever lists what is under way.
  package let parameters: [String: String]
  package let created: ContinuousClock.Instant
  /// Whose job it waits for.
  let key: JobKey
  /// The job was begun for it, and others joined, if any did. Set before anything is delivered.
  let beganItsJob = Atomic<Bool>(false)

  /// Deliveries come from several threads, and reach the caller one at a time and in order without a lock held: whoever
  /// finds nobody delivering delivers until nothing is left.
  private struct Mailbox {
    var waiting: [ImageDelivery] = []
    var isDelivering = false
    /// Nothing is taken any more: the last was.
    var isOver = false
    var degradedCount = 0
    var largestWidth = 0
  }

  private let mailbox = Mutex(Mailbox())
  private let deliver: @Sendable (ImageTask, ImageDelivery) -> Void

  /// - Parameter deliver: called in order, never twice at a time, the last time with `.final` or `.failed`.
  init(
    _ caller: ImageManager.Caller, asset: Asset, request: ImageRequest, created: ContinuousClock.Instant,
    deliver: @escaping @Sendable (ImageTask, ImageDelivery) -> Void
  ) {
    requestID = caller.requestID
    owner = caller.owner
    self.asset = asset
    self.request = request
    priority = caller.priority
    parameters = caller.parameters
    key = JobKey(
      rendition: RenditionKey(asset, request),
      fresh: caller.bypassesCaches ? "\(caller.owner)/\(caller.requestID)" : nil)
    self.created = created
    self.deliver = deliver
  }

  /// Whether degraded frames are of any use to it.
  var wantsDegraded: Bool { request.deliveryMode != .highQualityFormat }

  /// Whether it waits for nothing any more.
  var isOver: Bool { mailbox.withLock { $0.isOver } }

  /// A frame that stands for the final one, for a while or, where the quickest was asked for, for good. True: the task has
  /// what it wants, and leaves.
  func receive(degraded frame: ImageFrame) -> Bool {
    switch request.deliveryMode {
    case .highQualityFormat: return false
    case .fastFormat:
      finish(.final(frame.addressed(to: requestID)))
      return true
    case .opportunistic:
      post { mailbox in
        // One; a second only where it is wanted and shows more.
        guard mailbox.degradedCount < (request.allowsSecondaryDegradedImage ? 2 : 1),
          frame.result.size.width > mailbox.largestWidth
        else { return nil }
        mailbox.degradedCount += 1
        mailbox.largestWidth = frame.result.size.width
        return .degraded(frame.addressed(to: requestID))
      }
      return false
    }
  }

  /// The last delivery. What comes after it is dropped: a degraded frame that lost the race, a second end.
  func finish(_ delivery: ImageDelivery) {
    post { mailbox in
      defer { mailbox.isOver = true }
      guard case .final(let frame) = delivery else { return delivery }
      return .final(frame.addressed(to: requestID))
    }
  }

  private func post(_ make: (inout Mailbox) -> ImageDelivery?) {
    let delivers = mailbox.withLock { mailbox in
      guard !mailbox.isOver, let delivery = make(&mailbox) else { return false }
      mailbox.waiting.append(delivery)
      defer { mailbox.isDelivering = true }
      return !mailbox.isDelivering
    }
    guard delivers else { return }
    while let next = nextDelivery() { deliver(self, next) }
  }

  private func nextDelivery() -> ImageDelivery? {
    mailbox.withLock { mailbox in
      guard !mailbox.waiting.isEmpty else {
        mailbox.isDelivering = false
        return nil
      }
      return mailbox.waiting.removeFirst()
    }
  }
}
