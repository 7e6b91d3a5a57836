// Checks the result of a removal. Each walk over directories knows which bytes have to stay, but in a damaged file two
// structures may share bytes, for example a preview and a directory inside of it. Then removing a location from one
// changes the other.

import MediaMetadata
import PhotoModel

extension LocationRemoval {
  /// Checks that the file with the overlay has nothing left to remove, and is the same picture. Reads what the removal
  /// read once more; callers keep overlays, so this happens once for a file.
  ///
  /// - Throws: `overlap` at the first patch or the first location that is left.
  static func check(
    _ overlay: ByteOverlay, of source: any ByteSource, removing facts: PrivateFacts, _ limits: LocationRemovalLimits
  ) throws(LocationRemovalError) {
    let damaged = LocationRemovalError.overlap(offset: overlay.patches.first?.offset ?? 0)
    let edited = OverlaidSource(source, overlay)
    let rest: ByteOverlay
    do throws(LocationRemovalError) {
      var context = LocationRemovalContext(edited, removing: facts, limits: limits)
      try remove(from: 0..<edited.size, &context)
      rest = try context.overlay()
    } catch {
      if case .readFailed = error { throw error }
      throw damaged
    }
    if let patch = rest.patches.first { throw .overlap(offset: patch.offset) }
    guard let before = try header(of: source) else { return }
    guard let after = try header(of: edited), after.format == before.format, after.storedSize == before.storedSize
    else { throw damaged }
    guard facts.contains(.locations) else { return }
    if after.exif.location != nil || after.facts.capture.location != nil { throw damaged }
  }

  /// The header of a file; `nil` if it can't be rendered.
  private static func header(of source: any ByteSource) throws(LocationRemovalError) -> MediaHeader? {
    do throws(CodecError) {
      return try MediaHeader.read(from: source, limits: CodecLimits().headerOnly)
    } catch {
      if case .readFailed(let code) = error { throw .readFailed(code: code) }
      return nil
    }
  }
}

/// A file with an overlay.
private final class OverlaidSource: ByteSource {
  private let source: any ByteSource
  private let overlay: ByteOverlay

  init(_ source: any ByteSource, _ overlay: ByteOverlay) {
    self.source = source
    self.overlay = overlay
  }

  var size: Int64 { source.size }
  var canReturnNotYet: Bool { source.canReturnNotYet }
  var isUnchanged: Bool { source.isUnchanged }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    let read = try source.read(into: buffer, at: offset)
    if case .bytes(let count) = read {
      overlay.apply(to: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)), at: offset)
    }
    return read
  }
}
