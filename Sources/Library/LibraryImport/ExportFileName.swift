import Foundation
import ImageCodec

/// Reads the names of files in an export.
enum ExportFileName {
  private static let videoExtensions: Set<String> = [".mp4", ".mov", ".mp", ".mv", ".m4v"]
  /// Formats of pictures and videos that photod does not read.
  private static let otherExtensions: Set<String> = [
    ".avi", ".divx", ".mkv", ".webm", ".wmv", ".asf", ".mpg", ".mpeg", ".mts", ".m2ts", ".flv", ".vob", ".ogv", ".psd",
    ".svg", ".x3f", ".crw", ".mrw",
  ]
  private static let rawExtensions = Set(MediaFormat.allCases.filter(\.isRAW).map { ".\($0.filenameExtension)" })

  /// The name without its extension.
  static func stem(_ name: String) -> String {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return name }
    return String(name[..<dot])
  }

  /// The extension with its dot.
  static func pathExtension(_ name: String) -> String { String(name.dropFirst(stem(name).count)) }

  /// Whether the name is that of a video. Pixel phones write `.MP` and `.MP~2`.
  static func isVideo(_ name: String) -> Bool {
    let fileExtension = pathExtension(name).lowercased()
    return videoExtensions.contains(fileExtension) || fileExtension.hasPrefix(".mp~")
  }

  /// Whether the name is that of a picture or video in a format that photod does not read.
  static func isOtherFormat(_ name: String) -> Bool { otherExtensions.contains(pathExtension(name).lowercased()) }

  static func isRAW(_ name: String) -> Bool { rawExtensions.contains(pathExtension(name).lowercased()) }
}
