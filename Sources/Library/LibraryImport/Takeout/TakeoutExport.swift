// An unpacked Google Takeout: folders of pictures, each picture with a JSON file beside it. A folder is an album if it
// has a JSON file with a title and without a time. Pictures of albums are in the folder of their year as well; the
// importer recognises the copies by their content.
//
// The parts of a Takeout may be unpacked into one folder, or each into its own: folders with the same path below
// `Takeout` are one. The paths of all folders are held in memory.

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
  private static let notMedia: Set<String> = [".html", ".htm", ".csv", ".txt", ".pdf", ".xml", ".ini", ".db"]
  private static let archives: Set<String> = [".zip", ".tgz", ".gz", ".tar"]
  private static let missingPicture = "its picture is not in the same folder; a part of the export may be missing"
  /// The folder at the top of each part.
  private static let top = Array("Takeout".utf8)

  private let folder: ExportFolder
  private let choice: PictureChoice
  private let includesTrash: Bool

  /// - Parameter includesTrash: also imports what is in Google's trash.
  package init(folder path: String, includesTrash: Bool) throws(ImportError) {
    folder = try ExportFolder(path)
    choice = PictureChoice(root: folder.root)
    self.includesTrash = includesTrash
  }

  package func forEachItem(
    _ report: ImportReport, _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    var order: [[UInt8]] = []
    var folders: [[UInt8]: [[UInt8]]] = [:]
    // Unreadable folders are reported later, when the files are listed.
    try folder.walk(ImportReport()) { path, _ in
      let whole = Self.wholePath(path)
      if folders[whole] == nil { order.append(whole) }
      folders[whole, default: []].append(path)
    }
    for whole in order {
      let files = try FolderFiles(folders[whole] ?? [], in: folder, report)
      try items(in: whole, files, report, body)
    }
  }

  /// The path of a folder as it is when all parts are unpacked into one folder.
  private static func wholePath(_ path: [UInt8]) -> [UInt8] {
    let components = path.split(separator: UInt8(ascii: "/"))
    guard let first = components.firstIndex(where: { $0.elementsEqual(top) }) else { return path }
    return Array(components[first...].joined(separator: [UInt8(ascii: "/")]))
  }

  /// The files of all folders that have the same path below `Takeout`.
  private struct FolderFiles {
    /// Paths below the export's folder, sorted in each folder.
    var paths: [[UInt8]] = []
    /// The paths of each name. Several files have one name if they are in different parts of the export, or if their
    /// names differ only in the normalisation of Unicode.
    private var byName: [String: [[UInt8]]] = [:]

    init(_ folders: [[UInt8]], in export: ExportFolder, _ report: ImportReport) throws(ImportError) {
      for folder in folders {
        paths += try export.list(folder, report).files.map { LibraryPath.join(folder, $0) }
      }
      for path in paths { byName[TakeoutExport.name(path), default: []].append(path) }
    }

    var names: [String] { byName.keys.sorted() }
    func paths(of name: String) -> [[UInt8]] { byName[name] ?? [] }
    func path(of name: String) -> [UInt8]? { paths(of: name).first }

    /// Of several files with one name, the one in the folder of a file: the exports of two accounts have equal names.
    func path(of name: String, beside file: [UInt8]) -> [UInt8]? { nearest(name, to: file).first }

    /// Of several JSON files with one name, the one in the picture's own folder; of several in one folder, the one that
    /// begins with the bytes of the picture's name.
    func path(of name: String, describing file: [UInt8]) -> [UInt8]? {
      let nearest = nearest(name, to: file)
      let start = LibraryPath.name(of: file)
      return nearest.first { LibraryPath.name(of: $0).starts(with: start) } ?? nearest.first
    }

    /// The files with a name in the folder of a file; if there are none, those in all folders.
    private func nearest(_ name: String, to file: [UInt8]) -> [[UInt8]] {
      let folder = LibraryPath.folder(of: file)
      let beside = paths(of: name).filter { LibraryPath.folder(of: $0) == folder }
      return beside.isEmpty ? paths(of: name) : beside
    }
  }

  private static func name(_ path: [UInt8]) -> String { LibraryPath.display(LibraryPath.name(of: path)) }

  private func items(
    in path: [UInt8], _ files: FolderFiles, _ report: ImportReport,
    _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError) {
    let sidecars = TakeoutSidecars(files.names) { name in
      var json = files.path(of: name).flatMap { parse($0) }
      return json?.text("title")
    } choose: { companion, pictures in
      picture(of: companion, among: pictures, files)
    }
    var unused = Set(files.names.filter(TakeoutSidecars.isJSON))
    /// The JSON files that describe a file.
    var descriptions: Set<[UInt8]> = []
    /// Videos and RAW files, by their pictures.
    var companions: [[UInt8]: [[UInt8]]] = [:]
    var joined: Set<[UInt8]> = []
    for file in files.paths {
      let name = Self.name(file)
      if TakeoutSidecars.isJSON(name) { continue }
      let found = sidecars.sidecar(of: name)
      // A shared description is counted as used by its picture.
      if let found, !found.isShared {
        unused.remove(found.name)
        if let description = files.path(of: found.name, describing: file) { descriptions.insert(description) }
      }
      let picture = sidecars.picture(of: name).flatMap { files.path(of: $0, beside: file) }
      if let picture, found?.isShared ?? true || ExportFileName.isRAW(name) {
        companions[picture, default: []].append(file)
        joined.insert(file)
      }
    }
    reportUnused(descriptions, files, besides: unused, report)
    let album = album(of: path, others: unused.sorted(), files, report)
    for file in files.paths where !joined.contains(file) && !TakeoutSidecars.isJSON(Self.name(file)) {
      guard var item = item(file, sidecars, files, album, report) else { continue }
      for companion in companions.removeValue(forKey: file) ?? [] {
        // The properties of a shared description are added once only.
        guard let companion = self.item(companion, sidecars, files, album, report, isCompanion: true) else { continue }
        if sidecars.sidecar(of: Self.name(companion.path))?.isShared == false { item.metadata.add(companion.metadata) }
        item.companions.append(companion)
      }
      try body(item)
    }
    // Companions whose pictures were left out become items of their own.
    for file in companions.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }).flatMap(\.value) {
      if let item = item(file, sidecars, files, album, report) { try body(item) }
    }
  }

  /// The picture that a video or a RAW file belongs to, by the contents of the files.
  private func picture(of companion: String, among pictures: [String], _ files: FolderFiles) -> String? {
    guard let path = files.path(of: companion) else { return pictures.first }
    let paths = pictures.compactMap { files.path(of: $0, beside: path) }
    return choice.picture(of: path, among: paths).map { Self.name($0) }
  }

  /// `nil` if the file is not imported, which is reported.
  private func item(
    _ file: [UInt8], _ sidecars: TakeoutSidecars, _ files: FolderFiles, _ album: ImportedAlbum?,
    _ report: ImportReport, isCompanion: Bool = false
  ) -> ImportedItem? {
    let name = Self.name(file)
    let fileExtension = ExportFileName.pathExtension(name).lowercased()
    if Self.archives.contains(fileExtension) {
      report.noteFailure(file, "an archive; unpack it first")
      return nil
    }
    if Self.notMedia.contains(fileExtension) || name.hasPrefix(".") {
      report.noteSkip(file, "not a picture or video")
      return nil
    }
    var item = ImportedItem(path: file, name: name)
    item.albums = album.map { [$0] } ?? []
    guard let found = sidecars.sidecar(of: name), let path = files.path(of: found.name, describing: file) else {
      report.noteRemark("pictures and videos without a description")
      return item
    }
    guard let json = parse(path) else {
      // Without its description the picture would lose its date; the user decides.
      report.noteFailure(file, "its description \(found.name) can't be read")
      return nil
    }
    let description = TakeoutDescription(json, found.isShared ? ImportReport() : report)
    if description.isTrashed && !includesTrash {
      report.noteSkip(file, "in Google's trash; --include-trashed imports it")
      return nil
    }
    if !isCompanion { item.name = description.name(of: name) }
    item.metadata = description.metadata
    return item
  }

  /// Reports the JSON files that describe no picture although one of the same name in another part does.
  ///
  /// - Parameter others: the names of the JSON files of which none describes a picture.
  private func reportUnused(
    _ descriptions: Set<[UInt8]>, _ files: FolderFiles, besides others: Set<String>, _ report: ImportReport
  ) {
    for file in files.paths where TakeoutSidecars.isJSON(Self.name(file)) && !descriptions.contains(file) {
      let name = Self.name(file)
      if others.contains(name) { continue }
      let bytes = read(file)
      // A part that was unpacked twice has the same description twice.
      let isCopy = bytes != nil && files.paths(of: name).contains { descriptions.contains($0) && read($0) == bytes }
      if !isCopy { report.noteFailure(file, Self.missingPicture) }
    }
  }

  /// The album that a folder is. Reports all JSON files that describe no picture of the folder.
  private func album(
    of path: [UInt8], others: [String], _ files: FolderFiles, _ report: ImportReport
  ) -> ImportedAlbum? {
    let folderName = Self.name(path)
    var album: ImportedAlbum?
    for name in others {
      guard let filePath = files.path(of: name) else { continue }
      guard var json = parse(filePath) else {
        report.noteFailure(filePath, "it is not a JSON object of at most \(Self.maximumJSONBytes) bytes")
        continue
      }
      // Older exports have the members in an object.
      let former = json.object("albumData")
      if let former { json = former }
      if json.has("photoTakenTime") {
        report.noteFailure(filePath, Self.missingPicture)
      } else if json.has("title"), album == nil, !path.isEmpty {
        let title = ImportedText.line(json.text("title"), limit: ImportedText.titleBytes, report)
        if Self.isYear(folderName) || former != nil && Self.isDay(folderName) { continue }
        album = ImportedAlbum(key: "takeout:" + LibraryPath.display(path), title: title ?? folderName)
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
    if var place = rest.object("geoData"),
      Location(exported: place.number("latitude"), place.number("longitude")) != nil
    {
      report.noteUnmapped("geoData of albums")
    }
    rest.reportRest(to: report)
  }

  private static func isYear(_ name: String) -> Bool {
    let year = name.suffix(4)
    return year.count == 4 && year.allSatisfy(\.isNumber) && yearFolders.contains { $0 + year == name }
  }

  /// Whether a folder's name is a day or several: `2014-08-17`, `2014-08-17 #2`. Older exports have such folders
  /// instead of those of years.
  private static func isDay(_ name: String) -> Bool {
    let digits = name.map { character -> Character in character.isNumber ? "0" : character }
    return digits.starts(with: "0000-00-00") && !name.contains(where: \.isLetter)
  }

  private func parse(_ path: [UInt8]) -> JSONFields? { read(path).flatMap { JSONFields(parsing: $0) } }

  private func read(_ path: [UInt8]) -> [UInt8]? {
    do throws(SystemError) { return try folder.read(path, limit: Self.maximumJSONBytes) } catch { return nil }
  }
}
