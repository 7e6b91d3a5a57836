// Replaces bytes of a file while the file is served; the file itself does not change. Every patch has the length of the
// bytes that it replaces, so the length and all offsets of the file stay valid. `LocationRemoval` makes overlays, and
// the download of an original applies them.

/// Sorted patches of a file that do not overlap.
package struct ByteOverlay: Sendable, Hashable {
  /// Bytes, never empty, that replace as many bytes of the file.
  package struct Patch: Sendable, Hashable {
    package let offset: Int64
    package let bytes: [UInt8]

    package init(offset: Int64, bytes: [UInt8]) {
      self.offset = offset
      self.bytes = bytes
    }

    package var range: Range<Int64> { offset..<offset + Int64(bytes.count) }
  }

  /// A part of the result: bytes of the file, or bytes of a patch.
  package enum Piece: Sendable, Hashable {
    case file(Range<Int64>)
    case bytes(ArraySlice<UInt8>)
  }

  /// Why patches can't form an overlay.
  package enum Failure: Error, Sendable, Hashable {
    /// Two patches have different bytes at this offset.
    case conflict(offset: Int64)
    /// All patches together have more bytes than the limit.
    case tooLarge(limit: Int, found: Int)
  }

  /// The default for the bytes of all patches together.
  package static let maximumBytes = 4 << 20

  /// In ascending order; patches neither overlap nor touch.
  package let patches: [Patch]

  /// An overlay that changes nothing.
  package init() { patches = [] }

  /// Sorts patches and joins those that touch. Patches may overlap where they agree.
  ///
  /// - Parameters:
  ///   - patches: in any order, at offsets from 0 to `Int64.max / 2`. Empty ones are dropped.
  ///   - limit: the maximum of all bytes after joining.
  package init(_ patches: [Patch], limit: Int = Self.maximumBytes) throws(Failure) {
    var joined: [Patch] = []
    // Collected separately: appending to an array inside of an enum or struct in an array copies it.
    var start: Int64 = 0
    var bytes: [UInt8] = []
    var total = 0
    for patch in patches.sorted(by: { $0.offset < $1.offset }) where !patch.bytes.isEmpty {
      precondition(patch.offset >= 0 && patch.offset <= Int64.max / 2, "a patch outside of any file")
      let end = start + Int64(bytes.count)
      if bytes.isEmpty || patch.offset > end {
        if !bytes.isEmpty { joined.append(Patch(offset: start, bytes: bytes)) }
        (start, bytes) = (patch.offset, patch.bytes)
        total += patch.bytes.count
      } else {
        let known = Int(patch.offset - start)
        let common = min(bytes.count - known, patch.bytes.count)
        for i in 0..<common where bytes[known + i] != patch.bytes[i] {
          throw .conflict(offset: patch.offset + Int64(i))
        }
        bytes += patch.bytes.dropFirst(common)
        total += patch.bytes.count - common
      }
      if total > limit { throw .tooLarge(limit: limit, found: total) }
    }
    if !bytes.isEmpty { joined.append(Patch(offset: start, bytes: bytes)) }
    self.patches = joined
  }

  package var isEmpty: Bool { patches.isEmpty }

  /// The bytes of all patches.
  package var byteCount: Int { patches.reduce(0) { $0 + $1.bytes.count } }

  /// Whether a patch touches a range.
  package func changes(_ range: Range<Int64>) -> Bool {
    let index = firstPatch(endingAfter: range.lowerBound)
    return !range.isEmpty && index < patches.count && patches[index].offset < range.upperBound
  }

  /// The pieces of a range of the result, in order; their lengths add up to the range's. Takes time in proportion to the
  /// logarithm of the patches and to the pieces.
  ///
  /// - Parameter range: within the file.
  package func pieces(in range: Range<Int64>) -> [Piece] {
    var pieces: [Piece] = []
    var position = range.lowerBound
    var index = firstPatch(endingAfter: position)
    while position < range.upperBound, index < patches.count {
      let patch = patches[index]
      guard patch.offset < range.upperBound else { break }
      if patch.offset > position {
        pieces.append(.file(position..<patch.offset))
        position = patch.offset
      }
      let end = min(patch.range.upperBound, range.upperBound)
      pieces.append(.bytes(patch.bytes[Int(position - patch.offset)..<Int(end - patch.offset)]))
      position = end
      index += 1
    }
    if position < range.upperBound { pieces.append(.file(position..<range.upperBound)) }
    return pieces
  }

  /// Writes the patches over bytes of the file that are in memory.
  ///
  /// - Parameters:
  ///   - bytes: bytes of the file.
  ///   - offset: the position of the first of them in the file.
  package func apply(to bytes: inout [UInt8], at offset: Int64 = 0) {
    bytes.withUnsafeMutableBytes { apply(to: $0, at: offset) }
  }

  /// Like ``apply(to:at:)`` with an array.
  package func apply(to bytes: UnsafeMutableRawBufferPointer, at offset: Int64) {
    let range = offset..<offset + Int64(bytes.count)
    for patch in patches[firstPatch(endingAfter: offset)...] {
      let common = patch.range.clamped(to: range)
      guard !common.isEmpty else { break }
      let part = patch.bytes[Int(common.lowerBound - patch.offset)..<Int(common.upperBound - patch.offset)]
      UnsafeMutableRawBufferPointer(rebasing: bytes[Int(common.lowerBound - offset)...]).copyBytes(from: part)
    }
  }

  private func firstPatch(endingAfter position: Int64) -> Int {
    var (low, high) = (0, patches.count)
    while low < high {
      let middle = (low + high) / 2
      if patches[middle].range.upperBound > position { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
