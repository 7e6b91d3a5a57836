// The fast path for ranges of originals. A player that seeks in a video asks for one small range after another on one
// connection. The first of them takes the normal path and leaves here what the others need: the open file, the overlay
// that removes its places, and the fields of the head. The others are answered on the connection's own queue:
//
//     request -> key (access class, target, Host, Accept) -> entry -> is it still valid? -> PreparedRange
//
// The server sends the range only if its bytes are in the page cache and the file is unchanged. Everything else takes the
// normal path, with the same result: the first request, several ranges, suffixes, long ranges, conditions other than
// If-Range with the current entity tag, bytes that are on the disk, and requests of pages of other origins.

import AccessControl
import Collections
import HTTPCore
import HTTPServer
import ImageCodec
import PhotoModel
import Synchronization

final class PreparedOriginals: Sendable {
  /// Maximum number of entries. Each holds an open file.
  static let capacity = 64
  /// An entry that is not used for this many seconds is removed, so that a disk can be unmounted.
  static let idleSeconds = 5

  /// The data that a range request needs.
  private final class Entry: PreparedFile {
    let key: [UInt8]
    let generation: ResponseCache.Generation
    let original: OpenedOriginal
    /// The bytes of the file that are the representation.
    let slice: Range<Int64>
    /// The entity tag with its quotes.
    let tag: [UInt8]
    let head: [UInt8]
    private let isUsed = Atomic<Bool>(true)

    init(
      key: [UInt8], generation: ResponseCache.Generation, original: OpenedOriginal, slice: Range<Int64>, tag: [UInt8],
      head: [UInt8]
    ) {
      self.key = key
      self.generation = generation
      self.original = original
      self.slice = slice
      self.tag = tag
      self.head = head
    }

    var descriptor: Int32 { original.source.descriptor }
    var isUntouched: Bool { original.source.isUntouched }

    func overwrite(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) {
      original.overlay.apply(to: bytes, at: offset)
    }

    func markUsed() {
      if !isUsed.load(ordering: .relaxed) { isUsed.store(true, ordering: .relaxed) }
    }

    /// Whether the entry was used since the last call.
    func takeUsage() -> Bool { isUsed.exchange(false, ordering: .relaxed) }
  }

  private struct Place {
    let entry: Entry
    var idleSeconds = 0
  }

  /// The fields that a request may have to be answered here. Any other field that the daemon reads could change the
  /// response.
  private static let allowedFields: HeaderNames = [
    HeaderNames(.host, .accept, .range, .ifRange, .connection, .cacheControl, .acceptEncoding, .contentType, .priority),
    HeaderNames(.authorization, .cookie, .secFetchDest, .secFetchMode, .secFetchSite, .other),
    AccessPolicy.forwardedFields.subtracting(.init(.xForwardedHost, .forwarded)),
  ]

  /// By the hash of the key, the least recently stored first.
  private let state = Mutex(OrderedDictionary<Int, Place>())

  /// The response to a request with one range. `nil`: none, or something has changed since.
  ///
  /// - Parameter access: the caller's access class.
  func range(
    for head: borrowing RequestHead, access: AccessClass, generation: ResponseCache.Generation
  ) -> PreparedRange? {
    guard Self.mayAnswer(head) else { return nil }
    let found = PreparedKey.withBytes(of: head, access: access, variesByOrigin: false) { key -> Entry? in
      guard let entry = state.withLock({ $0[PreparedKey.hash(key)]?.entry }) else { return nil }
      return entry.key.withUnsafeBytes { $0.elementsEqual(key) } ? entry : nil
    }
    guard let entry = found ?? nil, entry.generation == generation else { return nil }
    if head.has(.ifRange) {
      let matches = head.withSingleValue(of: .ifRange) { value in
        entry.tag.withUnsafeBytes { $0.elementsEqual(value) }
      }
      guard matches == true else { return nil }
    }
    let size = entry.slice.count
    guard let part = ByteRanges.plainPart(head, size: size), part.count <= PreparedRange.maximumBytes else {
      return nil
    }
    entry.markUsed()
    return PreparedRange(head: entry.head, range: part, size: size, offset: entry.slice.lowerBound, file: entry)
  }

  /// Stores the data that later requests for ranges of the same representation need, if this request is for a range.
  ///
  /// - Parameters:
  ///   - slice: the bytes of the file that are the representation.
  ///   - fields: those of the response, without `Content-Range` and `Content-Length`.
  ///   - entityTag: with its quotes.
  ///   - access: the access class of the caller that was allowed to see the asset.
  ///   - generation: the state in which the response was made, read before the asset was looked up.
  func store(
    _ original: OpenedOriginal, _ slice: Range<Int64>, fields: [(name: String, value: String)], entityTag: String,
    for head: RequestHead, access: AccessClass, generation: ResponseCache.Generation
  ) {
    guard head.has(.range), Self.mayAnswer(head),
      let key = PreparedKey.withBytes(of: head, access: access, variesByOrigin: false, { Array($0) }),
      let responseHead = PreparedRange.makeHead(fields)
    else { return }
    let entry = Entry(
      key: key, generation: generation, original: original, slice: slice, tag: Array(entityTag.utf8),
      head: responseHead)
    let hash = key.withUnsafeBytes(PreparedKey.hash)
    // Closed after the lock is released.
    let dropped = state.withLock { state -> [Place] in
      var dropped: [Place] = []
      if let former = state.removeValue(forKey: hash) { dropped.append(former) }
      if state.count >= Self.capacity {
        let unused = state.values.firstIndex { $0.idleSeconds > 0 } ?? 0
        dropped.append(state.remove(at: unused).value)
      }
      state[hash] = Place(entry: entry)
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  private static func mayAnswer(_ head: borrowing RequestHead) -> Bool {
    head.method == .get && head.names.isSubset(of: allowedFields) && head.isSameOriginFetch
  }

  /// Removes the entries that were not used lately. Call it once a second.
  func tick() {
    let dropped = state.withLock { state -> [Place] in
      var dropped: [Place] = []
      for hash in state.keys {
        guard var place = state[hash] else { continue }
        place.idleSeconds = place.entry.takeUsage() ? 0 : place.idleSeconds + 1
        if place.idleSeconds >= Self.idleSeconds {
          dropped.append(place)
          state[hash] = nil
        } else {
          state[hash] = place
        }
      }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }
}
