import ImageService

/// The source of a stream's events.
protocol ChangeStreamSource: Sendable {
  /// Identifies the state that the client has; the client sends it back when it reconnects. `nil`: the client keeps
  /// its previous identifier.
  var eventID: String? { get }

  /// The next step for the client. Called on the worker, never concurrently for one stream.
  func next(_ limits: ChangeStreams.Limits) -> ChangeStreamStep

  /// Keeps the source's leases alive. Called about once a second, possibly during ``next(_:)``.
  func keepAlive()
}

enum ChangeStreamStep: Sendable {
  case idle
  /// Some history that the client does not get was skipped; more history follows.
  case skipped
  case event(String, id: String?, data: [UInt8], hasMore: Bool)
  /// Computing the step takes too long for the worker, so the given queue does it. Afterwards the stream pauses for as
  /// long as the computation took, so that it uses at most half of the queue's time.
  case deferred(WorkQueue, @Sendable () -> ChangeStreamStep)
  /// The stream ends, because the step failed.
  case end
}
