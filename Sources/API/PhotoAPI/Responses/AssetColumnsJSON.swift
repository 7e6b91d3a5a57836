import HTTPCore
import LibraryCatalogue
import Primitives

/// Columns as JSON, written by hand: ten thousand assets are fifty thousand values, and an encoder that inspects the
/// type of each value takes as long as the rest of the request. Keys are sorted, as in all responses.
enum AssetColumnsJSON {
  static func body(_ columns: AssetColumns, changeToken: String, next: String?) -> [UInt8] {
    var text = Writer(capacity: columns.count * 110 + 256)
    text.append("{\"changeToken\":\"\(changeToken)\",\"columns\":{\"aspectRatio\":[")
    text.list(columns.aspectRatios) { $0.append(ratio: $1) }
    text.append("],\"creationDate\":[")
    text.list(columns.creationDates) { $0.append(date: $1) }
    text.append("],\"isFavorite\":[")
    text.list(columns.favoriteFlags) { $0.append($1 ? "true" : "false") }
    text.append("],\"localIdentifier\":[")
    text.list(columns.localIdentifiers) { $0.append(quoted: $1) }
    text.append("],\"placeholder\":[")
    text.list(columns.placeholders) { text, placeholder in
      if let placeholder { text.append(quoted: placeholder) } else { text.append("null") }
    }
    text.append("]},\"count\":\(columns.count),\"next\":")
    if let next { text.append(quoted: next) } else { text.append("null") }
    text.append("}")
    return text.bytes
  }

  /// Writes only values that need no JSON escaping: identifiers, dates, base64 and our own paths.
  private struct Writer {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    mutating func append(quoted text: String) {
      bytes.append(UInt8(ascii: "\""))
      bytes.append(contentsOf: text.utf8)
      bytes.append(UInt8(ascii: "\""))
    }

    mutating func append(date milliseconds: Int64) {
      bytes.append(UInt8(ascii: "\""))
      RFC3339.append(millisecondsSince1970: milliseconds, to: &bytes)
      bytes.append(UInt8(ascii: "\""))
    }

    /// With up to four decimal places.
    mutating func append(ratio: Double) {
      let scaled = Int((ratio * 10_000).rounded())
      append(String(scaled / 10_000))
      var rest = scaled % 10_000
      guard rest > 0 else { return }
      var digits = rest.zeroPadded(4)
      while rest % 10 == 0 {
        rest /= 10
        digits.removeLast()
      }
      append("." + digits)
    }

    mutating func list<Value>(_ values: [Value], _ write: (inout Writer, Value) -> Void) {
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        write(&self, value)
      }
    }
  }
}
