import Dispatch
import Primitives

/// The receiving side of one streamed request body: it buffers the bytes that arrive before the handler reads them, up
/// to a window, and delivers it one piece for each read.
///
/// A value inside `Connection`, from the end of the request head to the end of the response, used only on the loop's
/// queue. Readers are called asynchronously, because a reader may read again or respond at once and so re-enter the
/// connection.
struct BodyReceiver {
  /// The object through which the handler reads. Weak, because it holds the connection.
  private weak var body: StreamedBody?
  private var buffer = BodyBuffer()
  /// The pending read.
  private var reader: (@Sendable (BodyRead) -> Void)?
  /// The client waits for 100 (Continue).
  private var expectsContinue: Bool
  private let windowBytes: Int
  /// Counts the window and one socket read against the request budget.
  private let reservation: ByteBudget.Reservation
  private let loop: EventLoop

  /// - Parameters:
  ///   - expectsContinue: the client waits for 100 (Continue) before it sends the body.
  ///   - windowBytes: bytes to buffer while the handler does not read.
  ///   - reservation: covers the window and one socket read; held as long as this value.
  ///   - loop: calls the readers.
  init(
    for body: StreamedBody, expectsContinue: Bool, windowBytes: Int, reservation: ByteBudget.Reservation,
    loop: EventLoop
  ) {
    self.body = body
    self.expectsContinue = expectsContinue
    self.windowBytes = windowBytes
    self.reservation = reservation
    self.loop = loop
  }

  func receives(for body: StreamedBody) -> Bool { self.body === body }

  /// Whether the window has room for more bytes.
  var hasRoom: Bool { buffer.byteCount < windowBytes }

  /// Whether the body has ended or failed.
  var hasEnded: Bool { buffer.hasEnded }

  /// Returns `true` once, if the client waits for 100 (Continue).
  mutating func takeExpectation() -> Bool {
    defer { expectsContinue = false }
    return expectsContinue
  }

  /// Calls `reader` with the next result, now or when something arrives. Only one read may be pending.
  mutating func read(_ reader: @escaping @Sendable (BodyRead) -> Void) {
    precondition(self.reader == nil, "a second read of a body while one is pending")
    self.reader = reader
    deliver()
  }

  mutating func append(_ piece: [UInt8]) {
    buffer.append(piece)
    deliver()
  }

  /// Ends the body, if it has not ended yet, and answers the pending read.
  mutating func end(_ end: BodyRead) {
    buffer.end(end)
    deliver()
  }

  private mutating func deliver() {
    guard let reader, let read = buffer.next() else { return }
    self.reader = nil
    loop.enqueue { reader(read) }
  }
}
