import DiskCache
import ImageCodec
import ImageRender
import PhotoModel

/// The frames and derivatives on disk: final frames, and the derivatives from which small frames are made. This type
/// defines the keys and the contents; DiskStore defines the layout on disk.
package struct FrameStore: Sendable {
  /// Versions of the code that made the store's entries. Pass them when opening the `DiskStore`.
  package static let epochs = DiskStore.Epochs(
    frame: UInt32(RenderPlanner.epoch), derivative: UInt32(DerivativeLadder.epoch))

  let disk: DiskStore?
  let shared: (any SharedDerivativeStore)?
  let isRemoteLibrary: Bool

  /// - Parameters:
  ///   - disk: opened with ``epochs``; `nil` stores nothing.
  ///   - shared: has derivatives of several daemons; used together with `disk` only.
  ///   - isRemoteLibrary: originals are identified by the entity tags of a store.
  package init(_ disk: DiskStore?, shared: (any SharedDerivativeStore)? = nil, isRemoteLibrary: Bool = false) {
    (self.disk, self.shared, self.isRemoteLibrary) = (disk, shared, isRemoteLibrary)
  }

  /// Whether a disk store is configured. Without one, derivatives need not be made.
  var isEnabled: Bool { disk != nil }

  /// Opens the store if another process used its folder and has ended (`DiskStore.reopen`).
  ///
  /// - Returns: whether the store was off for that reason and is on now.
  package func reopen() -> Bool { disk?.reopen() ?? false }

  /// Whether the disk has room for derivatives that are made before a request: they must not evict each other.
  var hasRoomForBackgroundWork: Bool {
    guard let disk else { return false }
    let statistics = disk.statistics
    return !statistics.isOff && !statistics.isSuspended
      && (statistics.frames.bytes + statistics.derivatives.bytes) < disk.capacityBytes / 4 * 3
  }

  /// Removes all frames and derivatives that were made of these contents (``ContentVersion/content``). Blocks while
  /// files are removed. Derivatives in the shared store stay: other daemons may have the same photographs.
  ///
  /// - Returns: false if some may still be on the disk.
  package func remove(contents: [String]) -> Bool {
    disk?.removeEntries(of: contents.map { DiskStore.Subject($0) }) ?? true
  }

  // MARK: Frames

  /// A stored final frame. Reads one file.
  func frame(for key: RenditionKey) -> ImageFrame? {
    guard let entry = disk?.entry(for: Self.diskKey(key), .frame), let info = StoredFrameHeader(entry.info) else {
      return nil
    }
    return ImageFrame(
      bytes: entry.bytes, format: info.format,
      result: ImageResult(
        requestID: "", isDegraded: false, size: info.size, source: .disk,
        isHDR: info.isHDR || info.format == .jpeg && GainMapFile.isOne(entry.bytes)),
      timings: .init(), derivation: info.derivation)
  }

  /// Stores a final frame, unless it is a ``Derivation/smallPreview(_:)``.
  func store(_ frame: ImageFrame, for key: RenditionKey) {
    guard !frame.derivation.isSmallPreview else { return }
    var info = StoredFrameHeader(format: frame.format, size: frame.result.size, derivation: frame.derivation)
    // A JPEG's gain map is seen in its bytes.
    info.isHDR = frame.result.isHDR && frame.format != .jpeg
    guard let infoBytes = info.bytes else { return assertionFailure("\(frame.derivation) is not in Derivation.all") }
    disk?.store(frame.bytes, info: infoBytes, for: Self.diskKey(key), .frame)
  }

  private static func diskKey(_ key: RenditionKey) -> DiskStore.Key {
    DiskStore.Key(DiskStore.Subject(key.contentVersion.content), digestOf: Array(key.text.utf8))
  }

  /// Whether a frame appears to be stored; its content is not checked. One system call.
  func hasFrame(for key: RenditionKey) -> Bool { disk?.contains(Self.diskKey(key), .frame) ?? false }

  /// Whether the tiles of a picture are a small part of the disk cache.
  func hasRoomForTiles(of size: PixelSize) -> Bool {
    guard let disk, !disk.statistics.isOff, !disk.statistics.isSuspended else { return false }
    // A photograph of quality 82 has at most half a byte a pixel, and all scales together have 4/3 of its pixels.
    return Int64(size.pixelCount) * 2 / 3 <= disk.capacityBytes / 4
  }

  /// Waits until the stored entries are on the disk, if it can be written now. The disk store drops entries that come
  /// faster than it can write them.
  func waitForRoom() { disk?.waitForRoom() }

  // MARK: Derivatives

  /// A derivative, and the DCT scale in eighths at which it was decoded. Reads one file.
  func derivative(_ rung: DerivativeLadder.Rung, of asset: Asset) -> (bytes: [UInt8], eighths: Int)? {
    guard let entry = entry(rung, of: asset), let eighths = Self.eighths(of: entry) else { return nil }
    return (entry.bytes, eighths)
  }

  /// The DCT scale in eighths at which a derivative was decoded; `nil` if this code did not write the entry.
  static func eighths(of derivative: DiskEntry) -> Int? {
    guard derivative.info.count == 1 else { return nil }
    let eighths = Int(derivative.info[0])
    return DecodeScale.all.contains(eighths) ? eighths : nil
  }

  /// The stored entry of a derivative. Reads one file.
  func entry(_ rung: DerivativeLadder.Rung, of asset: Asset) -> DiskEntry? {
    disk?.entry(for: Self.diskKey(rung, asset), .derivative)
  }

  /// The largest stored derivative, as a byte source.
  package func derivative(of asset: Asset) -> (any ByteSource)? {
    let rungs = DerivativeLadder.standard.rungs(of: asset.pixelSize).reversed()
    return rungs.lazy.compactMap { derivative($0, of: asset) }.first.map { MemoryByteSource($0.bytes) }
  }

  /// Whether a derivative appears to exist; its content is not checked. One system call.
  func hasDerivative(_ rung: DerivativeLadder.Rung, of asset: Asset) -> Bool {
    disk?.contains(Self.diskKey(rung, asset), .derivative) ?? false
  }

  func store(_ derivative: RenderedImage, as rung: DerivativeLadder.Rung, of asset: Asset) {
    // An encoder's array has spare capacity. Copy it, because this array waits in memory to be written.
    let bytes = derivative.bytes.withUnsafeBufferPointer { Array($0) }
    keep(DiskEntry(bytes: bytes, info: [UInt8(derivative.decodedEighths)]), as: rung, of: asset)
    writeShared(of: asset)
  }

  func keep(_ derivative: DiskEntry, as rung: DerivativeLadder.Rung, of asset: Asset) {
    disk?.store(derivative.bytes, info: derivative.info, for: Self.diskKey(rung, asset), .derivative)
  }

  private static func diskKey(_ rung: DerivativeLadder.Rung, _ asset: Asset) -> DiskStore.Key {
    // Derivatives of earlier versions have no gain map.
    let kind = asset.mayHaveGainMap ? "|gain map" : ""
    return DiskStore.Key(
      DiskStore.Subject(asset.contentVersion.content),
      digestOf: Array("\(asset.contentVersion.pixels)|\(rung.side)\(kind)".utf8))
  }
}

/// The stored facts about a frame in addition to its bytes: flags and format (a byte each), derivation (2 bytes), width
/// and height (4 bytes each).
struct StoredFrameHeader {
  let format: OutputFormat
  let size: PixelSize
  let derivation: Derivation
  /// Whether the picture itself has high dynamic range: bit 0 of the flags.
  var isHDR = false

  init(format: OutputFormat, size: PixelSize, derivation: Derivation) {
    self.format = format
    self.size = size
    self.derivation = derivation
  }

  /// `nil` if this code did not write the bytes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 12 else { return nil }
    func number(_ range: Range<Int>) -> Int { bytes[range].reduce(0) { $0 << 8 | Int($1) } }
    let (flags, format, derivation) = (number(0..<1), number(1..<2), number(2..<4))
    guard flags <= 1, OutputFormat.allCases.indices.contains(format), Derivation.all.indices.contains(derivation) else {
      return nil
    }
    isHDR = flags == 1
    self.format = OutputFormat.allCases[format]
    self.derivation = Derivation.all[derivation]
    size = PixelSize(width: number(4..<8), height: number(8..<12))
  }

  /// `nil` if the derivation is not in ``Derivation/all``. With another derivation the frame would have a wrong entity
  /// tag.
  var bytes: [UInt8]? {
    guard let format = OutputFormat.allCases.firstIndex(of: self.format),
      let derivation = Derivation.all.firstIndex(of: self.derivation)
    else { return nil }
    func bytes(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    return bytes(isHDR ? 1 : 0, 1) + bytes(format, 1) + bytes(derivation, 2) + bytes(size.width, 4)
      + bytes(size.height, 4)
  }
}
