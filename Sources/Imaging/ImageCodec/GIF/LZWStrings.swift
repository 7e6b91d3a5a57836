/// The strings of GIF's variant of LZW (GIF89a appendix F): codes grow from the smallest to 12 bits, and a full table
/// does not change until it is cleared.
struct LZWStrings {
  static let maximumCodes = 4096
  /// The memory of the table.
  static let byteCount = maximumCodes * MemoryLayout<Entry>.stride

  /// The code that clears the table; the next one ends the data. Smaller codes are indexes.
  let clearCode: Int
  var endCode: Int { clearCode + 1 }
  /// The bits of the next code.
  private(set) var codeBits: Int

  /// A string: that of a smaller code, and one more byte.
  private struct Entry {
    let prefix: UInt16
    let suffix: UInt8
    /// In bytes.
    let length: UInt16
  }

  /// The strings of the codes from `endCode + 1` to `count - 1`. Those of smaller codes have one byte.
  private var entries = [Entry](repeating: Entry(prefix: 0, suffix: 0, length: 1), count: maximumCodes)
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

  /// The length of a code's string: 0 for the clear code, which is carried out. `nil` if the table has no such code.
  ///
  /// - Parameter code: not the end code.
  mutating func length(of code: Int) -> Int? {
    if code < clearCode { return 1 }
    if code == clearCode {
      clear()
      return 0
    }
    guard let previous, code <= count else { return nil }
    // The string that is being added: the one before and its own first byte.
    return Int(code == count ? entries[previous].length + 1 : entries[code].length)
  }

  /// Writes a code's string, and adds one to the table.
  ///
  /// - Parameters:
  ///   - code: has a length of at least one.
  ///   - end: the position after the string; the bytes before it have room for its length.
  mutating func write(_ code: Int, to array: inout [UInt8], endingAt end: Int) {
    // A span checks the bounds of each access, but not each time whether the array is shared.
    var bytes = array.mutableSpan
    var end = end - 1
    var current = code
    if code == count, let previous {
      bytes[end] = first
      end -= 1
      current = previous
    }
    while current > clearCode {
      let entry = entries[current]
      bytes[end] = entry.suffix
      end -= 1
      current = Int(entry.prefix)
    }
    first = UInt8(current)
    bytes[end] = first
    add()
    previous = code
  }

  /// Adds the string before and the first byte of the current one.
  private mutating func add() {
    if let previous {
      guard count < Self.maximumCodes else { return }
      entries[count] = Entry(prefix: UInt16(previous), suffix: first, length: entries[previous].length + 1)
      count += 1
    }
    // The next code may be the code that it will add itself, so its length must fit. With indexes of one bit, codes
    // need a third bit at once.
    if count >= 1 << codeBits && codeBits < 12 { codeBits += 1 }
  }
}
