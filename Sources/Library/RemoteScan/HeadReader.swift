import Dispatch
import ImageCodec
import LibraryCatalogue
import LibraryScan
import ObjectStores
import PhotoModel
import Synchronization

/// Reads the heads of objects, several at a time, because each waits for the store.
struct HeadReader {
  struct Object {
    let entry: ObjectPage.Entry
    /// The row at its path; `nil` for a new object.
    let known: KnownFile?

    /// The identity for the object's row. Unchanged if only the object's time differs, because that is not a new
    /// version.
    var identity: FileIdentity {
      if let known, known.identity.isIdentity(of: entry.identity, entry.key) { return known.identity }
      return FileIdentity(entry)
    }
  }

  struct Heads {
    /// In the order of the objects. `nil`: gone or replaced since it was listed; the next scan finds what it is now.
    var files: [ProbedFile?]
    /// Why the store refuses to read some objects, by their positions in the list. This scan does not retry them.
    var refusals: [Int: ObjectStoreError] = [:]
    var ranges = 0
  }

  private struct State {
    var heads: Heads
    var next = 0
    var failure: ObjectStoreError?
  }

  private let scanner: RemoteScanner
  private let stop: StopFlag

  init(_ scanner: RemoteScanner, _ stop: StopFlag) { (self.scanner, self.stop) = (scanner, stop) }

  /// Ends at the first failure that concerns the store, and not only one object.
  func read(_ objects: [Object]) throws(RemoteScanError) -> Heads {
    let state = Mutex(State(heads: Heads(files: Array(repeating: nil, count: objects.count))))
    // More threads than cores, because they mostly wait.
    let workers = DispatchQueue(label: "photod.remote-probe", qos: .utility, attributes: .concurrent)
    let group = DispatchGroup()
    withoutActuallyEscaping({ @Sendable () in work(objects, state) }) { work in
      for _ in 0..<min(scanner.options.parallelProbes, objects.count) { workers.async(group: group) { work() } }
      group.wait()
    }
    let (heads, failure) = state.withLock { ($0.heads, $0.failure) }
    if let failure { throw .store(failure) }
    return heads
  }

  private func work(_ objects: [Object], _ state: borrowing Mutex<State>) {
    while !stop.isRaised {
      let index = state.withLock { state -> Int? in
        guard state.failure == nil, state.next < objects.count else { return nil }
        state.next += 1
        return state.next - 1
      }
      guard let index else { return }
      let entry = objects[index].entry
      let object = RangedObject(
        entry.key, of: entry.identity, in: scanner.store, limits: scanner.options.ranges, stop: stop)
      let file = probe(object, entry.key, objects[index].identity)
      let ranges = object.cost.ranges
      state.withLock { state in
        state.heads.ranges += ranges
        switch object.failure {
        case nil, .limitExceeded(.objectBytes): state.heads.files[index] = file
        case .notFound, .changed: break
        case .some(let failure) where failure.isRefusal: state.heads.refusals[index] = failure
        case .some(let failure): state.failure = state.failure ?? failure
        }
      }
    }
  }

  /// Keeps the fetched parts if they contain the thumbnail. Fetches nothing for this.
  private func keepThumbnail(_ thumbnail: ByteRange?, of object: RangedObject, _ identity: FileIdentity) {
    guard let thumbnail else { return }
    let parts = object.fetchedParts
    let isFetched = parts.contains {
      $0.offset <= thumbnail.offset
        && thumbnail.offset + Int64(thumbnail.length) <= $0.offset + Int64($0.bytes.count)
    }
    if isFetched { scanner.options.keepHead(object.key, identity, parts) }
  }

  private func probe(_ object: RangedObject, _ key: ObjectKey, _ identity: FileIdentity) -> ProbedFile {
    do throws(CodecError) {
      let media = try scanner.probe.media(of: object, identity, at: key.bytes)
      keepThumbnail(media.thumbnail, of: object, identity)
      return ProbedFile(path: key.bytes, identity: identity, finding: .media(media))
    } catch {
      // A head beyond the limit is recorded with its identity, so that later scans do not read it again.
      return ProbedFile(path: key.bytes, identity: identity, finding: .unreadable(error.description))
    }
  }
}

extension ObjectStoreError {
  /// Whether the store refuses to read one object: the key may not read it, or it is in an archive of the store.
  var isRefusal: Bool {
    switch self {
    case .accessDenied(.forbidden), .unsupported: true
    default: false
    }
  }

  /// Why the store refuses to read one object, for operators.
  var refusalDescription: String {
    self == .unsupported
      ? "the object is in an archive of the store, or the server does not allow reading it" : description
  }
}
