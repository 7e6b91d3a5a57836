// Makes a safe filename of a name from a client: a single path component, visible characters only, and valid on Windows
// clients of the library too.

import Foundation
import LibraryFolder
import Primitives

package enum UploadFilename {
  /// The name of a file without a given name.
  private static let fallback = "upload"
  /// Characters with a special meaning for Windows and SMB (Naming Files, Paths, and Namespaces) or for a shell.
  private static let forbidden: Set<Unicode.Scalar> = ["<", ">", ":", "\"", "|", "?", "*"]
  private static let reserved: Set<String> = Set(
    ["con", "prn", "aux", "nul", "conin$", "conout$"] + (0...9).flatMap { ["com\($0)", "lpt\($0)"] })

  /// - Parameters:
  ///   - name: as received; only the last component of a path is used.
  ///   - fileExtension: appended to a name without an extension, without the dot.
  /// - Returns: 1...255 bytes of UTF-8: no slash, no control character, no dot at its beginning or end.
  package static func file(_ name: String?, fileExtension: String) -> [UInt8] {
    let last = (name ?? "").split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
    var clean = component(last)
    if clean.isEmpty { clean = fallback }
    let dot = clean.lastIndex(of: ".")
    let hasExtension = dot.map { clean[$0...].utf8.count <= LibraryPath.maximumExtensionBytes } ?? false
    if !hasExtension && !fileExtension.isEmpty { clean += "." + fileExtension }
    // The stem is truncated, never the extension.
    let cut = clean.lastIndex(of: ".") ?? clean.endIndex
    let tail = Array(clean[cut...].utf8)
    return LibraryPath.truncated(Array(clean[..<cut].utf8), to: LibraryPath.maximumNameBytes - tail.count) + tail
  }

  /// Makes a text safe for use in a path component; may be empty.
  static func component(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    let composed = text.precomposedStringWithCanonicalMapping
    for scalar in composed.unicodeScalars.replacingFormatCharacters(with: nil) {
      switch scalar.properties.generalCategory {
      case .control, .surrogate, .unassigned, .lineSeparator, .paragraphSeparator: continue
      default: scalars.append(forbidden.contains(scalar) || scalar == "/" || scalar == "\\" ? "_" : scalar)
      }
    }
    let text = String(scalars).trimmingCharacters(in: CharacterSet(charactersIn: ". \u{A0}\t"))
    let stem = text.prefix { $0 != "." }.lowercased().trimmingCharacters(in: .whitespaces)
    return reserved.contains(stem) ? "_" + text : text
  }
}
