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

  static let page = GalleryFile("index.html", PackageResources.index_html)

  /// By name.
  static let all: [String: GalleryFile] = Dictionary(
    uniqueKeysWithValues: [
      ("api.js", PackageResources.api_js), ("app.js", PackageResources.app_js),
      ("assets.js", PackageResources.assets_js), ("details.js", PackageResources.details_js),
      ("dialogs.js", PackageResources.dialogs_js), ("dom.js", PackageResources.dom_js),
      ("edit.js", PackageResources.edit_js), ("fetchresult.js", PackageResources.fetchresult_js),
      ("gallery.css", PackageResources.gallery_css), ("icon.svg", PackageResources.icon_svg),
      ("layout.js", PackageResources.layout_js),
      ("panel.js", PackageResources.panel_js), ("scrubber.js", PackageResources.scrubber_js),
      ("search.js", PackageResources.search_js), ("selection.js", PackageResources.selection_js),
      ("sidebar.js", PackageResources.sidebar_js), ("strings.js", PackageResources.strings_js),
      ("thumbhash.js", PackageResources.thumbhash_js), ("timeline.js", PackageResources.timeline_js),
      ("uploads.js", PackageResources.uploads_js), ("viewer.css", PackageResources.viewer_css),
      ("viewer.js", PackageResources.viewer_js), ("zoom.js", PackageResources.zoom_js),
    ].map { ($0, GalleryFile($0, $1)) })
}
