import Synchronization

/// The limits of all operations with one remote store.
package struct RemoteLimits: Sendable, Hashable {
  package var transfers = TransferLimits()
  package var retries = RetryPolicy()
  package var breaker = CircuitBreaker.Limits()
  /// Maximum bytes of a list, manifest or error document.
  package var documentBytes = 16 << 20
  /// Maximum bytes of an object that is read.
  var objectBytes: Int64 = 16 << 30

  package init() {}
}

/// One remote store's connections, its breaker and its clock.
final class RemoteOrigin: Sendable {
  let loop: TransferLoop
  let limits: RemoteLimits
  let clock: RemoteClock
  private let breaker: Mutex<CircuitBreaker>

  init(rules: TransferRules, limits: RemoteLimits, clock: RemoteClock) {
    loop = TransferLoop(limits: limits.transfers, rules: rules)
    self.limits = limits
    self.clock = clock
    breaker = Mutex(CircuitBreaker(limits: limits.breaker))
  }

  /// Throws `.suspended` while the breaker is open. Otherwise the caller reports the outcome.
  func admit() throws(ObjectStoreError) {
    let now = clock.now()
    if let retryAfter = breaker.withLock({ $0.admit(now: now) }) { throw .suspended(retryAfter: retryAfter) }
  }

  /// - Parameter failure: `nil` after a success.
  func report(_ failure: ObjectStoreError?) {
    let now = clock.now()
    breaker.withLock { breaker in
      switch failure {
      case .cancelled, .limitExceeded(.pendingOperations): breaker.abandoned(now: now)
      case .some(let failure) where failure.isOutage: breaker.failed(now: now)
      default: breaker.succeeded()
      }
    }
  }

  /// Starts an operation.
  func run(_ plan: ExchangePlan, _ sink: any ExchangeSink) -> any ObjectOperation {
    let exchange = RemoteExchange(plan, sink, origin: self)
    exchange.begin()
    return exchange
  }

  /// Starts an operation whose response is a document.
  func run<Value: Sendable>(
    _ plan: ExchangePlan, _ completion: @escaping @Sendable (Result<Value, ObjectStoreError>) -> Void,
    _ interpret: @escaping @Sendable (StoreResponseHead, [UInt8]) throws(ObjectStoreError) -> Value
  ) -> any ObjectOperation {
    run(
      plan,
      DocumentSink(limit: limits.documentBytes) { result in
        switch result {
        case .success(let (head, bytes)):
          completion(Result { () throws(ObjectStoreError) in try interpret(head, bytes) })
        case .failure(let error): completion(.failure(error))
        }
      })
  }

  /// Calls `completion` without a request, on the queue of the transfers.
  func fail(_ completion: @escaping @Sendable () -> Void) -> any ObjectOperation {
    loop.call(completion)
    return CancellationFlag()
  }

  /// Reads an object, or a part of it, in one or more requests.
  ///
  /// - Parameters:
  ///   - sha256: the digest of the whole object in the head of a response; `nil` if there is none.
  ///   - makePlan: the requests of a read; `nil` if the store can't have the object.
  func read(
    _ range: ObjectRange?, of identity: ObjectIdentity, into receiver: any ObjectReceiver,
    sha256: @escaping @Sendable (StoreResponseHead) -> [UInt8]?, makePlan: (ResumableRead) -> ExchangePlan?
  ) -> any ObjectOperation {
    let read: ResumableRead
    do throws(ObjectStoreError) {
      read = try ResumableRead(range, of: identity)
      guard identity.size <= limits.objectBytes else { throw .limitExceeded(.objectBytes) }
    } catch {
      return fail { receiver.readEnded(.failure(error)) }
    }
    guard var plan = makePlan(read) else { return fail { receiver.readEnded(.failure(.unsupported)) } }
    plan.timeout = limits.retries.readTimeout
    plan.accept = { head, received throws(ObjectStoreError) in try read.accept(head, after: received) }
    return run(
      plan,
      ReadSink(receiver) { head in
        (try? head.description(size: identity.size, sha256: sha256(head))) ?? ObjectDescription(identity: identity)
      })
  }
}
