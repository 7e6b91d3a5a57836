// The files of the gallery page. They are part of the program, so the gallery needs no other files.

import HTTPCore
import ImageService

struct GalleryFile: Sendable {
  let name: String
  let mediaType: String
  let bytes: [UInt8]
  let entityTag: String
  let gzipped: [UInt8]?

  private init(_ name: String, _ bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
    mediaType = Self.mediaTypes[name.split(separator: ".").last.map(String.init) ?? ""] ?? "application/octet-stream"
    entityTag = EntityTag.strong(over: bytes)
    gzipped = ContentCoding.gzip(bytes)
  }

  /// Without parameters: all files are UTF-8, and say so themselves or are read as UTF-8.
  static let mediaTypes = [
    "html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml",
  ]

  private static let files = EmbeddedFiles.all(in: "gallery/").map { GalleryFile($0, $1) }

  static let page = files.first { $0.name == "index.html" }!

  /// The files that the page loads, by name.
  static let all: [String: GalleryFile] = Dictionary(
    uniqueKeysWithValues: files.filter { $0.name != "index.html" }.map { ($0.name, $0) })
}
