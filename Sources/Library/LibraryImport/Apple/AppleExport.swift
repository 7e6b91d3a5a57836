// A folder that Apple Photos, Image Capture or osxphotos has exported: originals, with XMP sidecars where the export
// made them, the adjustment data of edited pictures (AAE), and the videos of live photos. Folders are albums, except
// those that are only dates. The XMP and AAE files are also kept beside the original, byte by byte: a scan imports the
// edits in them.

import Foundation
import LibraryFolder
import PhotoModel

package struct AppleExport: ImportSource {
  private static let videoExtensions: Set<String> = [".mov", ".mp4", ".m4v"]
  private static let sidecarExtensions: Set<String> = [".xmp", ".aae"]
  private static let notMedia: Set<String> = [".json", ".plist", ".txt", ".csv", ".db", ".ini", ".html"]
  /// Longer names are albums, whatever they have.
  private static let maximumDateCharacters = 10

  private let folder: ExportFolder
  private let makesAlbums: Bool

  /// - Parameter makesAlbums: folders are albums.
  package init(folder path: String, makesAlbums: Bool) throws(ImportError) {
    folder = try ExportFolder(path)
    self.makesAlbums = makesAlbums
  }

  package func forEachItem(
    _ report: ImportReport, _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    try folder.walk(report) { path, listing throws(ImportError) in
      try items(in: path, listing.files, report, body)
    }
  }

  private func items(
    in path: [UInt8], _ files: [[UInt8]], _ report: ImportReport,
    _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    var names: [String: [UInt8]] = [:]
    var pictureStems: Set<String> = []
    for file in files {
      let name = LibraryPath.display(file)
      names[name.lowercased()] = file
      let fileExtension = TakeoutSidecars.pathExtension(name).lowercased()
      if Self.videoExtensions.contains(fileExtension) || Self.sidecarExtensions.contains(fileExtension) { continue }
      pictureStems.insert(TakeoutSidecars.stem(name).lowercased())
    }
    let album = album(of: path, report)
    var unused = Set(
      names.keys.filter { Self.sidecarExtensions.contains(TakeoutSidecars.pathExtension($0)) })
    for file in files {
      let name = LibraryPath.display(file)
      let fileExtension = TakeoutSidecars.pathExtension(name).lowercased()
      if Self.sidecarExtensions.contains(fileExtension) { continue }
      let filePath = LibraryPath.join(path, file)
      if Self.notMedia.contains(fileExtension) || name.hasPrefix(".") {
        report.noteSkip(filePath, "not a picture or video")
        continue
      }
      var item = ImportedItem(path: filePath, name: name)
      item.albums = album.map { [$0] } ?? []
      let isCompanion =
        Self.videoExtensions.contains(fileExtension)
        && pictureStems.contains(TakeoutSidecars.stem(name).lowercased())
      for candidate in Self.sidecarNames(of: name) {
        guard let bytes = names[candidate] else { continue }
        unused.remove(candidate)
        // The video of a live photo joins its picture, which has the sidecars.
        if isCompanion { continue }
        let sidecarPath = LibraryPath.join(path, bytes)
        let kind = TakeoutSidecars.pathExtension(LibraryPath.display(bytes)).dropFirst()
        item.sidecars.append(ImportedSidecar(path: sidecarPath, fileExtension: String(kind)))
        if kind.lowercased() == "xmp" {
          read(sidecarPath, into: &item.metadata, report)
        } else {
          report.noteRemark("edited pictures: crops and turns are rendered, other adjustments are kept")
        }
      }
      try body(item)
    }
    for name in unused.sorted() {
      guard let bytes = names[name] else { continue }
      report.noteSkip(LibraryPath.join(path, bytes), "its picture is not in the same folder")
    }
  }

  /// The names of sidecars that a file may have, in lower case. Image Capture names the adjustments of IMG_1 IMG_O1.
  private static func sidecarNames(of file: String) -> [String] {
    let name = file.lowercased()
    let stem = TakeoutSidecars.stem(name)
    var names = ["\(name).xmp", "\(stem).xmp", "\(stem).aae"]
    if stem.hasPrefix("img_") { names.append("img_o\(stem.dropFirst(4)).aae") }
    return names
  }

  private func album(of path: [UInt8], _ report: ImportReport) -> ImportedAlbum? {
    guard makesAlbums, !path.isEmpty else { return nil }
    let name = LibraryPath.display(LibraryPath.name(of: path))
    let isDate = name.count <= Self.maximumDateCharacters && name.allSatisfy { $0.isNumber || "-_. ".contains($0) }
    guard !isDate, let title = ImportedText.line(name, limit: ImportedText.titleBytes, report) else { return nil }
    return ImportedAlbum(key: path, title: title)
  }

  private func read(_ path: [UInt8], into metadata: inout ImportedMetadata, _ report: ImportReport) {
    do throws(SystemError) {
      let bytes = try folder.read(path, limit: LibraryImporter.maximumSidecarBytes)
      guard let properties = XMPProperties(bytes) else {
        return report.noteFailure(path, "it is no XMP packet; it is kept beside the picture")
      }
      metadata = properties.metadata(report)
    } catch {
      report.noteFailure(path, "the sidecar can't be read (\(error))")
    }
  }
}
