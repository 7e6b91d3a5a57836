// The shortest way there is: a request that was answered from the frame cache before, byte for byte the same where it
// matters, is answered with the same bytes. One look-up, by the bytes of the request, on the connection's own queue: no
// query is read, no asset looked up, no header put together.
//
//     request -> key (access class, target, Host, Accept, Origin) -> entry -> is it still true? -> 200 or 304
//
// An entry is true as long as the library is what it was when its asset was looked up, and as its frame is in the cache.
// Whoever it is shown to is of the access class of the one who was found to see its asset, and sees the same part of the library.
// Where a request says something that an entry knows nothing of, it goes the long way, and comes to the same answer.

import AccessControl
import HTTPCore
import HTTPServer
import ImageService
import Synchronization

final class AnswerCache: Sendable {
  private final class Entry: Sendable {
    let key: [UInt8]
    let hash: Int
    /// Its place in `State.places`.
    let place: Int
    let generation: UInt64
    /// Seconds since 1970 when nobody may be shown it any more: a signed URL's end.
    let expires: Int64?
    let frame: CachedFrame
    /// The entity tag with its quotes.
    let tag: [UInt8]
    let whole: PreparedAnswer
    let notModified: PreparedAnswer

    /// What it takes beside its frame, which counts it as its own.
    var byteCount: Int { key.count + tag.count + whole.headByteCount + notModified.headByteCount + 512 }

    init(
      key: [UInt8], hash: Int, place: Int, generation: UInt64, expires: Int64?, frame: CachedFrame, tag: [UInt8],
      whole: PreparedAnswer, notModified: PreparedAnswer
    ) {
      self.key = key
      self.hash = hash
      self.place = place
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
    /// The same entries by the frame that they show.
    var byFrame: [ObjectIdentifier: [Entry]] = [:]
    /// All entries, each at its place; the one at `hand` goes next when all places are taken.
    var places: [Entry?] = []
    var free: [Int] = []
    var hand = 0

    mutating func remove(_ entry: Entry) {
      guard places[entry.place] === entry else { return }
      entry.frame.attach(-entry.byteCount)
      places[entry.place] = nil
      free.append(entry.place)
      entries[entry.hash] = nil
      let frame = ObjectIdentifier(entry.frame)
      byFrame[frame]?.removeAll { $0 === entry }
      if byFrame[frame]?.isEmpty == true { byFrame[frame] = nil }
    }

    /// A place for a new entry; if need be, one whose time has come leaves it.
    mutating func takePlace(of capacity: Int) -> Int {
      if free.isEmpty && places.count >= capacity {
        hand = (hand + 1) % capacity
        if let oldest = places[hand] { remove(oldest) }
      }
      if let place = free.popLast() { return place }
      places.append(nil)
      return places.count - 1
    }
  }

  /// What an entry's request may say beside target, Host, Accept, Origin, and who asks. Everything else that this daemon reads could
  /// change the answer.
  private static let known: HeaderNames = [
    HeaderNames(.host, .accept, .origin, .ifNoneMatch, .ifModifiedSince, .connection, .cacheControl, .acceptEncoding),
    HeaderNames(.authorization, .cookie, .other, .secFetchSite, .contentType, .ifRange, .priority),
    Gatekeeper.forwardingFields.subtracting(.init(.xForwardedHost, .forwarded)),
  ]
  private static let maximumKeyBytes = 1024
  /// Ways to ask for one frame that are kept; of more, the first to come is the first to go.
  private static let entriesAFrame = 8

  /// Entries at most. Each is a few heads: between one kilobyte and three.
  private let capacity: Int
  private let state = Mutex(State())

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// The answer to a request, if one like it was answered before and nothing has changed since.
  ///
  /// - Parameter access: of whoever asks.
  func answer(
    to head: RequestHead, access: AccessClass, variesByOrigin: Bool, generation: UInt64
  ) -> PreparedAnswer? {
    guard head.method == .get || head.method == .head, head.names.isSubset(of: Self.known) else { return nil }
    // A date alone is compared on the long way; beside an entity tag it is to be ignored (RFC 9110 §13.1.3).
    if head.has(.ifModifiedSince) && !head.has(.ifNoneMatch) { return nil }
    // Whoever wants it fresh may be one who gets it so.
    if head.has(.cacheControl) && head.list(.cacheControl, contains: "no-cache") { return nil }
    let found = Self.withKey(head, access: access, variesByOrigin: variesByOrigin) { key -> Entry? in
      let hash = Self.hash(key)
      guard let entry = state.withLock({ $0.entries[hash] }) else { return nil }
      return entry.key.withUnsafeBytes { $0.elementsEqual(key) } ? entry : nil
    }
    guard let entry = found ?? nil else { return nil }
    guard entry.generation == generation, !entry.frame.isEvicted, entry.expires.map({ $0 > SystemTime.now }) ?? true
    else {
      remove(entry)
      return nil
    }
    entry.frame.use()
    guard head.has(.ifNoneMatch) else { return entry.whole }
    let matches = head.withOnlyValue(of: .ifNoneMatch) { list in
      entry.tag.withUnsafeBytes { EntityTagList.names($0, in: list, weakly: true) }
    }
    guard let matches else { return nil }
    return matches ? entry.notModified : entry.whole
  }

  /// Keeps an answer for requests like this one.
  ///
  /// - Parameters:
  ///   - access: of the caller who was found to see the asset.
  ///   - expires: when its URL ends, in seconds since 1970; `nil` where that is no affair of the URL.
  ///   - generation: the library's, read before the asset was looked up.
  ///   - whole: as it is to be sent, but with ``PreparedAnswer/placeholder`` for the request's identifier.
  func keep(
    _ whole: HTTPResponse, notModified: HTTPResponse, entityTag: String, frame: CachedFrame, for head: RequestHead,
    access: AccessClass, expires: Int64?, variesByOrigin: Bool, generation: UInt64
  ) {
    guard capacity > 0, head.names.isSubset(of: Self.known),
      let whole = PreparedAnswer(whole, ownerOfWaiting: { [frame] in frame.hold() }),
      let notModified = PreparedAnswer(notModified),
      let key = Self.withKey(head, access: access, variesByOrigin: variesByOrigin, { Array($0) })
    else { return }
    let hash = key.withUnsafeBytes(Self.hash)
    state.withLock { state in
      // Evicted and told of before we came: nobody would ever take the entry out again.
      guard !frame.isEvicted else { return }
      if let previous = state.entries[hash] { state.remove(previous) }
      if let same = state.byFrame[ObjectIdentifier(frame)], same.count >= Self.entriesAFrame { state.remove(same[0]) }
      let entry = Entry(
        key: key, hash: hash, place: state.takePlace(of: capacity), generation: generation, expires: expires,
        frame: frame, tag: Array(entityTag.utf8), whole: whole, notModified: notModified)
      frame.attach(entry.byteCount)
      state.places[entry.place] = entry
      state.entries[hash] = entry
      state.byFrame[ObjectIdentifier(frame), default: []].append(entry)
    }
  }

  /// Lets go of everything that was made of these frames, which the frame cache let go of.
  func framesWereEvicted(_ frames: [CachedFrame]) {
    for frame in frames {
      state.withLock { state in
        for entry in state.byFrame[ObjectIdentifier(frame)] ?? [] { state.remove(entry) }
      }
    }
  }

  private func remove(_ entry: Entry) { state.withLock { $0.remove(entry) } }

  /// Seeded anew in every process, so that nobody can make requests that fall into one place.
  private static func hash(_ key: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: key)
    return hasher.finalize()
  }

  /// All of a request that makes a difference, in one row of bytes. Fields hold no NUL, so none runs into the next.
  private static func withKey<Result>(
    _ head: RequestHead, access: AccessClass, variesByOrigin: Bool, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result? {
    withUnsafeTemporaryAllocation(byteCount: maximumKeyBytes, alignment: 16) { key in
      key.storeBytes(of: access.rawValue, as: UInt64.self)
      var count = MemoryLayout<UInt64>.size
      func add(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard count + bytes.count + 1 <= key.count else { return false }
        UnsafeMutableRawBufferPointer(rebasing: key[count...]).copyMemory(from: bytes)
        count += bytes.count
        key[count] = 0
        count += 1
        return true
      }
      func add(_ name: HeaderName) -> Bool {
        // An absent Accept accepts everything, an empty one nothing. No field holds this byte.
        guard head.has(name) else { return withUnsafeBytes(of: UInt8(1)) { add($0) } }
        return head.withOnlyValue(of: name) { add($0) } ?? false
      }
      guard head.withTarget({ add($0) }), add(.host), add(.accept) else { return nil }
      if variesByOrigin, !add(.origin) { return nil }
      return body(UnsafeRawBufferPointer(rebasing: key[..<count]))
    }
  }
}
