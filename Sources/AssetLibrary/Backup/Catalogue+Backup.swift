#if canImport(Glibc)
  import Glibc
#endif

extension Catalogue {
  /// Copies the catalogue into one file, with all that exists nowhere else: identifiers, favourites, hidden, albums,
  /// adjustments, tokens, the key of content versions. Whoever reads or writes meanwhile is not disturbed; the copy is
  /// of one moment. It takes its name when it is whole, checked and on the disk.
  ///
  /// - Parameter replaces: a file that is there already is written over.
  package func backUp(to path: String, replacing replaces: Bool = false) throws(AssetLibraryError) {
    if !replaces && access(path, F_OK) == 0 { throw .copyExists(path: path) }
    let partial = path + ".partial"
    do {
      try CopiedCatalogue.make(of: pool, at: partial)
      if !replaces && access(path, F_OK) == 0 { throw AssetLibraryError.copyExists(path: path) }
      try DurableFile.put(partial, inPlaceOf: path)
    } catch {
      unlink(partial)
      throw error as? AssetLibraryError ?? .copyFailed(path: path, CopiedCatalogue.reason(error))
    }
  }
}
