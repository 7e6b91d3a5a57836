import Synchronization

/// How a store performs one operation: its requests, and the meaning of their responses.
struct ExchangePlan: Sendable {
  /// The request that continues after this many bytes have been received. Called for every attempt, because signatures
  /// contain the time.
  var request: @Sendable (_ received: Int64) throws(ObjectStoreError) -> TransferRequest
  /// Checks the head of a 2xx response, and returns the number of bytes to expect; `nil`: any.
  var accept: @Sendable (_ head: StoreResponseHead, _ received: Int64) throws(ObjectStoreError) -> Int64?
  /// The error of any other response, from its head and the beginning of its body.
  var refuse: @Sendable (_ head: StoreResponseHead, _ body: [UInt8]) -> ObjectStoreError
  var timeout: Duration
}

/// Receives the body of an operation, on the queue of the transfers.
protocol ExchangeSink: AnyObject, Sendable {
  /// Whether the bytes received so far stay valid when the connection breaks. Otherwise `began` is called again.
  var canContinue: Bool { get }
  func began(_ head: StoreResponseHead)
  func received(_ bytes: UnsafeRawBufferPointer) -> ReceiveResult
  func ended(_ result: Result<Void, ObjectStoreError>)
}

/// Collects a document within a limit.
final class DocumentSink: ExchangeSink {
  private let state = Mutex<(head: StoreResponseHead, bytes: [UInt8], isTooLong: Bool)>(
    (StoreResponseHead(), [], false))
  private let limit: Int
  private let exceeded: ObjectStoreError.Limit
  private let completion: @Sendable (Result<(StoreResponseHead, [UInt8]), ObjectStoreError>) -> Void

  /// - Parameter exceeded: the limit that the error of a longer document names.
  init(
    limit: Int, exceeded: ObjectStoreError.Limit = .documentBytes,
    _ completion: @escaping @Sendable (Result<(StoreResponseHead, [UInt8]), ObjectStoreError>) -> Void
  ) {
    (self.limit, self.exceeded, self.completion) = (limit, exceeded, completion)
  }

  var canContinue: Bool { false }

  func began(_ head: StoreResponseHead) { state.withLock { $0 = (head, [], false) } }

  func received(_ bytes: UnsafeRawBufferPointer) -> ReceiveResult {
    state.withLock { state in
      guard state.bytes.count + bytes.count <= limit else {
        state.isTooLong = true
        state.bytes = []
        return .end
      }
      state.bytes.append(contentsOf: bytes)
      return .taken
    }
  }

  func ended(_ result: Result<Void, ObjectStoreError>) {
    let (head, bytes, isTooLong) = state.withLock { $0 }
    if isTooLong { return completion(.failure(.limitExceeded(exceeded))) }
    completion(result.map { (head, bytes) })
  }
}

/// Passes the bytes of a read to its receiver. The plan has checked the head of each response before.
final class ReadSink: ExchangeSink {
  private let receiver: any ObjectReceiver
  private let describe: @Sendable (StoreResponseHead) -> ObjectDescription
  private let hasBegun = Mutex(false)

  init(_ receiver: any ObjectReceiver, _ describe: @escaping @Sendable (StoreResponseHead) -> ObjectDescription) {
    (self.receiver, self.describe) = (receiver, describe)
  }

  var canContinue: Bool { true }

  func began(_ head: StoreResponseHead) {
    let isFirst = hasBegun.withLock { hasBegun in
      defer { hasBegun = true }
      return !hasBegun
    }
    if isFirst { receiver.readBegan(describe(head)) }
  }

  func received(_ bytes: UnsafeRawBufferPointer) -> ReceiveResult { receiver.received(bytes) ? .taken : .pause }
  func ended(_ result: Result<Void, ObjectStoreError>) { receiver.readEnded(result) }
}
