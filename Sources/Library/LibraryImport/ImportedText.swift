// Cleans and truncates texts of exports for the catalogue, by the limits of change lists. Leaves out descriptions and
// words that are coordinates.

import Foundation
import PhotoModel

enum ImportedText {
  /// The maximum length of an album's title, in UTF-8 bytes.
  static let titleBytes = 512

  /// A text of one line; `nil` if nothing is left.
  static func line(_ text: String?, limit: Int, _ report: ImportReport) -> String? {
    clean(text, limit: limit, keepsLines: false, report)
  }

  /// A description, which may have several lines; `nil` if nothing is left.
  static func caption(_ text: String?, _ report: ImportReport) -> String? {
    let caption = clean(text, limit: DescriptiveLimits.captionBytes, keepsLines: true, report)
    return caption.flatMap { isForAllCallers($0, report) ? $0 : nil }
  }

  /// Words without duplicates.
  static func words(_ texts: [String], _ report: ImportReport) -> [String] {
    var seen: Set<String> = []
    let words = texts.compactMap { line($0, limit: DescriptiveLimits.wordBytes, report) }
      .filter { seen.insert($0).inserted && isForAllCallers($0, report) }
    if words.count > DescriptiveLimits.keywords { report.noteRemark("keywords beyond \(DescriptiveLimits.keywords)") }
    return Array(words.prefix(DescriptiveLimits.keywords))
  }

  /// Whether callers without the scope `location` may see a text of an asset.
  private static func isForAllCallers(_ text: String, _ report: ImportReport) -> Bool {
    guard DescriptiveMetadata.isCoordinates(text) else { return true }
    report.noteRemark("descriptions and keywords that are coordinates, which were left out")
    return false
  }

  private static func clean(_ text: String?, limit: Int, keepsLines: Bool, _ report: ImportReport) -> String? {
    guard let text else { return nil }
    var scalars = String.UnicodeScalarView()
    for scalar in text.replacingOccurrences(of: "\r\n", with: "\n").unicodeScalars {
      let isKept =
        scalar.properties.generalCategory != .control || keepsLines && (scalar == "\n" || scalar == "\t")
      scalars.append(isKept ? scalar : " ")
    }
    var result = String(scalars).trimmingCharacters(in: .whitespacesAndNewlines)
    if result.utf8.count > limit {
      report.noteRemark("texts cut to \(limit) bytes")
      while result.utf8.count > limit { result.removeLast() }
    }
    return result.isEmpty ? nil : result
  }
}
