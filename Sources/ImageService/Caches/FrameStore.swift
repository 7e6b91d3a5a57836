import DiskCache
import ImageRender
import PhotoModel

/// What is kept on disk: final frames, and the derivatives that small ones are made of. Keys and contents are put together
/// here; how they lie on disk is the store's affair.
package struct FrameStore: Sendable {
  /// What the store's entries are of, for whoever opens it.
  package static let epochs = DiskStore.Epochs(
    frame: UInt32(RenderPlanner.epoch), derivative: UInt32(DerivativeLadder.epoch))

  private let disk: DiskStore?

  /// - Parameter disk: opened with ``epochs``; `nil` keeps nothing.
  package init(_ disk: DiskStore?) { self.disk = disk }

  /// Whether there is a disk to keep anything on. What is made for it alone need not be made otherwise.
  var isOpen: Bool { disk != nil }

  /// Whether there is room for what nobody has asked for yet: derivatives made ahead must not turn out one another.
  var hasRoomAhead: Bool {
    guard let disk else { return false }
    let statistics = disk.statistics
    return !statistics.isOff && !statistics.isQuiet
      && (statistics.frames.bytes + statistics.derivatives.bytes) < disk.capacityBytes / 4 * 3
  }

  // MARK: Frames

  /// A final frame. Reads one file.
  func frame(for key: RenditionKey) -> ImageFrame? {
    guard let entry = disk?.entry(for: Self.diskKey(key), .frame), let info = FrameInfo(entry.info) else { return nil }
    return ImageFrame(
      bytes: entry.bytes, format: info.format,
      result: ImageResult(requestID: "", isDegraded: false, size: info.size, source: .disk),
      timings: .init(), derivation: info.derivation)
  }

  func store(_ frame: ImageFrame, for key: RenditionKey) {
    let info = FrameInfo(format: frame.format, size: frame.result.size, derivation: frame.derivation)
    disk?.store(frame.bytes, info: info.bytes, for: Self.diskKey(key), .frame)
  }

  private static func diskKey(_ key: RenditionKey) -> DiskStore.Key { DiskStore.Key(digestOf: Array(key.text.utf8)) }

  // MARK: Derivatives

  /// A derivative, and the DCT scale that it was decoded at. Reads one file.
  func derivative(_ rung: DerivativeLadder.Rung, of asset: Asset) -> (bytes: [UInt8], eighths: Int)? {
    guard let entry = disk?.entry(for: Self.diskKey(rung, asset), .derivative), let eighths = entry.info.first else {
      return nil
    }
    return (entry.bytes, Int(eighths))
  }

  /// The largest derivative that is there, as a source.
  package func derivative(of asset: Asset) -> (any ByteSource)? {
    let rungs = DerivativeLadder.standard.rungs(of: asset.pixelSize).reversed()
    return rungs.lazy.compactMap { derivative($0, of: asset) }.first.map { MemoryByteSource($0.bytes) }
  }

  /// Whether a derivative seems to be there. One system call.
  func hasDerivative(_ rung: DerivativeLadder.Rung, of asset: Asset) -> Bool {
    disk?.contains(Self.diskKey(rung, asset), .derivative) ?? false
  }

  func store(_ derivative: RenderedImage, as rung: DerivativeLadder.Rung, of asset: Asset) {
    // An encoder's array has room for more than came of it, and this one waits to be written.
    let bytes = derivative.bytes.withUnsafeBufferPointer { Array($0) }
    disk?.store(bytes, info: [UInt8(derivative.decodedEighths)], for: Self.diskKey(rung, asset), .derivative)
  }

  private static func diskKey(_ rung: DerivativeLadder.Rung, _ asset: Asset) -> DiskStore.Key {
    DiskStore.Key(digestOf: Array("\(asset.contentVersion)|\(rung.side)".utf8))
  }
}

/// What is known of a stored frame beside its bytes: format, derivation (2 bytes of each), width and height (4 each).
struct FrameInfo {
  let format: OutputFormat
  let size: PixelSize
  let derivation: Derivation

  init(format: OutputFormat, size: PixelSize, derivation: Derivation) {
    self.format = format
    self.size = size
    self.derivation = derivation
  }

  /// `nil`: it is none that this code has written.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 12 else { return nil }
    func number(_ range: Range<Int>) -> Int { bytes[range].reduce(0) { $0 << 8 | Int($1) } }
    let (format, derivation) = (number(0..<2), number(2..<4))
    guard OutputFormat.allCases.indices.contains(format), Derivation.all.indices.contains(derivation) else {
      return nil
    }
    self.format = OutputFormat.allCases[format]
    self.derivation = Derivation.all[derivation]
    size = PixelSize(width: number(4..<8), height: number(8..<12))
  }

  var bytes: [UInt8] {
    func bytes(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    return bytes(OutputFormat.allCases.firstIndex(of: format) ?? 0, 2)
      + bytes(Derivation.all.firstIndex(of: derivation) ?? 0, 2) + bytes(size.width, 4) + bytes(size.height, 4)
  }
}
