/// The strings of GIF's variant of LZW (GIF89a appendix F): codes grow from the smallest to 12 bits, and a full table
/// does not change until it is cleared. One string is available at a time.
struct LZWStrings {
  static let maximumCodes = 4096
  static let byteCount = maximumCodes * 4 + 64

  /// The code that clears the table; the next one ends the data. Smaller codes are indexes.
  let clearCode: Int
  var endCode: Int { clearCode + 1 }
  /// The bits of the next code.
  private(set) var codeBits: Int
  /// The bytes of the current string that are not taken yet, in ``bytes``.
  var pending = maximumCodes..<maximumCodes
  /// Strings are written from the end.
  private(set) var bytes = [UInt8](repeating: 0, count: maximumCodes)

  /// Code c, from `endCode + 1` to `count - 1`, is the string of the smaller code `prefixes[c]` and the byte
  /// `suffixes[c]`.
  private var prefixes = [UInt16](repeating: 0, count: maximumCodes)
  private var suffixes = [UInt8](repeating: 0, count: maximumCodes)
  private var count: Int
  /// The code before; `nil` at the start and after a clear code.
  private var previous: Int?
  /// The first byte of its string.
  private var first: UInt8 = 0

  /// - Parameter indexBits: 1...8.
  init(indexBits: Int) {
    clearCode = 1 << indexBits
    count = clearCode + 2
    codeBits = indexBits + 1
  }

  private mutating func clear() {
    count = clearCode + 2
    codeBits = clearCode.trailingZeroBitCount + 1
    previous = nil
  }

  /// Makes the string of a code available, and adds one to the table.
  ///
  /// - Parameter code: not the end code.
  /// - Returns: false if the table has no such code.
  mutating func take(_ code: Int) -> Bool {
    if code == clearCode {
      clear()
      return true
    }
    var end = Self.maximumCodes
    guard let before = previous else {
      // The table has only indexes.
      guard code < clearCode else { return false }
      first = UInt8(code)
      bytes[end - 1] = first
      pending = end - 1..<end
      previous = code
      widen()
      return true
    }
    guard code <= count else { return false }
    var current = code
    if code == count {
      // The string that is being added: the one before and its own first byte.
      end -= 1
      bytes[end] = first
      current = before
    }
    while current > clearCode {
      end -= 1
      bytes[end] = suffixes[current]
      current = Int(prefixes[current])
    }
    first = UInt8(current)
    end -= 1
    bytes[end] = first
    pending = end..<Self.maximumCodes
    if count < Self.maximumCodes {
      prefixes[count] = UInt16(before)
      suffixes[count] = first
      count += 1
      widen()
    }
    previous = code
    return true
  }

  /// The next code may be the one that is added after it. With indexes of one bit it needs a third bit at once.
  private mutating func widen() {
    if count >= 1 << codeBits && codeBits < 12 { codeBits += 1 }
  }
}
