// Replaces bytes of a file while the file is served; the file itself does not change. Every patch has the length of the
// bytes that it replaces, so the length and all offsets of the file stay valid. `LocationRemoval` makes overlays, and
// the download of an original applies them.

/// Sorted patches of a file that do not overlap.
package struct ByteOverlay: Sendable, Hashable {
  /// Replaces a part of the file, never empty, by bytes or by zeros. Zeros take no memory, however many they are.
  package struct Patch: Sendable, Hashable {
    fileprivate enum Content: Sendable, Hashable {
      case bytes([UInt8])
      case zeros(Int)

      var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .zeros(let count): count
        }
      }
    }

    package let offset: Int64
    fileprivate let content: Content

    package init(offset: Int64, bytes: [UInt8]) {
      self.offset = offset
      content = .bytes(bytes)
    }

    package init(zeros range: Range<Int64>) {
      offset = range.lowerBound
      content = .zeros(range.count)
    }

    package var range: Range<Int64> { offset..<offset + Int64(content.count) }

    /// The bytes that replace those of the file. For zeros, each call makes a new array.
    package var bytes: [UInt8] {
      switch content {
      case .bytes(let bytes): bytes
      case .zeros(let count): [UInt8](repeating: 0, count: count)
      }
    }

    /// The bytes that the patch counts towards a memory limit. A run of zeros counts only as its entry in the list.
    package var storedBytes: Int {
      switch content {
      case .bytes(let bytes): bytes.count
      case .zeros(let count): min(count, 16)
      }
    }
  }

  /// A part of the result: bytes of the file, bytes of a patch, or a number of zeros.
  package enum Piece: Sendable, Hashable {
    case file(Range<Int64>)
    case bytes(ArraySlice<UInt8>)
    case zeros(Int)
  }

  /// Why patches can't form an overlay.
  package enum Failure: Error, Sendable, Hashable {
    /// Two patches have different bytes at this offset.
    case conflict(offset: Int64)
    /// All patches together take more memory than the limit.
    case tooLarge(limit: Int, found: Int)
  }

  /// The default for ``storedBytes``.
  package static let maximumBytes = 4 << 20

  /// In ascending order, without overlaps. Only a patch of bytes and one of zeros can touch each other.
  package let patches: [Patch]

  /// An overlay that changes nothing.
  package init() { patches = [] }

  /// Sorts patches and joins those that touch. Patches may overlap where they agree.
  ///
  /// - Parameters:
  ///   - patches: in any order, at offsets from 0 to `Int64.max / 2`. Empty ones are dropped.
  ///   - limit: the maximum of ``storedBytes`` after joining.
  package init(_ patches: [Patch], limit: Int = Self.maximumBytes) throws(Failure) {
    var sorted = patches.filter { !$0.range.isEmpty }
    sorted.sort { $0.offset < $1.offset }
    for patch in sorted {
      precondition(patch.offset >= 0 && patch.offset <= Int64.max / 2, "a patch outside of any file")
    }
    let zeros = Self.joinedZeros(sorted)
    var joined = try Self.joinedBytes(sorted)
    if !zeros.isEmpty {
      joined = try Self.parts(of: joined, outside: zeros)
      for run in zeros { joined.append(Patch(zeros: run)) }
      joined.sort { $0.offset < $1.offset }
    }
    self.patches = joined
    if storedBytes > limit { throw .tooLarge(limit: limit, found: storedBytes) }
  }

  private static func joinedZeros(_ sorted: [Patch]) -> [Range<Int64>] {
    var joined: [Range<Int64>] = []
    for patch in sorted {
      guard case .zeros = patch.content else { continue }
      if let last = joined.last, patch.offset <= last.upperBound {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, patch.range.upperBound)
      } else {
        joined.append(patch.range)
      }
    }
    return joined
  }

  private static func joinedBytes(_ sorted: [Patch]) throws(Failure) -> [Patch] {
    var joined: [Patch] = []
    // Collected separately: appending to an array inside of an enum or struct in an array copies it.
    var start: Int64 = 0
    var bytes: [UInt8] = []
    for patch in sorted {
      guard case .bytes(let new) = patch.content else { continue }
      let end = start + Int64(bytes.count)
      if bytes.isEmpty || patch.offset > end {
        if !bytes.isEmpty { joined.append(Patch(offset: start, bytes: bytes)) }
        (start, bytes) = (patch.offset, new)
      } else {
        let known = Int(patch.offset - start)
        let common = min(bytes.count - known, new.count)
        for i in 0..<common where bytes[known + i] != new[i] {
          throw .conflict(offset: patch.offset + Int64(i))
        }
        bytes += new.dropFirst(common)
      }
    }
    if !bytes.isEmpty { joined.append(Patch(offset: start, bytes: bytes)) }
    return joined
  }

  /// The parts of patches of bytes outside of runs of zeros. Inside of them, the bytes must be zeros too. Neither list
  /// has overlaps, and both are sorted.
  private static func parts(of patches: [Patch], outside zeros: [Range<Int64>]) throws(Failure) -> [Patch] {
    var parts: [Patch] = []
    var first = 0
    for patch in patches {
      let bytes = patch.bytes
      while first < zeros.count, zeros[first].upperBound <= patch.offset { first += 1 }
      var position = patch.offset
      var index = first
      while index < zeros.count, zeros[index].lowerBound < patch.range.upperBound {
        let common = zeros[index].clamped(to: patch.range)
        for i in common where bytes[Int(i - patch.offset)] != 0 { throw .conflict(offset: i) }
        let part = bytes[Int(position - patch.offset)..<Int(common.lowerBound - patch.offset)]
        if !part.isEmpty { parts.append(Patch(offset: position, bytes: Array(part))) }
        position = common.upperBound
        index += 1
      }
      let rest = bytes[Int(position - patch.offset)...]
      if !rest.isEmpty { parts.append(Patch(offset: position, bytes: Array(rest))) }
    }
    return parts
  }

  package var isEmpty: Bool { patches.isEmpty }

  /// How many bytes of the file are replaced.
  package var byteCount: Int { patches.reduce(0) { $0 + $1.content.count } }

  /// The bytes that all patches count towards a memory limit.
  package var storedBytes: Int { patches.reduce(0) { $0 + $1.storedBytes } }

  /// Whether a patch touches a range.
  package func changes(_ range: Range<Int64>) -> Bool {
    let index = firstPatch(endingAfter: range.lowerBound)
    return !range.isEmpty && index < patches.count && patches[index].offset < range.upperBound
  }

  /// The pieces of a range of the result, in order; their lengths add up to the range's. Takes time in proportion to
  /// the logarithm of the patches and to the pieces.
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
      switch patch.content {
      case .bytes(let bytes): pieces.append(.bytes(bytes[Int(position - patch.offset)..<Int(end - patch.offset)]))
      case .zeros: pieces.append(.zeros(Int(end - position)))
      }
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
      let target = UnsafeMutableRawBufferPointer(
        rebasing: bytes[Int(common.lowerBound - offset)..<Int(common.upperBound - offset)])
      switch patch.content {
      case .bytes(let new):
        target.copyBytes(from: new[Int(common.lowerBound - patch.offset)..<Int(common.upperBound - patch.offset)])
      case .zeros: target.initializeMemory(as: UInt8.self, repeating: 0)
      }
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
