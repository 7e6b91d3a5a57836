import PhotoModel

/// The facts that a JSON file of a Google Takeout gives about a picture.
struct TakeoutDescription {
  var title: String?
  var metadata = ImportedMetadata()
  var isTrashed = false

  /// - Parameter report: counts the properties that photod has no place for.
  init(_ json: JSONFields, _ report: ImportReport) {
    var json = json
    title = json.text("title")
    metadata.caption = ImportedText.caption(json.text("description"), report)
    if var taken = json.object("photoTakenTime") {
      // 0 stands for an unknown time.
      metadata.date = taken.number("timestamp").flatMap { Int64(exactly: ($0 * 1000).rounded()) }
        .flatMap { $0 == 0 ? nil : ImportedDate(exported: $0) }
    }
    // The place that Google shows; without one, the place in the file.
    let places = ["geoData", "geoDataExif"].compactMap { name in
      json.object(name).flatMap { place in
        var place = place
        return Location(
          exported: place.number("latitude"), place.number("longitude"), altitude: place.number("altitude"))
      }
    }
    metadata.location = places.first
    metadata.isFavorite = json.flag("favorited")
    let isArchived = json.flag("archived")
    let isLocked = json.flag("inLockedFolder")
    metadata.isHidden = isArchived || isLocked
    isTrashed = json.flag("trashed")
    let people = (json.list("people") ?? []).compactMap { person -> String? in
      guard case .object(let members) = person else { return nil }
      var person = JSONFields(members)
      return person.text("name")
    }
    // Takeout does not say where the faces are, so names become keywords.
    metadata.keywords = ImportedText.words(people, report)
    json.reportRest(to: report)
  }

  /// The filename that a file had before Google cut it.
  func name(of file: String) -> String {
    guard let title else { return file }
    let (stem, fileExtension) = (ExportFileName.stem(file), ExportFileName.pathExtension(file))
    let isCut =
      ExportFileName.pathExtension(title).lowercased() == fileExtension.lowercased()
      && ExportFileName.stem(title).count > stem.count && title.hasPrefix(stem)
    return isCut ? title : file
  }
}
