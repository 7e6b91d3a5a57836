import CPhotodSystem
import Collections
import HTTPCore
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

/// Bytes of one connection that wait to be sent: shared arrays that are never copied, with the owners that account for
/// their memory.
struct OutputQueue {
  private struct Piece {
    let bytes: [UInt8]
    /// Released when this piece, and so everything before it, is sent.
    var owner: (any MemoryOwner)?
    /// The budget reservation of the bytes. Nothing observes this budget, so its deinit runs no foreign
    /// code, and it is released together with them.
    var reservation: ByteBudget.Reservation?
  }

  private static let maximumVectorsPerSend = 16

  private var pieces: Deque<Piece> = []
  /// Owners whose bytes are sent. Their deinit may run arbitrary code that uses this queue, so the caller releases
  /// them.
  private var sentOwners: [any MemoryOwner] = []
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
    pieces.append(Piece(bytes: piece, reservation: reservation))
    byteCount += piece.count - offset
  }

  /// Holds an owner until everything that is queued now is sent. Does nothing if the queue is empty.
  mutating func hold(_ owner: any MemoryOwner) {
    guard !pieces.isEmpty else { return }
    precondition(pieces[pieces.count - 1].owner == nil, "each owner comes with bytes of its own")
    pieces[pieces.count - 1].owner = owner
  }

  /// Returns the owners whose bytes were sent since the last call. The caller releases them.
  mutating func takeSentOwners() -> [any MemoryOwner] {
    guard !sentOwners.isEmpty else { return [] }
    defer { sentOwners = [] }
    return sentOwners
  }

  /// Discards all queued bytes. Their owners become available through `takeSentOwners`.
  mutating func removeAll() {
    sentOwners += pieces.compactMap(\.owner)
    pieces = []
    sentOfFirst = 0
    byteCount = 0
  }

  /// If the queue is empty, sends a head and a body with one gathered send and without a copy. Queues the bytes that
  /// were not sent. Returns the number of bytes sent. An error returns 0 and shows again at the next send.
  mutating func sendNow(_ head: UnsafeRawBufferPointer, _ body: [UInt8], to descriptor: Int32) -> Int {
    var sent = 0
    if isEmpty {
      sent = body.withUnsafeBytes { body in
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { vectors in
          vectors[0] = iovec(iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress), iov_len: head.count)
          vectors[1] = iovec(iov_base: UnsafeMutableRawPointer(mutating: body.baseAddress), iov_len: body.count)
          return max(0, Self.send(vectors, count: body.isEmpty ? 1 : 2, to: descriptor))
        }
      }
    }
    if sent < head.count { append(Array(head[sent...])) }
    append(body, from: max(0, sent - head.count))
    return sent
  }

  private static func send(_ vectors: UnsafeMutableBufferPointer<iovec>, count: Int, to descriptor: Int32) -> Int {
    var message = msghdr()
    message.msg_iov = vectors.baseAddress
    message.msg_iovlen = count
    return sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
  }

  /// Sends the first pieces with one gathered send. Returns the number of bytes sent, or -1 with `errno` set.
  mutating func send(to descriptor: Int32) -> Int {
    let count = min(pieces.count, Self.maximumVectorsPerSend)
    let sent = withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.maximumVectorsPerSend) { vectors in
      func gather(_ index: Int) -> Int {
        if index == count { return Self.send(vectors, count: count, to: descriptor) }
        return pieces[index].bytes.withUnsafeBytes { bytes in
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
    if sent > 0 { consume(sent) }
    return sent
  }

  private mutating func consume(_ count: Int) {
    byteCount -= count
    var left = count
    while left > 0, let first = pieces.first {
      let rest = first.bytes.count - sentOfFirst
      if left < rest {
        sentOfFirst += left
        return
      }
      left -= rest
      sentOfFirst = 0
      if let owner = pieces.removeFirst().owner { sentOwners.append(owner) }
    }
  }
}
