// A name from outside as one for a file: of one component, visible, and harmless also where the library is read by Windows.

import Foundation
import LibraryFolder

package enum UploadName {
  /// What a file is called of which nobody says how.
  private static let fallback = "upload"
  /// What Windows and SMB take for something else (Naming Files, Paths, and Namespaces), and what a shell would.
  private static let forbidden: Set<Unicode.Scalar> = ["<", ">", ":", "\"", "|", "?", "*"]
  private static let reserved: Set<String> = Set(
    ["con", "prn", "aux", "nul", "conin$", "conout$"] + (0...9).flatMap { ["com\($0)", "lpt\($0)"] })

  /// - Parameters:
  ///   - name: as it came; of a path only the last component counts.
  ///   - ending: what is put behind a name that has no ending, without the dot.
  /// - Returns: 1...255 bytes of UTF-8: no slash, no control character, no dot at its beginning or end.
  package static func file(_ name: String?, ending: String) -> [UInt8] {
    let last = (name ?? "").split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
    var clean = component(last)
    if clean.isEmpty { clean = fallback }
    let dot = clean.lastIndex(of: ".")
    let hasEnding = dot.map { clean[$0...].utf8.count <= FilePath.maximumEnding } ?? false
    if !hasEnding && !ending.isEmpty { clean += "." + ending }
    // What is cut is the stem.
    let cut = clean.lastIndex(of: ".") ?? clean.endIndex
    let tail = Array(clean[cut...].utf8)
    return FilePath.truncated(Array(clean[..<cut].utf8), to: FilePath.maximumName - tail.count) + tail
  }

  /// A text as a part of a path, possibly empty.
  static func component(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text.precomposedStringWithCanonicalMapping.unicodeScalars {
      switch scalar.properties.generalCategory {
      // Among the formats are those that turn a name around.
      case .control, .format, .surrogate, .unassigned, .lineSeparator, .paragraphSeparator: continue
      default: scalars.append(forbidden.contains(scalar) || scalar == "/" || scalar == "\\" ? "_" : scalar)
      }
    }
    let text = String(scalars).trimmingCharacters(in: CharacterSet(charactersIn: ". \u{A0}\t"))
    let stem = text.prefix { $0 != "." }.lowercased().trimmingCharacters(in: .whitespaces)
    return reserved.contains(stem) ? "_" + text : text
  }
}
