// The fast path for originals that are read again. A player that seeks in a video asks for one range after another on
// one connection. The first of them takes the normal path and leaves here what the others need: the open file, the
// overlay that removes its places, and the fields of the head. The others are answered without a lookup in the
// catalogue:
//
//     request -> key (access class, target, Host, Accept) -> entry -> is it still valid?
//       one short range -> PreparedRange, on the connection's own queue
//       anything else, once the caller is known -> OriginalResponseCache.Representation -> OriginalSender
//
// The server sends a short range only if its bytes are in the page cache and the file is unchanged. Conditions other
// than If-Range, and requests of pages of other origins, take the normal path, with the same result.

import AccessControl
import HTTPCore
import HTTPServer
import ImageCodec
import PhotoModel
import Synchronization

/// Originals that were sent lately: open, and with the fields of their responses.
final class OriginalResponseCache: Sendable {
  /// Maximum number of entries. Each holds an open file.
  static let capacity = 64
  /// An entry that is not used for this many seconds is removed, so that a disk can be unmounted.
  static let idleSeconds = 5

  /// An open original, and what a response needs to send all or ranges of it.
  struct Representation: Sendable {
    let original: ServableOriginal
    /// The bytes of the file that are the representation.
    let slice: Range<Int64>
    let type: String
    /// The response's fields without `Content-Type`, `Content-Range`, `Content-Length` and the fields of all responses.
    let fields: [(name: String, value: String)]
    let validators: Validators

    /// The longest body that is sent from the page cache without a step on the queue that reads files.
    private static let maximumCachedBytes: Int64 = 4 << 20

    /// Whether the response to a request is short and its bytes are in the page cache, so that nothing waits for the
    /// disk.
    func isCached(for head: RequestHead) -> Bool {
      var range = slice
      if head.has(.range) {
        guard let part = ByteRanges.plainPart(head, size: slice.count) else { return false }
        range = slice.lowerBound + Int64(part.lowerBound)..<slice.lowerBound + Int64(part.upperBound)
      }
      guard !range.isEmpty, range.count <= Self.maximumCachedBytes else { return false }
      return SendableSource(original.source).isCached(range)
    }
  }

  private final class Entry: PreparedFile {
    let key: [UInt8]
    let generation: ResponseCache.Generation
    let representation: Representation
    /// The entity tag with its quotes.
    let tag: [UInt8]
    /// The head of a response with one range.
    let head: [UInt8]
    private let isUsed = Atomic<Bool>(true)

    init(key: [UInt8], generation: ResponseCache.Generation, representation: Representation, head: [UInt8]) {
      self.key = key
      self.generation = generation
      self.representation = representation
      tag = Array((representation.validators.entityTag ?? "").utf8)
      self.head = head
    }

    var descriptor: Int32 { representation.original.source.descriptor }
    var hasSameChangeTime: Bool { representation.original.source.hasSameChangeTime }

    func hasOverwrites(in range: Range<Int64>) -> Bool { representation.original.overlay.changes(range) }

    func overwrite(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) {
      representation.original.overlay.apply(to: bytes, at: offset)
    }

    func markUsed() {
      if !isUsed.load(ordering: .relaxed) { isUsed.store(true, ordering: .relaxed) }
    }

    /// Whether the entry was used since the last call.
    func takeUsage() -> Bool { isUsed.exchange(false, ordering: .relaxed) }
  }

  private struct Slot {
    let entry: Entry
    /// Grows with each stored entry.
    let number: Int
    var idleSeconds = 0

    /// The slot with the least rank is dropped first: the least recently stored one that is not used, or else the least
    /// recently stored one.
    var rank: (Int, Int) { (idleSeconds > 0 ? 0 : 1, number) }
  }

  private struct State {
    /// By the hash of the key.
    var slots: [Int: Slot] = [:]
    var lastNumber = 0
  }

  /// The fields that a request may have to be answered here. Any other field that the daemon reads could change the
  /// response.
  private static let allowedFields: HeaderNames = [
    HeaderNames(.host, .accept, .range, .ifRange, .connection, .cacheControl, .acceptEncoding, .contentType, .priority),
    HeaderNames(.authorization, .cookie, .secFetchDest, .secFetchMode, .secFetchSite, .other),
    AccessPolicy.forwardedFields.subtracting(.init(.xForwardedHost, .forwarded)),
  ]

  private let state = Mutex(State())

  /// The response to a request with one range. `nil`: none, or something has changed since.
  ///
  /// - Parameter access: the caller's access class.
  func range(
    for head: borrowing RequestHead, access: AccessClass, generation: ResponseCache.Generation
  ) -> PreparedRange? {
    guard let entry = entry(for: head, access, generation) else { return nil }
    if head.has(.ifRange) {
      let matches = head.withSingleValue(of: .ifRange) { value in
        entry.tag.withUnsafeBytes { $0.elementsEqual(value) }
      }
      guard matches == true else { return nil }
    }
    let slice = entry.representation.slice
    let size = slice.count
    guard let part = ByteRanges.plainPart(head, size: size), part.count <= PreparedRange.maximumBytes else {
      return nil
    }
    entry.markUsed()
    return PreparedRange(head: entry.head, range: part, size: size, offset: slice.lowerBound, file: entry)
  }

  /// The representation for a request for the whole or for ranges. `nil`: none, or something has changed since.
  ///
  /// - Parameter access: the caller's access class.
  func representation(for head: RequestHead, access: AccessClass, generation: ResponseCache.Generation)
    -> Representation?
  {
    let entry = entry(for: head, access, generation)
    entry?.markUsed()
    return entry?.representation
  }

  private func entry(
    for head: borrowing RequestHead, _ access: AccessClass, _ generation: ResponseCache.Generation
  ) -> Entry? {
    guard Self.mayAnswer(head) else { return nil }
    let found = PreparedKey.withBytes(of: head, access: access, variesByOrigin: false) { key -> Entry? in
      guard let entry = state.withLock({ $0.slots[PreparedKey.hash(key)]?.entry }) else { return nil }
      return entry.key.withUnsafeBytes { $0.elementsEqual(key) } ? entry : nil
    }
    guard let entry = found ?? nil, entry.generation == generation else { return nil }
    return entry
  }

  /// Stores the data that later requests for the same representation need.
  ///
  /// - Parameters:
  ///   - commonFields: the fields of every response.
  ///   - access: the access class of the caller that was allowed to see the asset.
  ///   - generation: the state in which the response was made, read before the asset was looked up.
  func store(
    _ representation: Representation, commonFields: [(name: String, value: String)], for head: RequestHead,
    access: AccessClass,
    generation: ResponseCache.Generation
  ) {
    guard Self.mayAnswer(head),
      let key = PreparedKey.withBytes(of: head, access: access, variesByOrigin: false, { Array($0) }),
      let responseHead = PreparedRange.makeHead(
        representation.fields + commonFields + [("Content-Type", representation.type)])
    else { return }
    let entry = Entry(key: key, generation: generation, representation: representation, head: responseHead)
    let hash = key.withUnsafeBytes(PreparedKey.hash)
    // Closed after the lock is released.
    let dropped = state.withLock { state -> [Slot] in
      var dropped: [Slot] = []
      if let former = state.slots.removeValue(forKey: hash) { dropped.append(former) }
      if state.slots.count >= Self.capacity,
        let first = state.slots.min(by: { $0.value.rank < $1.value.rank })
      {
        dropped.append(first.value)
        state.slots[first.key] = nil
      }
      state.lastNumber += 1
      state.slots[hash] = Slot(entry: entry, number: state.lastNumber)
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  private static func mayAnswer(_ head: borrowing RequestHead) -> Bool {
    head.method == .get && head.names.isSubset(of: allowedFields) && head.isSameOriginFetch
  }

  /// Removes the entries that were not used lately. Call it once a second.
  func tick() {
    let dropped = state.withLock { state -> [Slot] in
      var dropped: [Slot] = []
      for (hash, former) in state.slots {
        var slot = former
        slot.idleSeconds = slot.entry.takeUsage() ? 0 : slot.idleSeconds + 1
        if slot.idleSeconds >= Self.idleSeconds {
          dropped.append(slot)
          state.slots[hash] = nil
        } else {
          state.slots[hash] = slot
        }
      }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }
}
