import HTTPCore
import PhotoModel
import Synchronization

/// The bytes of an original, or some ranges of them, with an overlay that removes places.
///
/// It sends ranges of the open file and, between them, the overlay's bytes. The file must stay as it was when it was
/// opened: it is checked before each segment, and the last bytes are read into memory and checked before they are sent.
/// So a client that gets a complete response has the bytes of one file. A file that is replaced by another one under
/// its name stays open and unchanged, and is sent to its end.
final class OriginalBody: BodySource {
  /// A part of the body.
  enum Part: Sendable, Hashable {
    /// Bytes between ranges: the delimiters of multipart/byteranges.
    case bytes([UInt8])
    /// A range of the original.
    case original(Range<Int64>)

    var length: Int64 {
      switch self {
      case .bytes(let bytes): Int64(bytes.count)
      case .original(let range): Int64(range.count)
      }
    }
  }

  /// Maximum length of a segment. If it leaves the page cache while the client is slow, its rest is loaded again.
  static let segmentBytes: Int64 = 1 << 20
  /// Maximum length of a segment of the overlay's bytes. The memory that each body reserves grows with it.
  static let overlaySegmentBytes = 64 << 10
  /// The last bytes of the body, which are read into memory.
  static let tailBytes: Int64 = 16 << 10

  private let file: SendableSource
  private let overlay: ByteOverlay
  private let parts: [Part]
  let length: Int64
  private let state = Mutex(State())

  private struct State {
    /// The next part.
    var part = 0
    /// The remaining pieces of the current part.
    var pieces: ArraySlice<ByteOverlay.Piece> = []
    var sent: Int64 = 0
  }

  init(_ source: any FileByteSource, _ overlay: ByteOverlay, _ parts: [Part]) {
    file = SendableSource(source)
    self.overlay = overlay
    self.parts = parts
    length = parts.reduce(0) { $0 + $1.length }
  }

  /// The delimiters, the overlay's bytes, and the last bytes.
  var memory: BodyMemory {
    var memory = BodyMemory()
    memory.add(min(length, Self.tailBytes))
    for part in parts {
      switch part {
      case .bytes(let between): memory.add(Int64(between.count))
      case .original(let range):
        for piece in overlay.pieces(in: range) {
          switch piece {
          case .file: break
          case .bytes(let removed):
            memory.add(Int64(removed.count), inSegmentsOf: Int64(Self.overlaySegmentBytes))
          case .zeros(let count): memory.add(Int64(count), inSegmentsOf: Int64(Self.overlaySegmentBytes))
          }
        }
      }
    }
    return memory
  }

  /// The whole body, in place of its segments.
  func bytes() throws(BodySourceError) -> [UInt8] {
    guard file.source.isUnchanged else { throw .fileChanged }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(length))
    for part in parts {
      switch part {
      case .bytes(let between): bytes += between
      case .original(let range):
        for piece in overlay.pieces(in: range) {
          switch piece {
          case .bytes(let removed): bytes += removed
          case .zeros(let count): bytes += repeatElement(UInt8(0), count: count)
          case .file(let range): bytes += try read(range)
          }
        }
      }
    }
    guard bytes.count == length, file.source.isUnchanged else { throw .fileChanged }
    return bytes
  }

  private func read(_ range: Range<Int64>) throws(BodySourceError) -> [UInt8] {
    do throws(ByteSourceError) {
      return try file.source.bytes(at: range.lowerBound, count: range.count)
    } catch {
      switch error {
      case .readFailed(let code): throw .readFailed(code: code)
      }
    }
  }

  func next() throws(BodySourceError) -> BodySegment? {
    guard file.source.isUnchanged else { throw .fileChanged }
    guard let segment = takeSegment() else { return nil }
    switch segment {
    case .bytes: break
    case .file(_, let range) where isAtEnd:
      // Not by sendfile: the kernel would read these bytes after the check.
      let bytes = try read(range)
      guard bytes.count == range.count, file.source.isUnchanged else { throw .fileChanged }
      return .bytes(bytes)
    case .file: break
    }
    return segment
  }

  /// Whether the segment that was just taken is the last one.
  private var isAtEnd: Bool { state.withLock { $0.sent == length } }

  private func takeSegment() -> BodySegment? {
    state.withLock { state in
      while state.pieces.isEmpty {
        guard state.part < parts.count else { return nil }
        defer { state.part += 1 }
        switch parts[state.part] {
        case .bytes(let bytes) where bytes.isEmpty: continue
        case .bytes(let bytes):
          state.sent += Int64(bytes.count)
          return .bytes(bytes)
        case .original(let range): state.pieces = overlay.pieces(in: range)[...]
        }
      }
      guard let piece = state.pieces.first else { return nil }
      let segment: BodySegment
      let rest: ByteOverlay.Piece?
      switch piece {
      case .bytes(let bytes):
        segment = .bytes(Array(bytes.prefix(Self.overlaySegmentBytes)))
        let left = bytes.dropFirst(Self.overlaySegmentBytes)
        rest = left.isEmpty ? nil : .bytes(left)
      case .zeros(let count):
        let taken = min(count, Self.overlaySegmentBytes)
        segment = .bytes([UInt8](repeating: 0, count: taken))
        rest = taken == count ? nil : .zeros(count - taken)
      case .file(let range):
        var end = min(range.upperBound, range.lowerBound + Self.segmentBytes)
        let isEnd = state.sent + Int64(range.count) == length
        if isEnd, end == range.upperBound, range.count > Self.tailBytes { end -= Self.tailBytes }
        segment = .file(file, range.lowerBound..<end)
        rest = end == range.upperBound ? nil : .file(end..<range.upperBound)
      }
      if let rest { state.pieces[state.pieces.startIndex] = rest } else { state.pieces.removeFirst() }
      state.sent += segment.length
      return segment
    }
  }
}

/// An open original as a file that the server can send.
final class SendableSource: SendableFile {
  let source: any FileByteSource

  init(_ source: any FileByteSource) { self.source = source }

  var descriptor: Int32 { source.descriptor }
}
