// The fast path for repeated image requests. A request whose relevant bytes equal those of an earlier request gets the
// earlier response, prepared from a cached frame. This takes one lookup on the connection's own queue: it parses no
// query, looks up no asset and builds no header.
//
//     request -> key (access class, target, Host, Accept, Origin) -> entry -> is it still valid? -> 200 or 304
//
// An entry is valid while no commit has changed its asset since the asset was looked up, the rules about origins are
// the same, and its frame is cached. It is sent only to callers of the access class of the caller that it was made for;
// they see the same part of the library. A request with any field that the entry does not account for takes the normal
// path, with the same result.

import AccessControl
import HTTPCore
import HTTPServer
import ImageService
import PhotoModel
import Primitives
import Synchronization

final class ResponseCache: Sendable {
  private final class Entry: Sendable {
    let key: [UInt8]
    let hash: Int
    /// The index in `State.slots`.
    let slot: Int
    let generation: Generation
    /// When the entry expires, in seconds since 1970: the end of a signed URL. `nil`: never.
    let expires: Int64?
    let frame: CachedFrame
    /// The entity tag with its quotes.
    let tag: [UInt8]
    let whole: PreparedResponse
    /// `nil` for a multipart response, which no condition applies to.
    let notModified: PreparedResponse?

    /// The bytes of the entry without its frame. They are added to the frame's size in the frame cache.
    var byteCount: Int { key.count + tag.count + whole.headBytes + (notModified?.headBytes ?? 0) + 512 }

    init(
      key: [UInt8], hash: Int, slot: Int, generation: Generation, expires: Int64?, frame: CachedFrame, tag: [UInt8],
      whole: PreparedResponse, notModified: PreparedResponse?
    ) {
      self.key = key
      self.hash = hash
      self.slot = slot
      self.generation = generation
      self.expires = expires
      self.frame = frame
      self.tag = tag
      self.whole = whole
      self.notModified = notModified
    }
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    /// The same entries by their frame.
    var byFrame: [ObjectIdentifier: [Entry]] = [:]
    /// All entries by slot. When all slots are in use, they are evicted in turn.
    var slots: [Entry?] = []
    var freeSlots: [Int] = []
    /// The slot that was evicted last.
    var hand = 0

    mutating func remove(_ entry: Entry) {
      guard slots[entry.slot] === entry else { return }
      entry.frame.attach(-entry.byteCount)
      slots[entry.slot] = nil
      freeSlots.append(entry.slot)
      entries[entry.hash] = nil
      let frame = ObjectIdentifier(entry.frame)
      byFrame[frame]?.removeAll { $0 === entry }
      if byFrame[frame]?.isEmpty == true { byFrame[frame] = nil }
    }

    /// A slot for a new entry. Evicts an entry if no slot is free.
    mutating func takeSlot(of capacity: Int) -> Int {
      if freeSlots.isEmpty && slots.count >= capacity {
        hand = (hand + 1) % capacity
        if let victim = slots[hand] { remove(victim) }
      }
      if let slot = freeSlots.popLast() { return slot }
      slots.append(nil)
      return slots.count - 1
    }
  }

  /// The fields that a request may have to be served from the cache, besides those in the key. Any other field that
  /// the daemon reads could change the response.
  private static let allowedFields: HeaderNames = [
    HeaderNames(.host, .accept, .origin, .ifNoneMatch, .ifModifiedSince, .connection, .cacheControl, .acceptEncoding),
    HeaderNames(.authorization, .cookie, .other, .secFetchDest, .secFetchMode, .secFetchSite),
    HeaderNames(.contentType, .ifRange, .priority),
    AccessPolicy.forwardedFields.subtracting(.init(.xForwardedHost, .forwarded)),
  ]
  /// Maximum number of entries for one frame. When there are more, the oldest is removed.
  private static let entriesPerFrame = 8

  /// The state in which a response was made: the generation of the asset, and the number of the rules about origins.
  struct Generation: Sendable, Hashable {
    let asset: AssetGeneration
    let rules: UInt64
  }

  /// Maximum number of entries. Each holds a few response heads: 1 KB to 3 KB.
  private let capacity: Int
  private let state = Mutex(State())

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// The prepared response to a request. `nil`: none, or something has changed since.
  ///
  /// - Parameters:
  ///   - access: the caller's access class.
  ///   - rules: the number of the rules about origins.
  ///   - library: knows which generations are current.
  func answer(
    to head: RequestHead, access: AccessClass, variesByOrigin: Bool, rules: UInt64, library: any AssetSource
  ) -> PreparedResponse? {
    guard head.method == .get || head.method == .head, head.names.isSubset(of: Self.allowedFields) else { return nil }
    // A date without an entity tag is compared on the normal path. Beside an entity tag it is ignored (RFC 9110
    // §13.1.3).
    if head.has(.ifModifiedSince) && !head.has(.ifNoneMatch) { return nil }
    // The caller may be an administrator, whose `no-cache` bypasses the caches.
    if head.has(.cacheControl) && head.list(.cacheControl, contains: "no-cache") { return nil }
    let found = PreparedKey.withBytes(of: head, access: access, variesByOrigin: variesByOrigin) { key -> Entry? in
      let hash = PreparedKey.hash(key)
      guard let entry = state.withLock({ $0.entries[hash] }) else { return nil }
      return entry.key.withUnsafeBytes { $0.elementsEqual(key) } ? entry : nil
    }
    guard let entry = found ?? nil else { return nil }
    guard entry.generation.rules == rules, library.isCurrent(entry.generation.asset), !entry.frame.isEvicted,
      entry.expires.map({ $0 > SystemTime.now }) ?? true
    else {
      remove(entry)
      return nil
    }
    entry.frame.markUsed()
    // HTTP/1.0 has no chunks, and a response to HEAD has no body: both take the normal path.
    if entry.whole.isChunked && (head.version == .http10 || head.method == .head) { return nil }
    guard let notModified = entry.notModified, head.has(.ifNoneMatch) else { return entry.whole }
    let matches = head.withSingleValue(of: .ifNoneMatch) { list in
      entry.tag.withUnsafeBytes { EntityTagList.matches($0, in: list, weakly: true) }
    }
    // The normal path knows the other tags of the picture: those of frames that were made in other ways, or that this
    // one has replaced.
    return matches == true ? notModified : nil
  }

  /// Stores a response for later equal requests.
  ///
  /// - Parameters:
  ///   - access: the access class of the caller that was allowed to see the asset.
  ///   - expires: when the request's signed URL expires, in seconds since 1970; `nil` for other requests.
  ///   - generation: the state in which the response was made, read before the asset was looked up.
  ///   - whole: the complete response, with ``PreparedResponse/requestIDPlaceholder`` for the request's identifier.
  ///   - notModified: the 304; `nil` for a multipart response, which no condition applies to.
  func store(
    _ whole: PreparedResponse, notModified: PreparedResponse?, entityTag: String, frame: CachedFrame,
    for head: RequestHead, access: AccessClass, expires: Int64?, variesByOrigin: Bool, generation: Generation
  ) {
    guard capacity > 0, head.names.isSubset(of: Self.allowedFields),
      let key = PreparedKey.withBytes(of: head, access: access, variesByOrigin: variesByOrigin, { Array($0) })
    else { return }
    let hash = key.withUnsafeBytes(PreparedKey.hash)
    state.withLock { state in
      // The frame was evicted before this call: no further eviction event would remove the entry.
      guard !frame.isEvicted else { return }
      if let previous = state.entries[hash] { state.remove(previous) }
      if let same = state.byFrame[ObjectIdentifier(frame)], same.count >= Self.entriesPerFrame { state.remove(same[0]) }
      let entry = Entry(
        key: key, hash: hash, slot: state.takeSlot(of: capacity), generation: generation, expires: expires,
        frame: frame, tag: Array(entityTag.utf8), whole: whole, notModified: notModified)
      frame.attach(entry.byteCount)
      state.slots[entry.slot] = entry
      state.entries[hash] = entry
      state.byFrame[ObjectIdentifier(frame), default: []].append(entry)
    }
  }

  /// Removes all entries of frames that the frame cache evicted, or that smaller encodings have replaced.
  func removeResponses(madeFrom frames: [CachedFrame]) {
    for frame in frames {
      state.withLock { state in
        for entry in state.byFrame[ObjectIdentifier(frame)] ?? [] { state.remove(entry) }
      }
    }
  }

  private func remove(_ entry: Entry) { state.withLock { $0.remove(entry) } }
}
