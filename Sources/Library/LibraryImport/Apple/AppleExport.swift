// A folder that Apple Photos, Image Capture or osxphotos has exported: originals, with XMP sidecars where the export
// made them, the adjustment data of edited pictures (AAE), and the videos of live photos. Folders are albums, except
// those that are only dates. The XMP and AAE files are also kept beside the original, byte by byte: a scan imports the
// edits in them.

import Foundation
import LibraryFiles
import LibraryFolder
import PhotoModel

package struct AppleExport: ImportSource {
  private static let sidecarExtensions: Set<String> = [".xmp", ".aae"]
  private static let notMedia: Set<String> = [".json", ".plist", ".txt", ".csv", ".db", ".ini", ".html"]
  /// Longer names are albums, also if they have only digits and signs.
  private static let maximumDateCharacters = 10

  private let folder: ExportFolder
  private let choice: PictureChoice
  private let makesAlbums: Bool
  private let timeZone: TimeZone

  /// - Parameters:
  ///   - makesAlbums: folders are albums.
  ///   - timeZone: the zone of dates without an offset.
  package init(folder path: String, makesAlbums: Bool, timeZone: TimeZone) throws(ImportError) {
    folder = try ExportFolder(path)
    choice = PictureChoice(root: folder.root)
    self.makesAlbums = makesAlbums
    self.timeZone = timeZone
  }

  package func forEachItem(
    _ report: ImportReport, _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    var isChecked = false
    try folder.walk(report) { path, listing throws(ImportError) in
      if !isChecked, let name = listing.files.first(where: { TakeoutSidecars.isJSON(LibraryPath.display($0)) }) {
        isChecked = true
        try checkKind(LibraryPath.join(path, name))
      }
      try items(in: path, listing.files, report, body)
    }
  }

  /// Throws if a JSON file is one of a Google Takeout: its pictures would lose their dates.
  private func checkKind(_ path: [UInt8]) throws(ImportError) {
    guard let bytes = try? folder.read(path, limit: TakeoutExport.maximumJSONBytes),
      JSONFields(parsing: bytes)?.has("photoTakenTime") == true
    else { return }
    throw .notAnExport("\(folder.path) is a Google Takeout: photod import takeout")
  }

  /// Looks up the names of a folder, first exactly, then without regard to case.
  private struct Names {
    private var exact: Set<[UInt8]>
    private var folded: [String: [[UInt8]]] = [:]

    init(_ files: [[UInt8]]) {
      exact = Set(files)
      for file in files { folded[LibraryPath.display(file).lowercased(), default: []].append(file) }
    }

    /// The file with this name; a name in another case only if it is the only one.
    func find(_ name: String) -> [UInt8]? {
      if exact.contains(Array(name.utf8)) { return Array(name.utf8) }
      let others = folded[name.lowercased()] ?? []
      return others.count == 1 ? others[0] : nil
    }
  }

  private func items(
    in path: [UInt8], _ files: [[UInt8]], _ report: ImportReport,
    _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    let names = Names(files)
    let sidecars = files.filter { Self.isSidecar(LibraryPath.display($0)) }
    var unused = Set(sidecars)
    let album = album(of: path, report)
    let media = files.filter { file in
      let name = LibraryPath.display(file)
      if Self.isSidecar(name) { return false }
      let isMedia = !Self.notMedia.contains(ExportFileName.pathExtension(name).lowercased()) && !name.hasPrefix(".")
      if !isMedia { report.noteSkip(LibraryPath.join(path, file), "not a picture or video") }
      return isMedia
    }
    /// Pictures by stem. Some names may differ only in the normalisation of Unicode.
    var pictures: [String: [[UInt8]]] = [:]
    for file in media {
      let name = LibraryPath.display(file)
      if ExportFileName.isVideo(name) || ExportFileName.isRAW(name) { continue }
      pictures[ExportFileName.stem(name), default: []].append(file)
    }
    /// Videos and RAW files by the name of their picture.
    var companions: [[UInt8]: [[UInt8]]] = [:]
    for file in media {
      let name = LibraryPath.display(file)
      guard ExportFileName.isVideo(name) || ExportFileName.isRAW(name) else { continue }
      let stem = ExportFileName.stem(name)
      let candidates = pictures[stem] ?? []
      let exact = candidates.filter { $0.starts(with: Array(stem.utf8)) }
      let paths = (exact.isEmpty ? candidates : exact).map { LibraryPath.join(path, $0) }
      guard let picture = choice.picture(of: LibraryPath.join(path, file), among: paths) else { continue }
      companions[LibraryPath.name(of: picture), default: []].append(file)
    }
    let joined = Set(companions.values.joined())
    for file in media where !joined.contains(file) {
      var item = item(file, in: path, names, album, report, &unused)
      for companion in companions[file] ?? [] {
        item.companions.append(self.item(companion, in: path, names, album, report, &unused, of: file))
      }
      try body(item)
    }
    for name in unused.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      report.noteSkip(LibraryPath.join(path, name), "its picture is not in the same folder")
    }
  }

  private static func isSidecar(_ name: String) -> Bool {
    sidecarExtensions.contains(ExportFileName.pathExtension(name).lowercased())
  }

  /// - Parameter picture: the picture of a companion, to which sidecars named after the stem belong.
  private func item(
    _ file: [UInt8], in path: [UInt8], _ names: Names, _ album: ImportedAlbum?, _ report: ImportReport,
    _ unused: inout Set<[UInt8]>, of picture: [UInt8]? = nil
  ) -> ImportedItem {
    let name = LibraryPath.display(file)
    var item = ImportedItem(path: LibraryPath.join(path, file), name: name)
    item.albums = album.map { [$0] } ?? []
    for (candidate, form) in Self.sidecars(of: name) where picture == nil || form == .wholeName {
      guard let found = names.find(candidate) else { continue }
      unused.remove(found)
      let sidecarPath = LibraryPath.join(path, found)
      let kind = ExportFileName.pathExtension(LibraryPath.display(found)).dropFirst()
      item.sidecars.append(ImportedSidecar(path: sidecarPath, form: form, fileExtension: String(kind)))
      if kind.lowercased() == "xmp" {
        // The sidecar with the file's whole name comes first, and so takes precedence.
        if let metadata = read(sidecarPath, report) { item.metadata.add(metadata) }
      } else {
        report.noteRemark("edited pictures: crops and turns are rendered, other adjustments are kept")
      }
    }
    return item
  }

  /// The names of sidecars that a file may have. Image Capture names the adjustments of IMG_1 IMG_O1.
  private static func sidecars(of name: String) -> [(name: String, form: SidecarForm)] {
    let stem = ExportFileName.stem(name)
    var names: [(String, SidecarForm)] = [("\(name).xmp", .wholeName), ("\(stem).xmp", .stem), ("\(stem).AAE", .stem)]
    if stem.hasPrefix("IMG_") { names.append(("IMG_O\(stem.dropFirst(4)).AAE", .appleOriginal)) }
    return names
  }

  private func album(of path: [UInt8], _ report: ImportReport) -> ImportedAlbum? {
    guard makesAlbums, !path.isEmpty else { return nil }
    let name = LibraryPath.display(LibraryPath.name(of: path))
    let isDate = name.count <= Self.maximumDateCharacters && name.allSatisfy { $0.isNumber || "-_. ".contains($0) }
    guard !isDate, let title = ImportedText.line(name, limit: ImportedText.titleBytes, report) else { return nil }
    return ImportedAlbum(key: "apple:" + LibraryPath.display(path), title: title)
  }

  private func read(_ path: [UInt8], _ report: ImportReport) -> ImportedMetadata? {
    do throws(SystemError) {
      let bytes = try folder.read(path, limit: LibraryImporter.maximumSidecarBytes)
      if let properties = XMPProperties(bytes) { return properties.metadata(in: timeZone, report) }
      report.noteFailure(path, "it is not an XMP packet; it is kept beside the picture")
    } catch {
      report.noteFailure(path, "the sidecar can't be read (\(error))")
    }
    return nil
  }
}
