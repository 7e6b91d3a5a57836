import Logging
import PhotoModel
import Synchronization

/// Identifies the file of a ``DecodedPicture``. The value changes with the file, and with the epoch of the renderer.
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
/// If one is damaged, the others may be intact; if one takes too long, all of them count as failed.
package struct DecodedPicture: Sendable, Hashable {
  let file: DecodedFile
  /// The first range of the first tile, and the last range of the last one. The last range distinguishes a request with
  /// alternative frames from a request for its first frame only.
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

  /// The key of failures that concern all pictures of the file.
  fileprivate var whole: DecodedPicture { DecodedPicture(allOf: file) }
}

extension DecoderFailure {
  /// Whether the failure counts for all pictures of the file: otherwise each frame of a hostile video could take as
  /// long.
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

  /// Counts a failure, remembers it, and logs it if it is new. The first stall of a picture is counted but not
  /// remembered: its cause may be a machine that swaps, or stopped processes.
  ///
  /// - Parameter picture: `nil` if the payload is not a file; then the failure is counted but not remembered.
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
