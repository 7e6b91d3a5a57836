// One operation with a remote store: sends requests until one succeeds, a failure is final or the deadline passes.
//
//     begin -> attempt -> response complete                            -> end
//                 ^       transient failure, time and attempts left
//                 +------ delay (RetryPolicy)
//
// A read that was interrupted continues at the byte where it stopped; its request carries `If-Match`, so the rest is of
// the same object or is refused.

/// `@unchecked Sendable` because all mutable fields are used only on the queue of the origin's loop, which the methods
/// assert.
final class RemoteExchange: ObjectOperation, TransferHandler, @unchecked Sendable {
  private static let maximumErrorBytes = 65_536

  /// The state of the current attempt.
  private struct Attempt {
    var head = StoreResponseHead()
    /// The body of an error response.
    var errorBody: [UInt8]?
    /// Bytes that are still expected; `nil`: any number.
    var rest: Int64?
    var hasReceivedBytes = false
    /// Why a call of the handler ended the transfer.
    var reason: ObjectStoreError?
  }

  private let plan: ExchangePlan
  private let sink: any ExchangeSink
  private let origin: RemoteOrigin
  private let deadline: Duration

  // Guarded by the loop's queue.
  /// Attempts since the last byte that was received.
  private var attempts = 0
  private var received: Int64 = 0
  private var transfer: TransferID?
  private var current = Attempt()
  private var hasEnded = false

  init(_ plan: ExchangePlan, _ sink: any ExchangeSink, origin: RemoteOrigin) {
    self.plan = plan
    self.sink = sink
    self.origin = origin
    deadline = origin.clock.now() + plan.timeout
  }

  func begin() { origin.loop.call { [self] in attempt() } }

  func cancel() {
    origin.loop.call { [self] in
      if let transfer { origin.loop.cancel(transfer) } else { end(.failure(.cancelled)) }
    }
  }

  func resume() {
    origin.loop.call { [self] in
      if let transfer { origin.loop.resume(transfer) }
    }
  }

  // MARK: Attempts

  private func attempt() {
    origin.loop.assertOnQueue()
    guard !hasEnded else { return }
    attempts += 1
    if !sink.canContinue { received = 0 }
    current = Attempt()
    do throws(ObjectStoreError) {
      var request = try plan.request(received)
      request.timeout = deadline - origin.clock.now()
      guard request.timeout > .zero else { throw .timedOut }
      try origin.admit()
      do throws(ObjectStoreError) {
        transfer = try origin.loop.start(request, self)
      } catch {
        origin.report(.cancelled)
        throw error
      }
    } catch {
      end(.failure(error))
    }
  }

  private func end(_ result: Result<Void, ObjectStoreError>) {
    guard !hasEnded else { return }
    hasEnded = true
    sink.ended(result)
  }

  // MARK: TransferHandler

  func responseBegan(_ head: StoreResponseHead) -> Bool {
    origin.loop.assertOnQueue()
    current.head = head
    guard (200..<300).contains(head.status) else {
      current.errorBody = []
      return true
    }
    do throws(ObjectStoreError) {
      current.rest = try plan.accept(head, received)
    } catch {
      current.reason = error
      return false
    }
    sink.began(head)
    return true
  }

  func received(_ bytes: UnsafeRawBufferPointer) -> ReceiveResult {
    origin.loop.assertOnQueue()
    if let body = current.errorBody {
      // The beginning is enough: the code of an error comes first.
      current.errorBody?.append(contentsOf: bytes.prefix(Self.maximumErrorBytes - body.count))
      return body.count + bytes.count <= Self.maximumErrorBytes ? .taken : .end
    }
    if let rest = current.rest, rest < bytes.count {
      current.reason = .malformed(.wrongRange)
      return .end
    }
    let result = sink.received(bytes)
    switch result {
    case .taken:
      received += Int64(bytes.count)
      current.hasReceivedBytes = true
      current.rest? -= Int64(bytes.count)
      if sink.canContinue { attempts = 1 }
    case .pause: break
    case .end: current.reason = .limitExceeded(.documentBytes)
    }
    return result
  }

  func transferEnded(_ failure: ObjectStoreError?) {
    origin.loop.assertOnQueue()
    transfer = nil
    let outcome = outcome(of: failure)
    // A store that sent bytes before the connection broke is alive: this does not count as its failure.
    origin.report(current.hasReceivedBytes && outcome?.isTransient == true ? nil : outcome)
    guard let outcome else { return end(.success(())) }
    guard outcome.isTransient else { return end(.failure(outcome)) }
    retryLater(after: outcome)
  }

  /// `nil`: the operation is complete.
  private func outcome(of failure: ObjectStoreError?) -> ObjectStoreError? {
    if let reason = current.reason { return reason }
    // The body of an error response may have been cut off, but its status is known.
    if let body = current.errorBody, failure != .cancelled || body.count == Self.maximumErrorBytes {
      return plan.refuse(current.head, body)
    }
    if let failure { return failure }
    if let rest = current.rest, rest != 0 { return .malformed(.wrongLength) }
    return nil
  }

  private func retryLater(after failure: ObjectStoreError) {
    let policy = origin.limits.retries
    let requested = current.head["retry-after"].flatMap { Int64($0) }.map { Duration.seconds(min(max(0, $0), 86_400)) }
    let delay = policy.delay(before: attempts + 1, random: origin.clock.random(), requested: requested)
    guard attempts < policy.attempts, origin.clock.now() + delay < deadline else { return end(.failure(failure)) }
    origin.clock.after(delay) { [self] in
      origin.loop.call { [self] in attempt() }
    }
  }
}
