import Foundation
import GRDB
import LibraryFixtures
import LibraryScan
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

#if canImport(Glibc)
  import Glibc
#endif

/// A catalogue that was restored from a backup, with a library whose trash has changed since.
@Suite("The trash after a restore")
struct RestoredTrashTests {
  private let library: TemporaryLibrary
  private var copy: String { library.data + "/../copy.sqlite" }

  init() throws {
    library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg", "c.jpg"] { try library.put(smallJPEG + Array(name.utf8), "2024/" + name) }
  }

  /// A scanned catalogue in which a favourite is in an album.
  private func described() throws -> (catalogue: Catalogue, favourite: LocalIdentifier) {
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let identifier = try #require(try catalogue.everything()["2024/a.jpg"]).localIdentifier
    try catalogue.pool.write { db in
      try db.execute(
        sql: "UPDATE asset SET isFavorite = 1 WHERE localIdentifier = ?", arguments: [identifier.rawValue])
    }
    try TrashTests.album(catalogue, [(identifier, 1024)], key: identifier)
    return (catalogue, identifier)
  }

  /// The differences between files and rows.
  private func differences(_ catalogue: Catalogue) throws -> [String] {
    var lines: [String] = []
    _ = try CatalogueCheck(catalogue: catalogue, directory: library.root).run { difference in
      // The albums and favourites of this suite are written without their words.
      if difference.kind != "search-words" { lines.append(difference.line) }
    }
    return lines
  }

  private func members(_ catalogue: Catalogue) throws -> Int { try TrashTests.rows(catalogue, "member").count }

  private func trashed(_ catalogue: Catalogue) throws -> [LocalIdentifier] {
    try catalogue.trashedAssets(after: nil, limit: 10, purgedAfter: 0, for: .local).assets.map(\.identifier)
  }

  @Test("an asset that was deleted since is in the trash, and can be restored with what users said of it")
  func deletedSince() throws {
    let favourite: LocalIdentifier
    do {
      let (catalogue, identifier) = try described()
      favourite = identifier
      try catalogue.backUp(to: copy)
      try library.files(catalogue).perform([.delete(identifier)])
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let catalogue = try library.catalogue()
    let unknown = try differences(catalogue)
    #expect(unknown.contains { $0.hasPrefix("trash-file-without-record .photod-trash/") }, "\(unknown)")
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try catalogue.asset(favourite, for: .local) == nil)
    #expect(try trashed(catalogue) == [favourite])
    #expect(try library.scan(catalogue).removed == 0)
    #expect(try differences(catalogue) == [])
    try files.perform([.restore(favourite)])
    #expect(try catalogue.asset(favourite, for: .local)?.isFavorite == true)
    #expect(try members(catalogue) == 1)
    try library.scan(catalogue)
    #expect(try differences(catalogue) == [])
  }

  @Test("an asset that was restored from the trash since is in the library, with what users said of it")
  func restoredSince() throws {
    let favourite: LocalIdentifier
    do {
      let (catalogue, identifier) = try described()
      favourite = identifier
      let other = try #require(try catalogue.everything()["2024/b.jpg"]).localIdentifier
      let files = try library.files(catalogue)
      try files.perform([.delete(identifier), .delete(other)])
      try catalogue.backUp(to: copy)
      try files.perform([.restore(identifier)])
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try library.scan(catalogue).probed == 0)
    #expect(try catalogue.everything().keys.sorted() == ["2024/a.jpg", "2024/c.jpg"])
    #expect(try catalogue.asset(favourite, for: .local)?.isFavorite == true)
    #expect(try members(catalogue) == 1)
    #expect(try trashed(catalogue).count == 1)
    #expect(try differences(catalogue) == [])
    #expect(try catalogue.hasUncheckedTrash() == false)
  }

  @Test("the check names each file in the trash that has no record, at any depth, and follows no link")
  func strayFiles() throws {
    let (catalogue, identifier) = try described()
    try library.files(catalogue).perform([.delete(identifier)])
    let stray = ["a/sub/deep/z.png", "a/sub/y.png", "a/w.png", "x.png"].map { ".photod-trash/" + $0 }
    for path in stray { try library.put(smallPNG, path) }
    try #require(symlink("../..", library.root + "/.photod-trash/a/link") == 0)
    let all = stray + [".photod-trash/a/link"]
    #expect(try differences(catalogue).sorted() == all.map { "trash-file-without-record " + $0 }.sorted())
    let files = try library.files(catalogue)
    try files.recover()
    #expect(library.allFiles.isSuperset(of: stray), "photod removes none of them")
  }

  @Test("a file in the trash that is no file of the library stays, and the check names it; so does a missing file")
  func unknownFiles() throws {
    let (catalogue, identifier) = try described()
    try library.put(smallPNG, ".photod-trash/folder/x.png")
    try catalogue.pool.write { try Catalogue.markRestored($0) }
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try differences(catalogue) == ["trash-file-without-record .photod-trash/folder/x.png"])
    unlink(library.root + "/.photod-trash/folder/x.png")
    try files.perform([.delete(identifier)])
    let trashed = try #require(library.allFiles.first { $0.hasPrefix(".photod-trash/") })
    unlink(library.root + "/" + trashed)
    #expect(try differences(catalogue) == ["trash-file-missing \(trashed)"])
  }
}
