// What a source finds in an export, and the importer adds to the library.

import PhotoModel

/// A file of an export, with everything that the export says about it and that photod can keep.
package struct ImportedItem: Sendable {
  /// Below the export's folder.
  package var path: [UInt8]
  /// The filename that it gets in the library, where that is free.
  package var name: String
  package var metadata = ImportedMetadata()
  /// The modification time that its copy gets, unless the metadata has a date: for the videos of live photos, whose
  /// properties are those of their pictures.
  package var fileDate: Timestamp?
  package var albums: [ImportedAlbum] = []
  package var sidecars: [ImportedSidecar] = []

  package init(path: [UInt8], name: String) {
    self.path = path
    self.name = name
  }
}

/// A file that describes a picture and is kept beside it, byte by byte.
package struct ImportedSidecar: Sendable, Hashable {
  /// Below the export's folder.
  package var path: [UInt8]
  /// Without the dot.
  package var fileExtension: String
}

/// An album of an export.
package struct ImportedAlbum: Sendable, Hashable {
  /// Distinguishes albums with the same title.
  package var key: [UInt8]
  package var title: String
}

/// Properties that an export states. `nil`, empty and `false` state nothing.
package struct ImportedMetadata: Sendable, Hashable {
  package var date: Timestamp?
  /// The offset of `date`, in minutes east of UTC.
  package var utcOffset: Int?
  package var location: Location?
  package var title: String?
  package var caption: String?
  package var keywords: [String] = []
  package var rating: Int?
  package var isFavorite = false
  package var isHidden = false

  package init() {}
}

/// Finds the items of an export.
package protocol ImportSource {
  /// Calls `body` with each item, and reports what it can't map. Holds the names of one folder and one description in
  /// memory, whatever the size of the export.
  func forEachItem(
    _ report: ImportReport, _ body: (ImportedItem) throws(ImportError) -> Void
  ) throws(ImportError)
}
