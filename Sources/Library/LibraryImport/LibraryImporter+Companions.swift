// Finds companions (videos of live photos, RAW files) that the library had before their pictures.

import LibraryCatalogue
import LibraryFiles
import LibraryFolder
import LibraryScan
import PhotoModel

extension LibraryImporter {
  /// The asset of a companion that was in the library before its item.
  func earlierPart(of item: ImportedItem) throws(LibraryFilesError) -> LocalIdentifier? {
    for companion in item.companions {
      // What can't be read is reported when it is imported.
      guard let file = try? root.open(companion.path), file.isRegularFile,
        let media = try? probe.media(of: file, at: Array(companion.name.utf8))
      else { continue }
      if let (asset, path) = try files.assetAndPath(like: file, media, for: Self.principal),
        isSeparatePart(asset, path)
      {
        return asset.localIdentifier
      }
    }
    return nil
  }

  /// Whether a video or a RAW file, at this path, is no part of a picture's asset and may become one.
  func isSeparatePart(_ asset: Asset, _ path: [UInt8]) -> Bool {
    guard asset.original.path == path else { return false }
    return asset.mediaType == .image ? asset.isRAW : asset.duration <= Catalogue.maximumPairedVideoSeconds
  }

  /// Whether a file may join the asset of a picture, as its video or RAW file.
  func canBePart(_ media: ProbedMedia) -> Bool {
    media.mediaType == .image ? media.isRAW : media.durationSeconds <= Catalogue.maximumPairedVideoSeconds
  }
}
