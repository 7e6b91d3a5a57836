// The items that a source finds in an export, and that the importer adds to the library.

import LibraryFiles
import PhotoModel

/// A file of an export, with everything that the export says about it and that photod can keep.
package struct ImportedItem: Sendable {
  /// Below the export's folder.
  var path: [UInt8]
  /// The filename in the library, if it is free.
  var name: String
  var metadata = ImportedMetadata()
  var albums: [ImportedAlbum] = []
  var sidecars: [ImportedSidecar] = []
  /// The video of a live photo, or the RAW file of a picture. They get the folder and the stem of this file, and join
  /// its asset. If the library already has one of them, this file gets that one's folder and stem, and joins its asset.
  /// Their own metadata and albums are used only if they can't join. Companions have no companions.
  var companions: [ImportedItem] = []

  /// Whether other files get its stem.
  var needsOwnStem: Bool { !companions.isEmpty || sidecars.contains { $0.form != .wholeName } }

  package init(path: [UInt8], name: String) {
    self.path = path
    self.name = name
  }
}

/// A file that describes a picture and is kept beside it, byte by byte.
package struct ImportedSidecar: Sendable, Hashable {
  /// Below the export's folder.
  var path: [UInt8]
  var form: SidecarForm
  /// Without the dot.
  var fileExtension: String
}

/// An album of an export.
package struct ImportedAlbum: Sendable, Hashable {
  /// Distinguishes albums with the same title, and stays the same when the export is made again. Starts with the kind
  /// of the export.
  var key: String
  var title: String
}

/// Properties that an export states. `nil`, empty and `false` state nothing.
package struct ImportedMetadata: Sendable, Hashable {
  var date: ImportedDate?
  var location: Location?
  var title: String?
  var caption: String?
  var keywords: [String] = []
  var rating: Int?
  var isFavorite = false
  var isHidden = false

  package init() {}

  /// Adds properties that another description of the same photograph states and this one does not.
  mutating func add(_ other: ImportedMetadata) {
    date = date ?? other.date
    location = location ?? other.location
    title = title ?? other.title
    caption = caption ?? other.caption
    rating = rating ?? other.rating
    keywords += other.keywords.filter { !keywords.contains($0) }
    isFavorite = isFavorite || other.isFavorite
    isHidden = isHidden || other.isHidden
  }
}

/// Finds the items of an export.
package protocol ImportSource {
  /// Calls `body` with each item, and reports what it can't map. Memory holds the names of one folder and one
  /// description, whatever the size of the export, and what the comment of the source names.
  func forEachItem(
    _ report: ImportReport, _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError)
}
