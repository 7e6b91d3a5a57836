import CPhotodSystem
import DequeModule
import HTTPCore
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

/// Bytes of one connection that wait to be sent: shared arrays that are never copied, with the owners that account for
/// their memory, and ranges of files, which the kernel sends without copying them into this process.
struct OutputQueue {
  /// The unsent rest of the file range at the front of the queue, which is no longer in the page cache.
  struct UncachedRange {
    let file: any SendableFile
    let range: Range<Int64>
    /// `nil`: the bytes can't be loaded again.
    let loader: FileLoader?
  }

  private enum Content {
    case memory([UInt8])
    /// A range of a file. `loaded` is when it was loaded into the page cache, in nanoseconds of the loop's clock.
    case file(any SendableFile, Range<Int64>, loader: FileLoader?, loaded: UInt64)
    /// The last bytes of a range of a file: sent by a call of their own, and only if the file is unchanged.
    case end([UInt8], of: any PreparedFile)

    var count: Int {
      switch self {
      case .memory(let bytes), .end(let bytes, _): bytes.count
      case .file(_, let range, _, _): range.count
      }
    }
  }

  private struct Piece {
    var content: Content
    /// Released when this piece, and so everything before it, is sent.
    var owner: (any MemoryOwner)?
    /// The budget reservation of the bytes. Nothing observes this budget, so its deinit runs no foreign
    /// code, and it is released together with them.
    var reservation: ByteBudget.Reservation?
  }

  private static let maximumVectorsPerSend = 16
  /// The `errno` of ``send(to:)`` if a file ends before its range.
  static let endOfFile = ENODATA
  /// For this long after a load, a range is assumed to be in the page cache, and is sent without a probe. So a fast
  /// client costs no probes, and on a file system where probes always fail, a range is loaded at most once in this
  /// time.
  private static let loadedNanoseconds: UInt64 = 1_000_000_000

  private var pieces: Deque<Piece> = []
  /// Owners and files whose bytes are sent. Their deinit may run arbitrary code that uses this queue, or close a
  /// descriptor, so the caller releases them.
  private var sentOwners: [any AnyObject & Sendable] = []
  /// Bytes of the first piece that are already sent.
  private var sentOfFirst = 0
  private(set) var byteCount = 0

  var isEmpty: Bool { byteCount == 0 }

  mutating func append(_ piece: [UInt8], from offset: Int = 0, reservedBy reservation: ByteBudget.Reservation? = nil) {
    guard offset < piece.count else { return }
    if offset > 0 {
      precondition(pieces.isEmpty, "only the first piece can be partly sent")
      sentOfFirst = offset
    }
    pieces.append(Piece(content: .memory(piece), reservation: reservation))
    byteCount += piece.count - offset
  }

  /// Queues a range of a file, which must not be empty. The file is held until the range is sent.
  ///
  /// - Parameters:
  ///   - loader: loads the range again if its pages are evicted before it is sent.
  ///   - now: the time of the loop's clock. The caller has just loaded the range, or found it in the page cache.
  mutating func append(_ file: any SendableFile, _ range: Range<Int64>, loader: FileLoader?, now: UInt64) {
    precondition(!range.isEmpty)
    pieces.append(Piece(content: .file(file, range, loader: loader, loaded: now)))
    byteCount += range.count
  }

  /// Queues the last bytes of a range of a file, which must not be empty. The file is held until they are sent; if it
  /// has changed by then, they can no longer be sent.
  mutating func append(
    _ end: [UInt8], ifUnchanged file: any PreparedFile, reservedBy reservation: ByteBudget.Reservation?
  ) {
    precondition(!end.isEmpty)
    pieces.append(Piece(content: .end(end, of: file), reservation: reservation))
    byteCount += end.count
  }

  /// Holds an owner until everything that is queued now is sent. Does nothing if the queue is empty.
  mutating func hold(_ owner: any MemoryOwner) {
    guard !pieces.isEmpty else { return }
    precondition(pieces[pieces.count - 1].owner == nil, "each owner comes with bytes of its own")
    pieces[pieces.count - 1].owner = owner
  }

  /// Returns the owners whose bytes were sent since the last call. The caller releases them.
  mutating func takeSentOwners() -> [any AnyObject & Sendable] {
    guard !sentOwners.isEmpty else { return [] }
    defer { sentOwners = [] }
    return sentOwners
  }

  /// Discards all queued bytes. Their owners become available through `takeSentOwners`.
  mutating func removeAll() {
    for piece in pieces { release(piece) }
    pieces = []
    sentOfFirst = 0
    byteCount = 0
  }

  /// If the queue is empty, sends a head, a body and its end with one gathered send and without a copy. Queues the
  /// bytes that were not sent. Returns the number of bytes sent. An error returns 0 and shows again at the next send.
  mutating func sendNow(
    _ head: UnsafeRawBufferPointer, _ body: [UInt8], _ end: [UInt8], to descriptor: Int32
  ) -> Int {
    let sent = body.withUnsafeBytes { body in
      end.withUnsafeBytes { gather(head, body, $0, to: descriptor) }
    }
    if sent < head.count { append(Array(head[sent...])) }
    append(body, from: max(0, sent - head.count))
    append(end, from: max(0, sent - head.count - body.count))
    return sent
  }

  /// Like the other `sendNow`, for a body that the caller owns: bytes that were not sent are copied, and the
  /// reservation counts the copy until it is sent.
  mutating func sendNow(
    _ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, reservedBy reservation: ByteBudget.Reservation?,
    to descriptor: Int32
  ) -> Int {
    let sent = gather(head, body, UnsafeRawBufferPointer(start: nil, count: 0), to: descriptor)
    if sent < head.count { append(Array(head[sent...])) }
    append(Array(body.dropFirst(max(0, sent - head.count))), reservedBy: reservation)
    return sent
  }

  private func gather(
    _ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ end: UnsafeRawBufferPointer,
    to descriptor: Int32
  ) -> Int {
    guard isEmpty else { return 0 }
    return withUnsafeTemporaryAllocation(of: iovec.self, capacity: 3) { vectors in
      vectors[0] = iovec(iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress), iov_len: head.count)
      vectors[1] = iovec(iov_base: UnsafeMutableRawPointer(mutating: body.baseAddress), iov_len: body.count)
      vectors[2] = iovec(iov_base: UnsafeMutableRawPointer(mutating: end.baseAddress), iov_len: end.count)
      let count =
        if !end.isEmpty {
          3
        } else if !body.isEmpty {
          2
        } else {
          1
        }
      return max(0, Self.send(vectors, count: count, to: descriptor))
    }
  }

  /// - Parameter hasMore: more bytes follow at once, so the kernel may wait for them to fill a packet.
  private static func send(
    _ vectors: UnsafeMutableBufferPointer<iovec>, count: Int, to descriptor: Int32, hasMore: Bool = false
  ) -> Int {
    var message = msghdr()
    message.msg_iov = vectors.baseAddress
    message.msg_iovlen = count
    return sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL) | (hasMore ? Int32(MSG_MORE) : 0))
  }

  /// The unsent rest of the file range at the front of the queue, if sending it might wait for the disk. Probes the
  /// page cache, unless the range was loaded within the last second.
  func uncachedRange(now: UInt64) -> UncachedRange? {
    guard case .file(let file, let range, let loader, let loaded) = pieces.first?.content,
      now >= loaded + Self.loadedNanoseconds
    else { return nil }
    let rest = range.lowerBound + Int64(sentOfFirst)..<range.upperBound
    return file.isCached(rest) ? nil : UncachedRange(file: file, range: rest, loader: loader)
  }

  /// The loader of the file range at the front of the queue.
  var nextLoader: FileLoader? {
    guard case .file(_, _, let loader, _) = pieces.first?.content else { return nil }
    return loader
  }

  /// Records that the file range at the front of the queue is in the page cache again.
  mutating func rangeLoaded(now: UInt64) {
    guard case .file(let file, let range, let loader, _) = pieces.first?.content else { return }
    pieces[0].content = .file(file, range, loader: loader, loaded: now)
  }

  /// Sends the first pieces: arrays with one gathered send, or a range of a file or its end. Returns the number of
  /// bytes sent, or -1 with `errno` set.
  mutating func send(to descriptor: Int32) -> Int {
    let sent =
      switch pieces.first?.content {
      case .file(let file, let range, _, _):
        Self.send(file, range.lowerBound + Int64(sentOfFirst)..<range.upperBound, to: descriptor)
      case .end(let bytes, let file): Self.send(bytes, from: sentOfFirst, ifUnchanged: file, to: descriptor)
      case .memory, nil: sendArrays(to: descriptor)
      }
    if sent > 0 { consume(sent) }
    return sent
  }

  private static func send(_ file: any SendableFile, _ range: Range<Int64>, to descriptor: Int32) -> Int {
    let sent = photod_send_file(descriptor, file.descriptor, range.lowerBound, Int64(range.count))
    guard sent == 0 else { return Int(sent) }
    // The file is shorter than it was, so its bytes can no longer be sent.
    errno = endOfFile
    return -1
  }

  private static func send(
    _ end: [UInt8], from offset: Int, ifUnchanged file: any PreparedFile, to descriptor: Int32
  ) -> Int {
    guard file.hasSameChangeTime else {
      errno = EIO
      return -1
    }
    return end.withUnsafeBytes {
      Glibc.send(descriptor, $0.baseAddress! + offset, end.count - offset, Int32(MSG_NOSIGNAL))
    }
  }

  private func sendArrays(to descriptor: Int32) -> Int {
    var count = 0
    var hasMore = false
    for piece in pieces.prefix(Self.maximumVectorsPerSend) {
      guard case .memory = piece.content else {
        hasMore = true
        break
      }
      count += 1
    }
    return withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.maximumVectorsPerSend) { vectors in
      func gather(_ index: Int) -> Int {
        guard index < count, case .memory(let bytes) = pieces[index].content else {
          return Self.send(vectors, count: count, to: descriptor, hasMore: hasMore)
        }
        return bytes.withUnsafeBytes { bytes in
          let skipped = index == 0 ? sentOfFirst : 0
          vectors.initializeElement(
            at: index,
            to: iovec(
              iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress! + skipped), iov_len: bytes.count - skipped)
          )
          return gather(index + 1)
        }
      }
      return gather(0)
    }
  }

  private mutating func consume(_ count: Int) {
    byteCount -= count
    var left = count
    while left > 0, let first = pieces.first {
      let rest = first.content.count - sentOfFirst
      if left < rest {
        sentOfFirst += left
        return
      }
      left -= rest
      sentOfFirst = 0
      release(pieces.removeFirst())
    }
  }

  private mutating func release(_ piece: Piece) {
    if let owner = piece.owner { sentOwners.append(owner) }
    switch piece.content {
    case .memory: break
    case .file(let file, _, let loader, _):
      sentOwners.append(file)
      if let loader { sentOwners.append(loader) }
    case .end(_, let file): sentOwners.append(file)
    }
  }
}
