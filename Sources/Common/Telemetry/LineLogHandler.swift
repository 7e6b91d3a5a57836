import Logging
import Primitives
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A swift-log handler for standard error: one line per event, as `key=value` pairs that people and programs can read.
///
///     time=2026-11-21T10:00:00.123Z level=info label=library msg="scan complete" assets=12
package struct LogfmtHandler: LogHandler {
  private let label: String
  private let shared: LogLevel
  /// The level of this logger only.
  private var own: Logger.Level?
  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?

  package init(label: String, level: LogLevel) {
    self.label = label
    shared = level
  }

  package var logLevel: Logger.Level {
    get { own ?? shared.level }
    set { own = newValue }
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    var line =
      "time=\(Self.timestamp()) level=\(event.level.rawValue) label=\(label) msg=\(Self.quoted(event.message.description))"
    let all = metadata.merging(metadataProvider?.get() ?? [:]) { own, _ in own }
      .merging(event.metadata ?? [:]) { _, later in later }
    for (key, value) in all.sorted(by: { $0.key < $1.key }) {
      line += " \(key)=\(Self.quoted(value.description))"
    }
    line += "\n"
    // One write per line, so that lines of different threads do not mix.
    line.withUTF8 { bytes in _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
  }

  /// Returns plain text unchanged and quotes all other text. Control characters are escaped, so a value can't forge a
  /// line.
  private static func quoted(_ text: String) -> String {
    let isPlain =
      !text.isEmpty
      && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=") }
    if isPlain { return text }
    var out = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\r": out += "\\r"
      case "\t": out += "\\t"
      case let other where other.value < 0x20 || (0x7F...0x9F).contains(other.value):
        out += "\\u{\(String(other.value, radix: 16))}"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out + "\""
  }

  private static func timestamp() -> String {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return RFC3339.text(
      millisecondsSince1970: Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000, fraction: .always)
  }
}
