import Primitives

/// Writes Prometheus' text format, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats).
///
/// For each metric: `# HELP` if it has a help text, `# TYPE`, then one line per series. Every line ends in a line feed.
/// A metric without series is omitted.
struct Exposition {
  private(set) var bytes: [UInt8] = []

  mutating func add(_ family: MetricsRegistry.Family, _ name: String) {
    var hasHead = false
    for (labels, cell) in family.cells.sortedByKey {
      if case .callback(let read) = cell {
        guard let value = read() else { continue }
        head(family, name, &hasHead)
        sample(name, labels, Self.number(value))
        continue
      }
      head(family, name, &hasHead)
      switch cell {
      case .counter(let cell): sample(name, labels, String(cell.value))
      case .gauge(let cell): sample(name, labels, Self.number(cell.value))
      case .histogram(let cell): histogram(cell, name, labels)
      case .callback: break
      }
    }
  }

  private mutating func head(_ family: MetricsRegistry.Family, _ name: String, _ hasHead: inout Bool) {
    guard !hasHead else { return }
    hasHead = true
    if !family.help.isEmpty { add("# HELP \(name) \(Self.escaped(family.help, quotes: false))\n") }
    add("# TYPE \(name) \(family.kind.rawValue)\n")
  }

  /// Buckets are cumulative and ascending; the infinite bucket equals the count.
  private mutating func histogram(_ cell: HistogramCell, _ name: String, _ labels: String) {
    let (cumulative, sum) = cell.values
    let prefix = labels.isEmpty ? "" : labels + ","
    for (bound, count) in zip(cell.bounds, cumulative) {
      sample(name + "_bucket", "\(prefix)le=\"\(Self.number(bound))\"", String(count))
    }
    let total = String(cumulative[cell.bounds.count])
    sample(name + "_bucket", prefix + "le=\"+Inf\"", total)
    sample(name + "_sum", labels, Self.number(sum))
    sample(name + "_count", labels, total)
  }

  private mutating func sample(_ name: String, _ labels: String, _ value: String) {
    add(labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n")
  }

  private mutating func add(_ text: String) { bytes.append(contentsOf: text.utf8) }

  /// A number in the syntax of Go's `ParseFloat`; whole numbers without a fraction.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    if value == value.rounded(), abs(value) < 0x1p53 { return String(Int(value)) }
    return value.description
  }

  /// The text between the braces of a series, ordered by label name.
  static func labels(_ labels: [(String, String)]) -> String {
    labels.map { (name(label: $0.0), $0.1) }.sorted { $0.0 < $1.0 }
      .map { "\($0.0)=\"\(escaped($0.1, quotes: true))\"" }.joined(separator: ",")
  }

  /// Escapes backslash and line feed, and in label values also the double quote.
  private static func escaped(_ text: String, quotes: Bool) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\"" where quotes: out += "\\\""
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }

  /// A metric name: `[a-zA-Z_:][a-zA-Z0-9_:]*`. Other characters become underscores.
  static func name(_ text: String) -> String { name(text, colons: true) }

  /// A label name: without colons, and not `le`, which is reserved for buckets.
  private static func name(label text: String) -> String {
    let name = name(text, colons: false)
    return name == "le" ? "le_" : name
  }

  private static func name(_ text: String, colons: Bool) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      let isDigit = ("0"..."9").contains(scalar)
      let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
      if out.isEmpty && isDigit { out += "_" }
      out.unicodeScalars.append(isLetter || isDigit || (colons && scalar == ":") ? scalar : "_")
    }
    return out.isEmpty ? "_" : out
  }
}
