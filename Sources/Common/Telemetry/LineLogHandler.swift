import Logging
import Primitives

/// A swift-log handler for standard error: one line for each event, in the form of ``LogLines``.
package struct LineLogHandler: LogHandler {
  /// The members that each line has already.
  private static let reservedKeys: Set<String> = ["time", "level", "label", "msg"]

  private let label: String
  private let format: LogFormat
  private let shared: LogLevel
  /// The level of this logger only.
  private var own: Logger.Level?
  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?

  package init(label: String, format: LogFormat, level: LogLevel) {
    self.label = label
    self.format = format
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
    var line = LogLines(format)
    line.begin(
      millisecondsSince1970: SystemTime.milliseconds, level: event.level, label: label,
      message: event.message.description)
    let all = metadata.merging(metadataProvider?.get() ?? [:]) { own, _ in own }
      .merging(event.metadata ?? [:]) { _, later in later }
    for (key, value) in all.sortedByKey {
      line.add(Self.reservedKeys.contains(key) ? key + "_" : key, value.description)
    }
    line.end()
    StandardErrorLines.shared.write(line.bytes, format)
  }
}
