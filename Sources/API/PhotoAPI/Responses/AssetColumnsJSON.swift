import HTTPCore
import LibraryCatalogue
import PhotoModel
import Primitives

/// Columns as JSON, written by hand: ten thousand assets are a hundred thousand values, and an encoder that inspects
/// the type of each value takes ten times as long as the rest of the request. Keys are sorted, as in all responses.
///
/// Writes only values that need no JSON escaping: identifiers, dates, base64, names and our own paths.
enum AssetColumnsJSON {
  /// - Parameter fields: the columns to write.
  static func body(
    _ columns: AssetColumns, _ fields: Set<AssetColumns.Field>, changeToken: String, next: String?
  ) -> [UInt8] {
    // The cases are in alphabetical order.
    let fields = AssetColumns.Field.allCases.filter(fields.contains)
    let subtypes = SubtypeTexts(columns.mediaSubtypes)
    let capacity = fields.reduce(256 + changeToken.utf8.count + (next?.utf8.count ?? 0)) { sum, field in
      sum + field.rawValue.utf8.count + 8 + field.maximumBytes(of: columns, subtypes)
    }
    return [UInt8](unsafeUninitializedCapacity: capacity) { memory, count in
      var text = RawWriter(memory)
      text.append("{\"changeToken\":\"\(changeToken)\",\"columns\":{")
      for (index, field) in fields.enumerated() {
        text.append((index == 0 ? "\"" : ",\"") + field.rawValue + "\":[")
        write(field, of: columns, subtypes, &text)
        text.append(UInt8(ascii: "]"))
      }
      text.append("},\"count\":\(columns.count),\"next\":")
      text.append(next.map { "\"\($0)\"" } ?? "null")
      text.append(UInt8(ascii: "}"))
      count = text.count
    }
  }

  private static func write(
    _ field: AssetColumns.Field, of columns: AssetColumns, _ subtypes: SubtypeTexts, _ text: inout RawWriter
  ) {
    switch field {
    case .aspectRatio: list(columns.aspectRatios, &text) { write(ratio: $0, &$1) }
    case .contentVersion: list(columns.contentVersions, &text)
    case .creationDate:
      var date = DateWriter()
      list(columns.creationDates, &text) { date.write($0, &$1) }
    case .duration: list(columns.durations, &text) { write(duration: $0, &$1) }
    case .isFavorite: list(columns.favoriteFlags, &text) { $1.append($0 ? "true" : "false" as StaticString) }
    case .localIdentifier: list(columns.localIdentifiers, &text)
    case .mediaSubtypes: list(columns.mediaSubtypes, &text) { subtypes.write($0, &$1) }
    case .mediaType: list(columns.mediaTypes, &text) { $1.append($0.quoted) }
    case .placeholder: placeholders(columns.placeholders, &text)
    case .utcOffset: list(columns.utcOffsets, &text) { write(offset: $0, &$1) }
    }
  }

  private static func list<Value>(
    _ values: [Value], _ text: inout RawWriter, _ write: (Value, inout RawWriter) -> Void
  ) {
    var isFirst = true
    for value in values {
      if !isFirst { text.append(UInt8(ascii: ",")) }
      isFirst = false
      write(value, &text)
    }
  }

  private static func list(_ strings: ByteStrings, _ text: inout RawWriter) {
    var isFirst = true
    strings.forEach { string in
      text.append(isFirst ? "\"" : ",\"" as StaticString)
      isFirst = false
      text.append(string)
      text.append(UInt8(ascii: "\""))
    }
  }

  private static func placeholders(_ hashes: ByteStrings, _ text: inout RawWriter) {
    var isFirst = true
    hashes.forEach { hash in
      if !isFirst { text.append(UInt8(ascii: ",")) }
      isFirst = false
      guard !hash.isEmpty else { return text.append("null" as StaticString) }
      text.append(UInt8(ascii: "\""))
      text.append(base64: hash)
      text.append(UInt8(ascii: "\""))
    }
  }

  /// With up to four decimal places.
  private static func write(ratio: Double, _ text: inout RawWriter) {
    let scaled = Int((ratio * 10_000).rounded())
    text.append(scaled / 10_000)
    var rest = scaled % 10_000
    guard rest > 0 else { return }
    var digits = 4
    while rest % 10 == 0 {
      rest /= 10
      digits -= 1
    }
    text.append(UInt8(ascii: "."))
    text.append(rest, digits: digits)
  }

  private static func write(duration: Double, _ text: inout RawWriter) {
    if duration == 0 { text.append(UInt8(ascii: "0")) } else { text.append("\(duration)") }
  }

  private static func write(offset: Int?, _ text: inout RawWriter) {
    guard let offset else { return text.append("null" as StaticString) }
    if offset < 0 { text.append(UInt8(ascii: "-")) }
    text.append(abs(offset))
  }

  /// Writes dates like `RFC3339`. Consecutive assets are often of the same day, whose text is made once.
  private struct DateWriter {
    private var day: Int64?
    private var dayText: [UInt8] = []

    mutating func write(_ milliseconds: Int64, _ text: inout RawWriter) {
      let (day, time) = milliseconds.floorDivided(by: CivilDate.millisecondsPerDay)
      if day != self.day {
        self.day = day
        dayText = Array("\"".utf8)
        RFC3339.append(millisecondsSince1970: day * CivilDate.millisecondsPerDay, to: &dayText)
        // Without `00:00:00Z`.
        dayText.removeLast(9)
      }
      dayText.withUnsafeBytes { text.append($0) }
      let seconds = Int(time / 1000)
      text.append(seconds / 3600, digits: 2)
      text.append(UInt8(ascii: ":"))
      text.append(seconds / 60 % 60, digits: 2)
      text.append(UInt8(ascii: ":"))
      text.append(seconds % 60, digits: 2)
      if time % 1000 != 0 {
        text.append(UInt8(ascii: "."))
        text.append(Int(time % 1000), digits: 3)
      }
      text.append("Z\"" as StaticString)
    }
  }

  /// The lists of names of the subtypes that occur: they are few.
  fileprivate struct SubtypeTexts {
    private var texts: [MediaSubtypes: String] = [:]
    private(set) var maximumBytes = 2

    init(_ all: [MediaSubtypes]) {
      for subtypes in all where !subtypes.isEmpty && texts[subtypes] == nil {
        let text = "[\"\(subtypes.names.joined(separator: "\",\""))\"]"
        texts[subtypes] = text
        maximumBytes = max(maximumBytes, text.utf8.count)
      }
    }

    func write(_ subtypes: MediaSubtypes, _ text: inout RawWriter) {
      if subtypes.isEmpty { text.append("[]" as StaticString) } else { text.append(texts[subtypes] ?? "[]") }
    }
  }
}

extension AssetColumns.Field {
  /// The longest text of the column, with quotes and commas.
  fileprivate func maximumBytes(of columns: AssetColumns, _ subtypes: AssetColumnsJSON.SubtypeTexts) -> Int {
    switch self {
    case .aspectRatio: columns.count * 26
    case .contentVersion: columns.contentVersions.bytes.count + columns.count * 3
    case .creationDate: columns.count * 40
    case .duration: columns.count * 28
    case .isFavorite: columns.count * 6
    case .localIdentifier: columns.localIdentifiers.bytes.count + columns.count * 3
    case .mediaSubtypes: columns.count * (subtypes.maximumBytes + 1)
    case .mediaType: columns.count * 10
    case .placeholder: columns.placeholders.bytes.count / 3 * 4 + columns.count * 8
    case .utcOffset: columns.count * 22
    }
  }
}

extension MediaType {
  fileprivate var quoted: StaticString {
    switch self {
    case .unknown: "\"unknown\""
    case .image: "\"image\""
    case .video: "\"video\""
    case .audio: "\"audio\""
    }
  }
}
