import Dispatch
import HTTPCore
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

/// The sending side of one connection: it frames the current response, queues the bytes that the kernel has not
/// accepted, notifies producers when there is room for more, and writes the access log entry.
///
/// A prepared response is sent with one gathered send from its own arrays. Every other response goes through the queue,
/// from which `flush` sends up to 16 arrays, or a range of a file, at a time.
///
/// A value inside `Connection`, used only on the loop's queue. It decides nothing: `Connection` passes results on to
/// `ConnectionMachine`. Its methods call no handler and release no object of a handler, because such a call could
/// re-enter the connection; what a handler provided is called or released later, or returned to the caller.
struct ResponseSender {
  /// How a flush ended.
  enum FlushResult {
    /// Everything that was queued is sent.
    case sentAll
    /// Bytes are left, because the send buffer is full or because other connections have their turn. `sentBytes` were
    /// accepted in this flush.
    case unfinished(sentBytes: Int)
    /// The next bytes of a file must be loaded by this loader before they are sent.
    case notCached(any SendableFile, Range<Int64>, FileLoader)
    /// The connection is broken.
    case failed
    /// A file can't be sent to its end. The loader reports the error.
    case fileFailed(FileLoader, BodySourceError)
  }

  /// A waiting producer is called when at most this many bytes remain to be sent.
  static let lowWatermarkBytes = 65_536
  /// A flush ends when it has sent at least this many bytes: then other connections have their turn. One send may
  /// exceed it by what the send buffer holds.
  private static let flushBytes = 1 << 20

  private let loop: EventLoop
  /// The peer as written to the access log. Empty if that is disabled.
  private let peerText: String
  private var output = OutputQueue()
  /// How the body of the current response is delimited.
  private var framing = BodyFraming.none
  /// Called when `output` falls to the low watermark.
  private var writabilityHandlers: [@Sendable () -> Void] = []
  /// The entry of the request in progress; `nil` if the access log is disabled.
  private var logEntry: AccessLogEntry?

  init(loop: EventLoop, peer: Peer) {
    self.loop = loop
    peerText = loop.logsAccess ? peer.text : ""
  }

  var isEmpty: Bool { output.isEmpty }

  /// Bytes that wait to be sent.
  var queuedBytes: Int { output.byteCount }

  // MARK: Queueing

  /// A request has arrived that the access log records. The entry is written when its response is sent or the
  /// connection ends.
  ///
  /// - Parameter head: `nil` if the message was malformed.
  mutating func beginLogEntry(_ head: RequestHead?, identifier: RequestIdentifier) {
    logEntry = AccessLogEntry(identifier: identifier, arrived: loop.wallMilliseconds, began: loop.now, head: head)
  }

  /// Queues 100 (Continue), which is sent before the response (RFC 9110 §15.2.1).
  mutating func appendContinue() { output.append(ResponseWriter.continueResponse) }

  /// Queues the head of a response.
  ///
  /// - Parameter keepsAlive: the connection stays open after a response that does not end by closing it.
  mutating func appendHead(_ head: ResponseHead, framing: BodyFraming, keepsAlive: Bool, version: HTTPVersion) {
    self.framing = framing
    loop.counters.countResponse(head.status, isPrepared: false)
    if logEntry != nil {
      logEntry?.status = head.status.code
      logEntry?.stages = head["Server-Timing"]
    }
    output.append(ResponseWriter.headPrefix(head, framing: framing))
    output.append(loop.headSuffix(keepsAlive: keepsAlive && framing != .untilClose, version: version))
  }

  /// Queues a complete body.
  ///
  /// - Parameter reservation: counts the body against the response budget; released with its last byte.
  mutating func appendBody(_ body: [UInt8], reservedBy reservation: ByteBudget.Reservation? = nil) {
    logEntry?.bodyBytes += body.count
    output.append(body, reservedBy: reservation)
  }

  /// Queues a segment of a body of known length.
  ///
  /// - Parameters:
  ///   - reservation: counts the segments in memory of the whole body; held until this one is sent.
  ///   - loader: loads a range of a file again if its pages are evicted before it is sent.
  mutating func appendSegment(
    _ segment: BodySegment, reservedBy reservation: ByteBudget.Reservation, loader: FileLoader
  ) {
    switch segment {
    case .bytes(let bytes): appendBody(bytes, reservedBy: reservation)
    case .file(let file, let range):
      logEntry?.bodyBytes += range.count
      output.append(file, range, loader: loader, now: loop.now)
    }
  }

  /// Queues arrays as one piece of a streamed body, framed as a chunk if the body is chunked. Returns `false` if all
  /// arrays are empty.
  mutating func appendPiece(_ arrays: [[UInt8]]) -> Bool {
    let size = arrays.reduce(0) { $0 + $1.count }
    // A chunk of size 0 would end the body.
    guard size > 0 else { return false }
    if framing == .chunked { output.append(ResponseWriter.chunkStart(size)) }
    for array in arrays { appendBody(array) }
    if framing == .chunked { output.append(ResponseWriter.chunkEnd) }
    return true
  }

  /// Queues a byte that has no effect on the body: a leading zero of the next chunk's size.
  mutating func appendChunkProbe() {
    if framing == .chunked { output.append(ResponseWriter.chunkProbe) }
  }

  /// Queues the end of a streamed body.
  mutating func appendBodyEnd() {
    if framing == .chunked { output.append(ResponseWriter.lastChunk) }
  }

  /// Holds an owner until everything that is queued now is sent. Does nothing if nothing is queued.
  mutating func hold(_ owner: any MemoryOwner) { output.hold(owner) }

  /// Calls `handler` once, asynchronously, when few bytes are left to send.
  mutating func whenWritable(_ handler: @escaping @Sendable () -> Void) { writabilityHandlers.append(handler) }

  /// The response is complete. Returns whether the end of the connection ends its body, and the writability handlers
  /// that will not be called. The caller releases them.
  mutating func endResponse() -> (endsConnection: Bool, unusedHandlers: [@Sendable () -> Void]) {
    defer {
      framing = .none
      writabilityHandlers = []
    }
    return (framing == .untilClose, writabilityHandlers)
  }

  // MARK: Sending

  /// Sends a complete prepared response: copies its head once and sends head and body with one gathered send. Queues
  /// the bytes that the kernel did not accept.
  mutating func send(
    _ response: PreparedResponse, isHead: Bool, identifier: RequestIdentifier, keepsAlive: Bool, version: HTTPVersion,
    to descriptor: Int32
  ) {
    let head = loop.headBuffer
    var headBytes = response.writeHead(to: head, identifier: identifier)
    let suffix = loop.headSuffix(keepsAlive: keepsAlive, version: version)
    UnsafeMutableRawBufferPointer(rebasing: head[headBytes...]).copyBytes(from: suffix)
    headBytes += suffix.count
    if !isHead {
      let rest = UnsafeMutableRawBufferPointer(rebasing: head[headBytes...])
      headBytes += response.writeOpening(to: rest, identifier: identifier)
    }
    if logEntry != nil {
      logEntry?.status = response.status.code
      logEntry?.bodyBytes = isHead ? 0 : response.contentBytes
    }
    let sent = output.sendNow(
      UnsafeRawBufferPointer(rebasing: head[..<headBytes]), isHead ? [] : response.body, isHead ? [] : response.closing,
      to: descriptor)
    loop.counters.countResponse(response.status, isPrepared: true)
    loop.counters.countSent(sent)
  }

  /// Sends a complete prepared range, whose last bytes are in the loop's buffer. If these are all, head and body are
  /// sent with one gathered send, and a copy of the bytes that the kernel did not accept is queued. Otherwise all is
  /// queued.
  ///
  /// - Parameters:
  ///   - uncopied: the bytes of the file that the kernel sends first.
  ///   - reservation: counts the copied bytes against the response budget; released with the last byte.
  mutating func send(
    _ range: PreparedRange, uncopied: Range<Int64>, reservedBy reservation: ByteBudget.Reservation?, keepsAlive: Bool,
    version: HTTPVersion, to descriptor: Int32
  ) {
    let head = loop.headBuffer
    var headBytes = range.writeHead(to: head)
    let suffix = loop.headSuffix(keepsAlive: keepsAlive, version: version)
    UnsafeMutableRawBufferPointer(rebasing: head[headBytes...]).copyBytes(from: suffix)
    headBytes += suffix.count
    logEntry?.status = 206
    logEntry?.bodyBytes = range.count
    loop.counters.countResponse(206, isPrepared: true)
    let bytes = UnsafeRawBufferPointer(rebasing: loop.rangeBuffer[..<(range.count - uncopied.count)])
    guard uncopied.isEmpty else {
      output.append(Array(head[..<headBytes]))
      output.append(range.file, uncopied, loader: nil, now: loop.now)
      output.append(Array(bytes), ifUnchanged: range.file, reservedBy: reservation)
      return
    }
    let sent = output.sendNow(
      UnsafeRawBufferPointer(rebasing: head[..<headBytes]), bytes, reservedBy: reservation, to: descriptor)
    loop.counters.countSent(sent)
  }

  /// Sends queued bytes until none are left, the kernel accepts no more, or the connection has had its turn. Bytes of
  /// files are sent only from the page cache: this runs on the loop, which must not wait for a disk.
  mutating func flush(to descriptor: Int32) -> FlushResult {
    var sentBytes = 0
    while !output.isEmpty {
      if sentBytes >= Self.flushBytes { break }
      if let uncached = output.uncachedRange(now: loop.now) {
        // Nothing can load a prepared range again. It is short, so it is rarely evicted.
        guard let loader = uncached.loader else { return .failed }
        return .notCached(uncached.file, uncached.range, loader)
      }
      let sent = output.send(to: descriptor)
      if sent >= 0 {
        sentBytes += sent
        loop.counters.countSent(sent)
        releaseSentOwners()
        continue
      }
      let code = errno
      if code == EAGAIN { break }
      if code == EINTR { continue }
      // A socket fails with other codes.
      guard [EIO, ESTALE, OutputQueue.endOfFile].contains(code), let loader = output.nextLoader else { return .failed }
      return .fileFailed(loader, code == OutputQueue.endOfFile ? .fileChanged : .readFailed(code: code))
    }
    notifyProducers()
    return output.isEmpty ? .sentAll : .unfinished(sentBytes: sentBytes)
  }

  /// The bytes that a flush found to be missing are in the page cache again.
  mutating func rangeLoaded() { output.rangeLoaded(now: loop.now) }

  /// Asynchronous, because a producer writes at once and would re-enter the connection.
  private mutating func notifyProducers() {
    guard !writabilityHandlers.isEmpty, output.byteCount <= Self.lowWatermarkBytes else { return }
    for handler in writabilityHandlers { loop.enqueue(handler) }
    writabilityHandlers = []
  }

  /// Released later, because the deinit of an owner may run arbitrary code and re-enter the connection.
  private mutating func releaseSentOwners() {
    let owners = output.takeSentOwners()
    if !owners.isEmpty { loop.releaseLater(owners) }
  }

  // MARK: Ending

  /// Adds the entry of the request in progress, if there is one, to the access log.
  ///
  /// - Parameter wasAborted: the connection ended before the response was fully sent.
  mutating func logRequest(wasAborted: Bool) {
    guard let entry = logEntry else { return }
    logEntry = nil
    loop.accessLogBatch.append(
      entry, peer: peerText, duration: loop.monotonicNow() &- entry.began, wasAborted: wasAborted)
  }

  /// The connection is closed: discards queued bytes. Returns the writability handlers that will not be called. The
  /// caller releases them.
  mutating func removeAll() -> [@Sendable () -> Void] {
    output.removeAll()
    releaseSentOwners()
    defer { writabilityHandlers = [] }
    return writabilityHandlers
  }
}
