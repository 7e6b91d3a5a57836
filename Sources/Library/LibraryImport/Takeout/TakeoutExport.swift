// An unpacked Google Takeout: folders of pictures, each picture with a JSON file beside it. A folder is an album if it
// has a JSON file with a title and without a time. Pictures of albums are a second time in the folder of their year;
// the importer recognises that by their content.

import LibraryFolder
import PhotoModel

package struct TakeoutExport: ImportSource {
  /// The maximum length of a JSON file.
  static let maximumJSONBytes = 1 << 20
  /// Names of the folders of years, in the languages of Google Photos: no albums, whatever files they have.
  private static let yearFolders = [
    "Photos from ", "Fotos von ", "Photos de ", "Photos de l'année ", "Fotos de ", "Fotos del ", "Foto del ",
    "Foto's uit ", "Foton från ", "Bilder fra ", "Billeder fra ", "Kuvat vuodelta ", "Zdjęcia z ", "Фото за ",
  ]
  private static let videoExtensions: Set<String> = [".mp4", ".mov", ".mp", ".mv", ".m4v"]
  private static let notMedia: Set<String> = [".html", ".htm", ".csv", ".txt", ".pdf", ".xml", ".ini", ".db"]

  private let folder: ExportFolder
  private let includesTrash: Bool

  /// - Parameter includesTrash: also imports what is in Google's trash.
  package init(folder path: String, includesTrash: Bool) throws(ImportError) {
    folder = try ExportFolder(path)
    self.includesTrash = includesTrash
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
    for file in files { names[LibraryPath.display(file)] = file }
    let sidecars = TakeoutSidecars(names.keys.sorted())
    var unused = Set(names.keys.filter(TakeoutSidecars.isJSON))
    for name in names.keys where !TakeoutSidecars.isJSON(name) {
      if let found = sidecars.sidecar(of: name) { unused.remove(found.name) }
    }
    let album = album(of: path, others: unused.sorted(), names, report)
    for file in files {
      let name = LibraryPath.display(file)
      if TakeoutSidecars.isJSON(name) { continue }
      let filePath = LibraryPath.join(path, file)
      if Self.notMedia.contains(TakeoutSidecars.pathExtension(name).lowercased()) || name.hasPrefix(".") {
        report.noteSkip(filePath, "not a picture or video")
        continue
      }
      var item = ImportedItem(path: filePath, name: name)
      item.albums = album.map { [$0] } ?? []
      if let found = sidecars.sidecar(of: name), let bytes = names[found.name] {
        guard let json = parse(LibraryPath.join(path, bytes), report) else {
          // Without its description the picture would lose its date; the user decides.
          report.noteFailure(filePath, "its description \(found.name) can't be read")
          continue
        }
        // The properties of a shared description count once.
        let description = TakeoutDescription(json, found.isShared ? ImportReport() : report)
        if description.isTrashed && !includesTrash {
          report.noteSkip(filePath, "in Google's trash; --include-trashed imports it")
          continue
        }
        item.name = description.name(of: name)
        item.metadata = description.metadata
        if found.isShared, Self.videoExtensions.contains(TakeoutSidecars.pathExtension(name).lowercased()) {
          // The video of a live photo joins its picture, which has the properties already.
          (item.metadata, item.fileDate) = (ImportedMetadata(), description.metadata.date)
        }
      } else {
        report.noteRemark("pictures and videos without a description")
      }
      try body(item)
    }
  }

  /// The album that a folder is. Reports all JSON files that describe no picture of the folder.
  private func album(
    of path: [UInt8], others: [String], _ names: [String: [UInt8]], _ report: ImportReport
  ) -> ImportedAlbum? {
    let folderName = LibraryPath.display(LibraryPath.name(of: path))
    var album: ImportedAlbum?
    for name in others {
      guard let bytes = names[name] else { continue }
      let filePath = LibraryPath.join(path, bytes)
      guard var json = parse(filePath, report) else {
        report.noteFailure(filePath, "it is no JSON object of at most \(Self.maximumJSONBytes) bytes")
        continue
      }
      if json.has("photoTakenTime") {
        report.noteSkip(
          filePath, "its picture is not in the same folder; unpack all parts of the export into one folder")
      } else if json.has("title"), album == nil, !path.isEmpty {
        let title = ImportedText.line(json.text("title"), limit: ImportedText.titleBytes, report)
        if Self.isYear(folderName) { continue }
        album = ImportedAlbum(key: path, title: title ?? folderName)
        reportAlbum(&json, report)
      } else {
        report.noteSkip(filePath, "a JSON file that describes no picture")
      }
    }
    return album
  }

  private func reportAlbum(_ json: inout JSONFields, _ report: ImportReport) {
    if json.text("description") != nil { report.noteUnmapped("description of albums") }
    json.ignore("date")
    var rest = json
    rest.ignore("description")
    rest.reportRest(to: report)
  }

  private static func isYear(_ name: String) -> Bool {
    let year = name.suffix(4)
    return year.count == 4 && year.allSatisfy(\.isNumber) && yearFolders.contains { $0 + year == name }
  }

  private func parse(_ path: [UInt8], _ report: ImportReport) -> JSONFields? {
    do throws(SystemError) {
      return JSONFields(parsing: try folder.read(path, limit: Self.maximumJSONBytes))
    } catch {
      return nil
    }
  }
}
