// A copy of Immich's upload folder with responses of its API beside it. Immich has no export of its own; the guide
// "Import" has the commands. At the top of the folder are
//
//     assets*.json, assets*.jsonl     objects of POST /api/search/metadata with "withExif": true: an array, JSON Lines,
//                                     or its whole answers ({"assets": {"items": [...]}}), one after the other
//     albums*.json, albums*.jsonl     {"id", "albumName", "assetCount", "assetIds"}, or objects of GET /api/albums/{id}
//     tags*.json, tags*.jsonl         {"value", "assetIds"}
//
// and at any depth the files. A file is found by the end of `originalPath`, or as {id}.{extension}, and its SHA-1 must
// be the `checksum` of the asset; in external libraries that is the SHA-1 of the path.
//
// The documents are read twice, because the videos of live photos are assets of their own, anywhere among the others.
// Memory holds the identifiers and paths of all videos, and the identifiers of the members of albums and tags.

import Cryptography
import Foundation
import LibraryFolder
import PhotoModel

package struct ImmichExport: ImportSource {
  /// The maximum length of an object: a page of the API with a thousand assets, or an album with its assets.
  static let maximumObjectBytes = 64 << 20
  private static let hashBytes = 1 << 20
  private static let videoExtensions = ["MOV", "mov", "MP4", "mp4"]
  private static let notMedia: Set<String> = [".xmp", ".json", ".jsonl", ".txt", ".gz", ".sql", ".html"]
  /// Folders of pictures that Immich has made.
  private static let derivedFolders: Set<String> = ["thumbs", "encoded-video", "profile", "backups"]

  private let folder: ExportFolder
  private let includesTrash: Bool

  /// - Parameter includesTrash: also imports what is in Immich's trash.
  package init(folder path: String, includesTrash: Bool) throws(ImportError) {
    folder = try ExportFolder(path)
    self.includesTrash = includesTrash
  }

  package func forEachItem(
    _ report: ImportReport, _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    // Files that are skipped here are reported by `reportUnused`.
    let files = try folder.list([], ImportReport()).files
    let assetFiles = files.filter { Self.isDocument($0, "assets") }
    let albumFiles = files.filter { Self.isDocument($0, "albums") }
    let tagFiles = files.filter { Self.isDocument($0, "tags") }
    if assetFiles.isEmpty {
      throw .notAnExport(
        "\(folder.path) has no assets.json; photod needs the answers of Immich's API, as the guide Import describes")
    }
    var run = Run()
    for file in albumFiles {
      try forEachObject(file) { bytes throws(ImportError) in
        if !run.albums.addAlbum(bytes, report) { report.noteFailure(file, "an object is not an album of Immich's API") }
      }
    }
    for album in run.albums.incomplete {
      report.noteFailure(
        albumFiles.first ?? [],
        "the album \(album.title) has \(album.stated) assets, of which \(album.members) are listed")
    }
    if albumFiles.isEmpty { report.noteRemark("missing albums.json: no albums are made") }
    for file in tagFiles {
      try forEachObject(file) { bytes throws(ImportError) in
        if !run.albums.addTag(bytes) { report.noteFailure(file, "an object is not a tag with assetIds") }
      }
    }
    for file in assetFiles {
      try forEachAsset(file, ImportReport()) { fields throws(ImportError) in
        guard let asset = ImmichAsset(fields, ImportReport()) else { return }
        if asset.isVideo { run.videos[asset.identifier] = AssetFile(asset) }
        if let video = asset.videoIdentifier { run.videosOfPictures.insert(video) }
      }
    }
    for file in assetFiles {
      try forEachAsset(file, report) { fields throws(ImportError) in try item(fields, in: file, &run, report, body) }
    }
    for _ in 0..<run.albums.untakenCount { report.noteRemark("members of albums that assets.json does not have") }
    try reportUnused(Set(assetFiles + albumFiles + tagFiles), run.used, report)
  }

  /// The facts that are needed to find the file of an asset.
  private struct AssetFile {
    let identifier: String
    let originalPath: String
    let name: String
    let checksum: [UInt8]?

    init(_ asset: ImmichAsset) {
      (identifier, originalPath) = (asset.identifier, asset.originalPath)
      (name, checksum) = (asset.name, asset.checksum)
    }
  }

  /// The state of one run of an import: the contents of the documents.
  private struct Run {
    var albums = ImmichAlbums()
    /// By their identifiers.
    var videos: [String: AssetFile] = [:]
    /// The identifiers of the videos of live photos.
    var videosOfPictures: Set<String> = []
    /// Digests of the paths that are imported or left out by a rule.
    var used: Set<Int> = []
  }

  /// Calls `body` with each asset of a document.
  private func forEachAsset(
    _ file: [UInt8], _ report: ImportReport, _ body: (JSONFields) throws(ImportError) -> Void
  ) throws(ImportError) {
    try forEachObject(file) { bytes throws(ImportError) in
      guard var page = JSONFields(parsing: bytes) else {
        return report.noteFailure(file, "an object can't be read")
      }
      if page.has("originalPath") || page.has("id") { return try body(page) }
      var list = page.object("assets")
      guard let items = list?.list("items") else {
        return report.noteFailure(file, "an object is neither an asset nor a page")
      }
      for case .object(let members) in items { try body(JSONFields(members)) }
    }
  }

  private static func isDocument(_ name: [UInt8], _ stem: String) -> Bool {
    let name = LibraryPath.display(name)
    return name.hasPrefix(stem) && (name.hasSuffix(".json") || name.hasSuffix(".jsonl"))
  }

  private func forEachObject(
    _ path: [UInt8], _ body: ([UInt8]) throws(ImportError) -> Void
  ) throws(ImportError) {
    let name = LibraryPath.display(path)
    let file: LibraryFile
    do throws(SystemError) {
      file = try folder.root.open(path)
    } catch {
      throw .folderUnreadable(path: "\(folder.path)/\(name)", error)
    }
    var elements = JSONElements(file, limit: Self.maximumObjectBytes)
    while true {
      let element: [UInt8]?
      do throws(JSONElements.Failure) {
        element = try elements.next()
      } catch {
        throw .malformed(path: "\(folder.path)/\(name)", "\(error)")
      }
      guard let element else { return }
      try body(element)
    }
  }

  // MARK: Assets

  private func item(
    _ json: JSONFields, in document: [UInt8], _ run: inout Run, _ report: ImportReport,
    _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    guard var asset = ImmichAsset(json, report) else {
      return report.noteFailure(document, "an asset has no id or no originalPath")
    }
    // The video of a live photo is imported with its picture.
    if run.videosOfPictures.contains(asset.identifier) { return }
    let stated = Array(asset.originalPath.utf8)
    var item = ImportedItem(path: [], name: asset.name)
    item.albums = run.albums.take(asset.identifier)
    let tags = ImportedText.words(run.albums.tags(of: asset.identifier), report)
    asset.metadata.keywords += tags.filter { !asset.metadata.keywords.contains($0) }
    item.metadata = asset.metadata
    guard let path = find(AssetFile(asset)) else {
      return report.noteFailure(
        stated, "the folder has no such file with the checksum of the asset \(asset.identifier)")
    }
    item.path = path
    run.used.insert(path.hashValue)
    let video = asset.videoIdentifier.map { identifier in
      run.videos[identifier].flatMap(find) ?? sibling(of: path) ?? []
    }
    if let video { run.used.insert(video.hashValue) }
    if asset.isTrashed && !includesTrash {
      return report.noteSkip(stated, "in Immich's trash; --include-trashed imports it")
    }
    if let video, !video.isEmpty {
      let fileExtension = ExportFileName.pathExtension(LibraryPath.display(video))
      var companion = ImportedItem(path: video, name: ExportFileName.stem(asset.name) + fileExtension)
      (companion.metadata, companion.albums) = (item.metadata, item.albums)
      item.companions = [companion]
    }
    try body(item)
    if video == [] {
      report.noteFailure(
        stated,
        "the video of this live photo was not found, and was not imported; assets.json must have hidden assets too")
    }
  }

  /// The file of an asset, if its content is the one that Immich has.
  private func find(_ asset: AssetFile) -> [UInt8]? {
    var parts = asset.originalPath.split(separator: "/")[...]
    while !parts.isEmpty {
      for form in Self.forms(of: parts.joined(separator: "/")) where isFile(form, of: asset) { return form }
      parts = parts.dropFirst()
    }
    let name = asset.identifier + ExportFileName.pathExtension(asset.name)
    return isFile(Array(name.utf8), of: asset) ? Array(name.utf8) : nil
  }

  /// The path unchanged and in both normal forms of Unicode, because macOS may have changed the form in a copy.
  private static func forms(of path: String) -> [[UInt8]] {
    let forms = [path, path.precomposedStringWithCanonicalMapping, path.decomposedStringWithCanonicalMapping]
    return forms.map { Array($0.utf8) }.reduce(into: []) { list, form in
      if !list.contains(form) { list.append(form) }
    }
  }

  private func isFile(_ path: [UInt8], of asset: AssetFile) -> Bool {
    guard !path.contains(0), let file = try? folder.root.open(path), file.isRegularFile else { return false }
    guard let checksum = asset.checksum else { return true }
    // In external libraries, the checksum is that of the path.
    if Digest.digest(Array("path:\(asset.originalPath)".utf8), .sha1).elementsEqual(checksum) { return true }
    var hash = Digest(.sha1)
    var offset: Int64 = 0
    while offset < file.size {
      guard let bytes = try? file.bytes(at: offset, count: Self.hashBytes), !bytes.isEmpty else { return false }
      hash.update(bytes)
      offset += Int64(bytes.count)
    }
    return hash.finalize().elementsEqual(checksum)
  }

  /// The video beside the picture of a live photo.
  private func sibling(of path: [UInt8]) -> [UInt8]? {
    let stem = ExportFileName.stem(LibraryPath.display(LibraryPath.name(of: path)))
    return Self.videoExtensions.lazy
      .map { LibraryPath.join(LibraryPath.folder(of: path), Array("\(stem).\($0)".utf8)) }
      .first { $0 != path && (try? folder.root.open($0))?.isRegularFile == true }
  }

  // MARK: Other files

  private func reportUnused(
    _ documents: Set<[UInt8]>, _ used: Set<Int>, _ report: ImportReport
  ) throws(ImportError) {
    try folder.walk(report) { path, listing throws(ImportError) in
      let isDerived = path.split(separator: UInt8(ascii: "/")).contains {
        Self.derivedFolders.contains(String(decoding: $0, as: UTF8.self))
      }
      for file in listing.files {
        let whole = LibraryPath.join(path, file)
        if documents.contains(whole) || used.contains(whole.hashValue) { continue }
        if isDerived {
          report.noteRemark("files that Immich has made, such as thumbnails")
        } else {
          let fileExtension = ExportFileName.pathExtension(LibraryPath.display(file)).lowercased()
          if Self.notMedia.contains(fileExtension) || file.first == UInt8(ascii: ".") {
            report.noteSkip(whole, "not a picture or video")
          } else {
            report.noteFailure(whole, "no asset of assets.json has this file; is its visibility missing there?")
          }
        }
      }
    }
  }
}
