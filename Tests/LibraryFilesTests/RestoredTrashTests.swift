import Foundation
import GRDB
import LibraryFixtures
import LibraryScan
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

  @Test("an asset that was deleted since the backup is in the trash, also if one that was restored since has its path")
  func deletedAndPathRestored() throws {
    let favourite: LocalIdentifier
    let other: LocalIdentifier
    do {
      let (catalogue, identifier) = try described()
      favourite = identifier
      let files = try library.files(catalogue)
      try files.perform([.delete(identifier)])
      try library.put(smallJPEG + Array("other".utf8), "2024/a.jpg")
      try library.scan(catalogue)
      other = try #require(try catalogue.everything()["2024/a.jpg"]).localIdentifier
      try catalogue.backUp(to: copy)
      try files.perform([.delete(other)])
      try files.perform([.restore(favourite)])
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try trashed(catalogue) == [other])
    #expect(try library.scan(catalogue).removed == 0)
    #expect(try catalogue.everything()["2024/a.jpg"]?.localIdentifier == favourite)
    #expect(try catalogue.asset(favourite, for: .local)?.isFavorite == true)
    #expect(try members(catalogue) == 1)
    #expect(try differences(catalogue) == [])
    try files.perform([.restore(other)])
    #expect(try catalogue.everything()["2024/a-2.jpg"]?.localIdentifier == other)
  }

  @Test(
    "an asset that was in the trash, and was restored and deleted again since, is in the trash",
    arguments: [false, true], [false, true])
  func deletedAgain(_ isRenamed: Bool, _ isCopied: Bool) throws {
    let sidecar = "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"></x:xmpmeta>"
    try library.put(Array(sidecar.utf8), "2024/a.jpg.xmp")
    let favourite: LocalIdentifier
    do {
      let (catalogue, identifier) = try described()
      favourite = identifier
      let files = try library.files(catalogue)
      try files.perform([.delete(identifier)])
      try catalogue.backUp(to: copy)
      // Another file with its name gives the restored one another name.
      if isRenamed { try library.put(smallPNG, "2024/a.jpg") }
      try files.perform([.restore(identifier)])
      try files.perform([.delete(identifier)])
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    if isCopied { try copyLibrary() }
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try trashed(catalogue) == [favourite])
    #expect(try library.scan(catalogue).removed == 0)
    #expect(try catalogue.asset(favourite, for: .local) == nil)
    // A copied sidecar has another inode; its name shows to which picture it belongs.
    if !isRenamed || !isCopied { #expect(try differences(catalogue) == []) }
    try files.perform([.restore(favourite)])
    let restored = try #require(try catalogue.asset(favourite, for: .local))
    let path = isRenamed ? "2024/a-2.jpg" : "2024/a.jpg"
    #expect(restored.isFavorite && restored.original.displayPath == path)
    #expect(try members(catalogue) == 1)
    try library.scan(catalogue)
    #expect(try catalogue.everything()[path]?.localIdentifier == favourite)
  }

  /// Copies all files of the library, as `cp -a` does. The former ones stay beside it, so that no copy gets the inode
  /// of one of them.
  private func copyLibrary() throws {
    let former = library.root + ".former"
    try #require(rename(library.root, former) == 0)
    for name in library.allFiles(in: former) {
      var status = stat()
      try #require(stat(former + "/" + name, &status) == 0)
      try library.put([UInt8](try Data(contentsOf: URL(filePath: former + "/" + name))), name)
      var times = [status.st_atim, status.st_mtim]
      try #require(utimensat(AT_FDCWD, library.root + "/" + name, &times, 0) == 0)
    }
  }

  @Test(
    "an asset that was deleted since is in the trash, also if its path has another file or the library was copied",
    arguments: [false, true], [false, true])
  func deletedAndReplaced(_ isReplaced: Bool, _ isCopied: Bool) throws {
    let sidecar = "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"></x:xmpmeta>"
    try library.put(Array(sidecar.utf8), "2024/a.jpg.xmp")
    let favourite: LocalIdentifier
    do {
      let (catalogue, identifier) = try described()
      favourite = identifier
      try catalogue.backUp(to: copy)
      try library.files(catalogue).perform([.delete(identifier)])
    }
    if isReplaced { try library.put(smallPNG, "2024/a.jpg") }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    if isCopied { try copyLibrary() }
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try trashed(catalogue) == [favourite])
    #expect(try library.scan(catalogue).removed == 0)
    #expect(try catalogue.asset(favourite, for: .local) == nil)
    let other = try catalogue.everything()["2024/a.jpg"]
    #expect((other != nil) == isReplaced)
    #expect(other?.isFavorite != true)
    #expect(try differences(catalogue) == [])
    try files.perform([.restore(favourite)])
    let restored = try #require(try catalogue.asset(favourite, for: .local))
    let path = isReplaced ? "2024/a-2.jpg" : "2024/a.jpg"
    #expect(restored.isFavorite && restored.original.displayPath == path)
    #expect(try members(catalogue) == 1)
    #expect(!library.allFiles.contains { $0.hasPrefix(".photod-trash/") })
    try library.scan(catalogue)
    #expect(try differences(catalogue) == [])
  }

  /// Where the file of a restored asset is, when the catalogue is restored.
  enum Place: CaseIterable { case otherName, otherFolder, otherFolderAndReplaced }

  @Test(
    "an asset that was restored from the trash since keeps what users said of it, wherever its file is",
    arguments: Place.allCases)
  func restoredElsewhere(_ place: Place) throws {
    let favourite: LocalIdentifier
    do {
      let (catalogue, identifier) = try described()
      favourite = identifier
      let files = try library.files(catalogue)
      try files.perform([.delete(identifier)])
      try catalogue.backUp(to: copy)
      if place == .otherName { try library.put(smallPNG, "2024/a.jpg") }
      try files.perform([.restore(identifier)])
    }
    if place != .otherName {
      try library.put(smallJPEG, "2025/d.jpg")
      #expect(rename(library.root + "/2024/a.jpg", library.root + "/2025/e.jpg") == 0)
    }
    if place == .otherFolderAndReplaced { try library.put(smallPNG, "2024/a.jpg") }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try trashed(catalogue) == [])
    try library.scan(catalogue)
    let restored = try #require(try catalogue.asset(favourite, for: .local))
    let path = place == .otherName ? "2024/a-2.jpg" : "2025/e.jpg"
    #expect(restored.isFavorite && restored.original.displayPath == path)
    #expect(try members(catalogue) == 1)
    #expect(try TrashTests.rows(catalogue, "trash").isEmpty)
    #expect(try differences(catalogue) == [])
  }

  /// Where the file is that had the path of a restored one, when the catalogue is restored.
  enum DisplacedFile: CaseIterable { case before, after, nowhere }

  @Test(
    "an asset that was restored from the trash since keeps its file, also at the path that another asset had",
    arguments: DisplacedFile.allCases)
  func restoredToKnownPath(_ displaced: DisplacedFile) throws {
    let favourite: LocalIdentifier
    let other: LocalIdentifier
    do {
      let (catalogue, identifier) = try described()
      favourite = identifier
      let files = try library.files(catalogue)
      try files.perform([.delete(identifier)])
      try library.put(smallJPEG + Array("third".utf8), "2024/a.jpg")
      try library.put(smallJPEG + Array("other".utf8), "2024/a-2.jpg")
      try library.scan(catalogue)
      other = try #require(try catalogue.everything()["2024/a-2.jpg"]).localIdentifier
      try catalogue.backUp(to: copy)
      try files.perform([.delete(other)])
      try files.perform([.restore(favourite)])
      try files.perform([.restore(other)])
      let paths = try catalogue.everything().mapValues(\.localIdentifier)
      try #require(paths["2024/a-2.jpg"] == favourite && paths["2024/a-2-2.jpg"] == other)
    }
    let path = library.root + "/2024/a-2-2.jpg"
    switch displaced {
    // Scans find the files of a folder in the order of their names.
    case .before: break
    case .after: #expect(rename(path, library.root + "/2024/z.jpg") == 0)
    case .nowhere: #expect(unlink(path) == 0)
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    try files.recover()
    #expect(try library.scan(catalogue).removed == (displaced == .nowhere ? 1 : 0))
    let assets = try catalogue.everything()
    #expect(assets["2024/a-2.jpg"]?.localIdentifier == favourite)
    #expect(assets["2024/a-2.jpg"]?.isFavorite == true)
    #expect(try members(catalogue) == 1)
    let otherPath = assets.first { $0.value.localIdentifier == other }?.key
    switch displaced {
    case .before: #expect(otherPath == "2024/a-2-2.jpg")
    case .after: #expect(otherPath == "2024/z.jpg")
    case .nowhere: #expect(otherPath == nil)
    }
    #expect(assets.count == (displaced == .nowhere ? 4 : 5))
    #expect(try differences(catalogue) == [])
  }

  @Test("a trash that the library was copied without is kept, until it follows")
  func trashFollows() throws {
    let favourite: LocalIdentifier
    do {
      let (catalogue, identifier) = try described()
      favourite = identifier
      try library.files(catalogue).perform([.delete(identifier)])
      try catalogue.backUp(to: copy)
    }
    let trash = library.root + "/.photod-trash"
    #expect(rename(trash, library.data + "/../trash") == 0)
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    try files.recover()
    try library.scan(catalogue)
    #expect(try trashed(catalogue) == [favourite])
    #expect(rename(library.data + "/../trash", trash) == 0)
    try files.perform([.restore(favourite)])
    #expect(try catalogue.asset(favourite, for: .local)?.isFavorite == true)
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

  @Test("the check reports a trash that can't be opened once, and not each of its files as missing")
  func unreachableTrash() throws {
    let (catalogue, identifier) = try described()
    try library.files(catalogue).perform([.delete(identifier)])
    let trash = library.root + "/.photod-trash"
    try #require(rename(trash, library.data + "/../trash") == 0 && symlink(".photod-trash", trash) == 0)
    // Nobody can open a link to itself, and the walk takes it for a file.
    #expect(try differences(catalogue) == ["only-on-disk .photod-trash", "unreadable-folder .photod-trash"])
  }
}
