import Logging
import PhotoModel
import Synchronization

/// Identifies a file of ``DecodedPicture``s. A changed file has another value, and so has a file after an update of the
/// renderer.
package struct DecodedFile: Sendable, Hashable {
  let identity: FileIdentity
  /// The epoch of the renderer: a newer renderer may be able to decode the file.
  let epoch: Int

  package init(identity: FileIdentity, epoch: Int) {
    self.identity = identity
    self.epoch = epoch
  }
}

/// Identifies a coded picture in ``DecoderFailures``. A file may have many: frames of a video or an animation, tiles.
/// One that is damaged says nothing about the others; one that takes too long stands for all of them.
package struct DecodedPicture: Sendable, Hashable {
  let file: DecodedFile
  /// Where the data of the first tile begins, and where that of the last one ends. A choice of frames differs from its
  /// first one by the end.
  private let first: ByteRange?
  private let last: ByteRange?

  package init(_ request: DecodeRequest, of file: DecodedFile) {
    self.file = file
    first = request.tiles.first?.picture.first
    last = request.tiles.last?.picture.last
  }

  private init(allOf file: DecodedFile) {
    self.file = file
    (first, last) = (nil, nil)
  }

  /// Stands for all pictures of the file.
  fileprivate var whole: DecodedPicture { DecodedPicture(allOf: file) }
}

extension DecoderFailure {
  /// Whether the failure stands for all pictures of the file: otherwise each frame of a hostile video could take as long.
  fileprivate var isOfFile: Bool { self == .time || self == .stalled }
}

/// Remembers which pictures can't be decoded, so that they are not tried again whenever they scroll into view. Counts
/// failures, and logs each picture once.
package final class DecoderFailures: Sendable {
  /// A counter of the metric.
  package struct Kind: Sendable, Hashable {
    let codec: DecoderCodec
    let reason: DecoderFailure
  }

  private struct Entry {
    let failure: DecoderFailure
    var lastUse: UInt64
  }

  private struct State {
    var entries: [DecodedPicture: Entry] = [:]
    var uses: UInt64 = 0
    var counts: [Kind: Int] = [:]
    /// Pictures whose decode has stalled once, at most `limit`.
    var stalled: Set<DecodedPicture> = []
  }

  private let limit: Int
  private let logger: Logger
  private let state = Mutex(State())

  /// - Parameter limit: how many pictures are remembered. The least recently used half is forgotten beyond that.
  package init(limit: Int, logger: Logger) {
    self.limit = limit
    self.logger = logger
  }

  /// Why this picture failed, if that is remembered.
  package func failure(of picture: DecodedPicture) -> DecoderFailure? {
    state.withLock { state in
      for key in [picture.whole, picture] {
        guard let failure = state.entries[key]?.failure else { continue }
        state.uses += 1
        state.entries[key]?.lastUse = state.uses
        return failure
      }
      return nil
    }
  }

  /// How often workers of this codec failed for this reason. Remembered failures are not counted again.
  package func count(_ codec: DecoderCodec, _ reason: DecoderFailure) -> Int {
    state.withLock { $0.counts[Kind(codec: codec, reason: reason)] ?? 0 }
  }

  /// A first stall is counted, and not remembered: the time for which a worker is silent is not the picture's fault
  /// while the machine swaps or its processes are stopped.
  ///
  /// - Parameter picture: `nil` if the payload is not a file; then it is counted, and not remembered.
  /// - Returns: whether the picture is the cause.
  func record(_ failure: DecoderFailure, _ codec: DecoderCodec, _ picture: DecodedPicture?) -> Bool {
    let (isNew, isOfPicture) = state.withLock { state -> (Bool, Bool) in
      state.counts[Kind(codec: codec, reason: failure), default: 0] += 1
      guard let picture = failure.isOfFile ? picture?.whole : picture, limit > 0 else {
        return (picture == nil, failure != .stalled)
      }
      if failure == .stalled, state.stalled.remove(picture) == nil {
        if state.stalled.count >= limit { state.stalled = [] }
        state.stalled.insert(picture)
        return (true, false)
      }
      state.uses += 1
      let isNew = state.entries.updateValue(Entry(failure: failure, lastUse: state.uses), forKey: picture) == nil
      if state.entries.count > limit { Self.forget(&state.entries, keeping: limit / 2) }
      return (isNew, true)
    }
    guard isNew else { return isOfPicture }
    logger.notice(
      "picture not decoded",
      metadata: [
        "codec": "\(codec.name)", "reason": "\(failure.rawValue)", "inode": "\(picture?.file.identity.inode ?? 0)",
      ])
    return isOfPicture
  }

  private static func forget(_ entries: inout [DecodedPicture: Entry], keeping count: Int) {
    let uses = entries.values.map(\.lastUse).sorted(by: >)
    // Uses are unique, so this keeps exactly `count`; at least the newest.
    let oldest = uses[max(0, count - 1)]
    entries = entries.filter { $0.value.lastUse >= oldest }
  }
}
