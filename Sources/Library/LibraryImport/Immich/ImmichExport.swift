// A copy of Immich's upload folder with the answers of its API beside it. Immich has no export of its own; the guide
// "Import" has the commands. At the top of the folder are
//
//     assets*.json, assets*.jsonl     objects of POST /api/search/metadata with "withExif": true: an array, JSON Lines,
//                                     or its whole answers ({"assets": {"items": [...]}}), one after the other
//     albums*.json, albums*.jsonl     objects of GET /api/albums/{id}, or {"id", "albumName", "assetIds"}
//
// and at any depth the files. A file is found by the end of `originalPath`, or as {id}.{extension}, and its SHA-1 must
// be the `checksum` of the asset.

import Cryptography
import Foundation
import LibraryFolder
import PhotoModel

package struct ImmichExport: ImportSource {
  /// The maximum length of an object: a page of the API with a thousand assets, or an album with its assets.
  static let maximumObjectBytes = 64 << 20
  private static let hashBytes = 1 << 20
  private static let videoExtensions = ["MOV", "mov", "MP4", "mp4"]
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
    // What is left out here is reported with the other files.
    let files = try folder.list([], ImportReport()).files
    let assetFiles = files.filter { Self.isDocument($0, "assets") }
    let albumFiles = files.filter { Self.isDocument($0, "albums") }
    if assetFiles.isEmpty {
      throw .notAnExport(
        "\(folder.path) has no assets.json; photod needs the answers of Immich's API, as the guide Import describes")
    }
    var albums = ImmichAlbums()
    for file in albumFiles {
      try forEachObject(file) { bytes throws(ImportError) in
        if !albums.add(bytes, report) { report.noteFailure(file, "an object is no album of Immich's API") }
      }
    }
    /// Digests of the paths that are imported.
    var used: Set<Int> = []
    for file in assetFiles {
      try forEachObject(file) { bytes throws(ImportError) in
        guard var page = JSONFields(parsing: bytes) else {
          return report.noteFailure(file, "an object can't be read")
        }
        if page.has("originalPath") || page.has("id") {
          return try item(page, in: file, &albums, &used, report, body)
        }
        var list = page.object("assets")
        guard let items = list?.list("items") else {
          return report.noteFailure(file, "an object is no asset and no page")
        }
        for case .object(let members) in items {
          try item(JSONFields(members), in: file, &albums, &used, report, body)
        }
      }
    }
    for _ in 0..<albums.rest { report.noteRemark("members of albums that assets.json does not have") }
    try reportUnused(Set(assetFiles + albumFiles), used, report)
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
    _ json: JSONFields, in document: [UInt8], _ albums: inout ImmichAlbums, _ used: inout Set<Int>,
    _ report: ImportReport, _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    guard let asset = ImmichAsset(json, report) else {
      return report.noteFailure(document, "an asset has no id or no originalPath")
    }
    let albums = albums.take(asset.identifier)
    let stated = Array(asset.originalPath.utf8)
    guard let path = find(asset) else {
      return report.noteFailure(
        stated, "the folder has no such file with the checksum of the asset \(asset.identifier)")
    }
    used.insert(path.hashValue)
    if asset.isTrashed && !includesTrash {
      return report.noteSkip(stated, "in Immich's trash; --include-trashed imports it")
    }
    var item = ImportedItem(path: path, name: asset.name)
    item.metadata = asset.metadata
    item.albums = albums
    try body(item)
    if asset.hasVideo {
      // Immich's search does not list the videos of live photos.
      guard let video = sibling(of: path) else {
        return report.noteFailure(stated, "the video of this live photo is not beside it, and was not imported")
      }
      used.insert(video.hashValue)
      let fileExtension = TakeoutSidecars.pathExtension(LibraryPath.display(video))
      var item = ImportedItem(path: video, name: TakeoutSidecars.stem(asset.name) + fileExtension)
      item.fileDate = asset.metadata.date
      try body(item)
    }
  }

  /// The file of an asset, if its content is the one that Immich has.
  private func find(_ asset: ImmichAsset) -> [UInt8]? {
    var parts = asset.originalPath.split(separator: "/")[...]
    while !parts.isEmpty {
      let path = Array(parts.joined(separator: "/").utf8)
      if isFile(path, of: asset) { return path }
      parts = parts.dropFirst()
    }
    let name = asset.identifier + TakeoutSidecars.pathExtension(asset.name)
    return isFile(Array(name.utf8), of: asset) ? Array(name.utf8) : nil
  }

  private func isFile(_ path: [UInt8], of asset: ImmichAsset) -> Bool {
    guard !path.contains(0), let file = try? folder.root.open(path), file.isRegularFile else { return false }
    guard let checksum = asset.checksum else { return true }
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
    let stem = TakeoutSidecars.stem(LibraryPath.display(LibraryPath.name(of: path)))
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
          report.noteSkip(whole, "no asset of assets.json has this file")
        }
      }
    }
  }
}
