/// A GIF whose pictures are coded, by an LZW encoder that is written for tests.
package struct CodedGIFFile: Sendable {
  /// The logical screen.
  package var canvas: (width: Int, height: Int)
  /// The picture's place and indexes: (x, y) at `y * width + x`.
  package var origin = (x: 0, y: 0)
  package var width: Int
  package var height: Int
  package var indexes: [UInt8]
  /// The bits of an index, 1...8.
  package var indexBits = 8
  /// Red, green and blue of each index; the number of colours is a power of two.
  package var globalColors: [[UInt8]]?
  package var localColors: [[UInt8]]?
  package var transparentIndex: UInt8?
  package var isInterlaced = false
  /// Whether a full table is cleared, or kept until the end.
  package var clearsFullTable = true
  /// The most codes between two clear codes; few make all codes short.
  package var codesBetweenClears = Int.max
  /// The bytes of a sub-block, 1...255.
  package var blockBytes = 255
  package var hasEndCode = true
  /// Blocks between the global colours and the picture.
  package var blocksBefore: [UInt8] = []
  /// Blocks after the picture; by default the trailer.
  package var blocksAfter: [UInt8] = [0x3B]

  package init(width: Int, height: Int, indexes: [UInt8], _ change: (inout CodedGIFFile) -> Void = { _ in }) {
    canvas = (width, height)
    (self.width, self.height, self.indexes) = (width, height, indexes)
    change(&self)
  }

  package var bytes: [UInt8] {
    func field(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8)] }
    func flags(_ colors: [[UInt8]]?) -> UInt8 {
      colors.map { 0x80 | UInt8(max(0, $0.count.trailingZeroBitCount - 1)) } ?? 0
    }
    var file = Array("GIF89a".utf8) + field(canvas.width) + field(canvas.height) + [flags(globalColors), 0, 0]
    file += (globalColors ?? []).joined()
    file += blocksBefore
    if let transparentIndex { file += [0x21, 0xF9, 4, 1, 0, 0, transparentIndex, 0] }
    file += [0x2C] + field(origin.x) + field(origin.y) + field(width) + field(height)
    file += [flags(localColors) | (isInterlaced ? 0x40 : 0)]
    file += (localColors ?? []).joined()
    file.append(UInt8(indexBits))
    var data = coded[...]
    while !data.isEmpty {
      let block = data.prefix(blockBytes)
      file += [UInt8(block.count)] + block
      data = data.dropFirst(blockBytes)
    }
    return file + [0] + blocksAfter
  }

  /// The indexes in the order in which they are stored.
  private var stored: [UInt8] {
    guard isInterlaced else { return indexes }
    let rows = [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0.0, to: height, by: $0.1)) }
    return rows.flatMap { indexes[$0 * width..<($0 + 1) * width] }
  }

  private var coded: [UInt8] {
    var out: [UInt8] = []
    var (bits, bitCount) = (0, 0)
    let clear = 1 << indexBits
    // The code of a string that is another code's string and one more byte.
    var table: [Int: Int] = [:]
    var (count, codeBits, sinceClear) = (clear + 2, indexBits + 1, 0)
    func put(_ code: Int) {
      bits |= code << bitCount
      bitCount += codeBits
      while bitCount >= 8 {
        out.append(UInt8(bits & 255))
        (bits, bitCount) = (bits >> 8, bitCount - 8)
      }
    }
    func reset() {
      put(clear)
      table = [:]
      (count, codeBits, sinceClear) = (clear + 2, indexBits + 1, 0)
    }
    reset()
    var current: Int?
    for byte in stored {
      guard let prefix = current else {
        current = Int(byte)
        continue
      }
      let key = prefix << 8 | Int(byte)
      if let known = table[key] {
        current = known
        continue
      }
      put(prefix)
      sinceClear += 1
      if count < 4096 {
        table[key] = count
        count += 1
        // The decoder adds each string one code later than the encoder.
        if count == (1 << codeBits) + 1 && codeBits < 12 { codeBits += 1 }
      } else if clearsFullTable {
        reset()
      }
      if sinceClear >= codesBetweenClears { reset() }
      current = Int(byte)
    }
    if let current {
      put(current)
      // The decoder adds a string for this code too.
      if count < 4096 && count == 1 << codeBits && codeBits < 12 { codeBits += 1 }
    }
    if hasEndCode { put(clear + 1) }
    if bitCount > 0 { out.append(UInt8(bits & 255)) }
    return out
  }
}
