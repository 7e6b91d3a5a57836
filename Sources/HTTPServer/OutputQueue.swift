import CPhotodSystem
import Collections
import HTTPCore

#if canImport(Glibc)
  import Glibc
#endif

/// Bytes that wait to be sent: arrays as they were made, shared and never copied, and who answers for their memory.
struct OutputQueue {
  private struct Piece {
    let bytes: [UInt8]
    /// Let go when this piece, and so everything before it, is sent.
    var owner: (any MemoryOwner)?
    /// What the bytes are counted as. Its end leads nowhere, so it goes with them.
    var reservation: ByteBudget.Reservation?
  }

  private static let vectorsASend = 16

  private var pieces: Deque<Piece> = []
  /// Those whose bytes are sent. Their end may call anybody, this queue's user too, so it is not for this queue to bring
  /// about.
  private var doneOwners: [any MemoryOwner] = []
  /// How much of the first piece is sent.
  private var sentOfFirst = 0
  private(set) var byteCount = 0

  var isEmpty: Bool { byteCount == 0 }

  mutating func append(_ piece: [UInt8], from offset: Int = 0, counted reservation: ByteBudget.Reservation? = nil) {
    guard offset < piece.count else { return }
    if offset > 0 {
      precondition(pieces.isEmpty, "only what is sent next can have been begun")
      sentOfFirst = offset
    }
    pieces.append(Piece(bytes: piece, reservation: reservation))
    byteCount += piece.count - offset
  }

  /// Holds an owner until all that waits now is sent; not at all where nothing waits.
  mutating func hold(_ owner: any MemoryOwner) {
    guard !pieces.isEmpty else { return }
    precondition(pieces[pieces.count - 1].owner == nil, "each owner comes with bytes of its own")
    pieces[pieces.count - 1].owner = owner
  }

  /// Those whose bytes are sent since this was last asked, to be let go of by the caller.
  mutating func takeDoneOwners() -> [any MemoryOwner] {
    guard !doneOwners.isEmpty else { return [] }
    defer { doneOwners = [] }
    return doneOwners
  }

  /// Forgets what waits. All owners are then done.
  mutating func removeAll() {
    doneOwners += pieces.compactMap(\.owner)
    pieces = []
    sentOfFirst = 0
    byteCount = 0
  }

  /// Sends a head and a body at once, gathered and copied nowhere, if nothing waits before them; keeps what did not go.
  /// How many bytes went: an error is kept too, for the next send to meet.
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

  /// One gathered send of what waits first. How many bytes went; -1 with `errno` if none.
  mutating func send(to descriptor: Int32) -> Int {
    let count = min(pieces.count, Self.vectorsASend)
    let sent = withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.vectorsASend) { vectors in
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
      if let owner = pieces.removeFirst().owner { doneOwners.append(owner) }
    }
  }
}
