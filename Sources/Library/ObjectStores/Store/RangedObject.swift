// An object as a source of bytes that fetches ranges as they are read: for scans, which read the head of an original
// and, in some formats, its end, but no pixels. Reads block until the store responds.

import PhotoModel
import Synchronization

package final class RangedObject: ByteSource {
  package struct Limits: Sendable, Hashable {
    /// The first range, from the start of the object.
    var firstBytes: Int64 = 48 << 10
    /// Each later range, from the missing byte; more if a read asks for more.
    var nextBytes: Int64 = 16 << 10
    /// All ranges together. A read beyond this limit fails.
    package var totalBytes: Int64 = 1 << 20

    package init() {}
  }

  private struct Piece {
    let offset: Int64
    let bytes: [UInt8]
    var end: Int64 { offset + Int64(bytes.count) }
  }

  private struct State {
    /// Sorted, without overlaps.
    var pieces: [Piece] = []
    var fetchedBytes: Int64 = 0
    var ranges = 0
    var failure: ObjectStoreError?
  }

  package let key: ObjectKey
  let identity: ObjectIdentity
  private let store: any ObjectStore
  private let limits: Limits
  private let stop: StopFlag?
  /// Held while a range is fetched: a source has one reader.
  private let state = Mutex(State())

  /// - Parameter stop: ends a read that waits for the store.
  package init(
    _ key: ObjectKey, of identity: ObjectIdentity, in store: any ObjectStore, limits: Limits = Limits(),
    stop: StopFlag? = nil
  ) {
    (self.key, self.identity, self.store, self.limits, self.stop) = (key, identity, store, limits, stop)
  }

  package var size: Int64 { identity.size }
  package var canReturnNotYet: Bool { false }

  /// Bytes and ranges that were fetched.
  package var cost: (bytes: Int64, ranges: Int) { state.withLock { ($0.fetchedBytes, $0.ranges) } }

  /// The parts that were fetched, in their order.
  package var fetchedParts: [(offset: Int64, bytes: [UInt8])] {
    state.withLock { $0.pieces.map { ($0.offset, $0.bytes) } }
  }

  /// Why the last failed read failed; the read itself always throws `missingBytes`. A later read may succeed.
  package var failure: ObjectStoreError? { state.withLock { $0.failure } }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    guard offset >= 0, offset < size else { return .end }
    let wanted = min(Int64(buffer.count), size - offset)
    guard wanted > 0 else { return .bytes(0) }
    let count = state.withLock { state -> Int? in
      do throws(ObjectStoreError) {
        let piece = try piece(at: offset, wanted, &state)
        let start = Int(offset - piece.offset)
        let count = min(buffer.count, piece.bytes.count - start)
        piece.bytes.withUnsafeBytes {
          buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
        }
        return count
      } catch {
        state.failure = error
        return nil
      }
    }
    guard let count else { throw .missingBytes }
    return .bytes(count)
  }

  /// The piece with a byte. Fetches it if it is missing, up to the next piece that has already been fetched.
  private func piece(
    at offset: Int64, _ wanted: Int64, _ state: inout State
  ) throws(ObjectStoreError) -> Piece {
    let next = state.pieces.firstIndex { $0.end > offset } ?? state.pieces.endIndex
    if next < state.pieces.endIndex, state.pieces[next].offset <= offset { return state.pieces[next] }
    let most = next < state.pieces.endIndex ? state.pieces[next].offset : size
    var start = offset
    var end = min(most, offset + max(wanted, offset == 0 ? limits.firstBytes : limits.nextBytes))
    if end == size, offset > 0 {
      // The end of an object is read backwards, too: its last bytes first, and then the index that they point to.
      let least = next > state.pieces.startIndex ? state.pieces[next - 1].end : 0
      start = max(least, min(offset, size - limits.nextBytes))
    }
    // A rest that is too small for a request of its own is fetched with this range.
    if most - end < limits.nextBytes / 2 { end = most }
    guard state.fetchedBytes + end - start <= limits.totalBytes else { throw .limitExceeded(.objectBytes) }
    let bytes = try store.waitForBytes(key, ObjectRange(offset: start, length: end - start), of: identity, stop: stop)
    let piece = Piece(offset: start, bytes: bytes)
    state.pieces.insert(piece, at: next)
    state.fetchedBytes += end - start
    state.ranges += 1
    return piece
  }
}
