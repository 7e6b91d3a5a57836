/// Writes values as JSON (RFC 8259): UTF-8, without white space, with sorted keys, so that equal values have equal
/// text.
///
/// The text is that of Foundation's `JSONEncoder` with sorted keys and without escaped slashes. That encoder first
/// collects all values in a tree, with a dictionary for each object. This one writes each value as it is encoded, and
/// sorts the members of an object when the object ends: by their keys' bytes as they are written, with escapes.
///
/// - A value must end a nested container before it writes to the enclosing one again. Anything else is a programming
///   error that stops the process.
/// - Types for which Foundation's encoder has special rules (`Data`, `Date`, `Decimal`, `URL`) must be converted first.
/// - `codingPath` is always empty.
package enum JSONText {
  /// - Throws: `EncodingError.invalidValue` for a number that is infinite or not a number; errors of the value's own
  ///   `encode(to:)`.
  /// - Complexity: linear in the length of the text, and `n log n` in the number of an object's members that are not
  ///   encoded in the order of their keys.
  package static func encode(_ value: some Encodable) throws -> [UInt8] {
    let text = SharedText()
    try value.encode(to: JSONValueEncoder(text: text, depth: 0))
    return text.writer.finish()
  }
}
