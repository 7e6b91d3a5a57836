import Primitives

/// Simple case folding (The Unicode Standard §5.18; CaseFolding.txt, status C and S): `[c]` applies it to both sides.
///
/// Each character maps to one character, independent of context and language: `ß` and `ss` stay distinct, as do `i` and
/// `İ`, and accents are kept. The iota below a Greek letter (U+0345), which Unicode folds to a letter, is kept too: a
/// composed `ᾳ` keeps it as a mark, so a decomposed one must. The table belongs to this module, not to the runtime, so
/// that indexes and earlier results stay valid with another toolchain. Characters that were assigned after the table
/// was made fold to themselves.
package enum CaseFolding {
  /// Linear in the text, with a logarithmic lookup for non-ASCII characters.
  package static func folded(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) {
      return String(unsafeUninitializedCapacity: text.utf8.count) { buffer in
        var count = 0
        for byte in text.utf8 {
          buffer[count] = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
          count += 1
        }
        return count
      }
    }
    var folded = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { folded.append(Self.folded(scalar)) }
    return String(folded)
  }

  static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    let value = Int32(scalar.value)
    // The last run that begins at or before the character.
    let end = 4 * (0..<runs.count / 4).partitioningIndex { runs[$0 * 4] > value }
    guard end > 0 else { return scalar }
    let (first, last, step, distance) = (runs[end - 4], runs[end - 3], runs[end - 2], runs[end - 1])
    guard value <= last, (value - first) % step == 0 else { return scalar }
    return Unicode.Scalar(UInt32(value + distance)) ?? scalar
  }
}
