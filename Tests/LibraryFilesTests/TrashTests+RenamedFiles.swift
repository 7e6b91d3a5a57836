import Foundation
import GRDB
import LibraryFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

#if canImport(Glibc)
  import Glibc
#endif

/// Changes of files that another program has renamed since the last scan.
extension TrashTests {
  /// A library with these pictures, each with its own content, after a scan.
  private static func scanned(_ names: [String]) throws -> (TemporaryLibrary, Catalogue, [String: LocalIdentifier]) {
    let library = try TemporaryLibrary()
    for name in names { try library.put(smallJPEG + Array(name.utf8), name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    return (library, catalogue, try catalogue.everything().mapValues(\.localIdentifier))
  }

  private static func create(_ path: String) -> FileChange { .create(path: Array(path.utf8)) }

  @Test("a change list that names the new path of a renamed file gets the asset of that file")
  func createRenamed() throws {
    let (library, catalogue, before) = try Self.scanned(["a/k.jpg", "b/k.jpg", "keep.jpg"])
    let k = try #require(before["a/k.jpg"])
    try Self.album(catalogue, [(k, 7)], key: k)
    #expect(rename(library.root + "/a", library.root + "/c") == 0)
    #expect(try library.files(catalogue).perform([Self.create("c/k.jpg")]) == [k])
    var expected = before
    expected["c/k.jpg"] = expected.removeValue(forKey: "a/k.jpg")
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == expected)
    try library.scan(catalogue)
    #expect(try catalogue.everything().mapValues(\.localIdentifier) == expected)
    #expect(try Self.rows(catalogue, "member").count == 1)
  }

  @Test("of several new links to a renamed file, the first one that a change list names gets its asset")
  func createLinks() throws {
    let (library, catalogue, before) = try Self.scanned(["a.jpg", "keep.jpg"])
    let files = try library.files(catalogue)
    func path(_ name: String) -> String { library.root + "/" + name }
    // While it has its former name too, another name is another asset.
    #expect(link(path("a.jpg"), path("b.jpg")) == 0)
    let b = try files.perform([Self.create("b.jpg")])[0]
    #expect(b != before["a.jpg"])
    #expect(rename(path("a.jpg"), path("c.jpg")) == 0 && link(path("c.jpg"), path("d.jpg")) == 0)
    let made = try files.perform([Self.create("c.jpg"), Self.create("d.jpg"), Self.create("c.jpg")])
    #expect(made[0] == before["a.jpg"] && made[2] == made[0])
    #expect(Set(made + [b]).count == 3)
    #expect(try catalogue.everything()["c.jpg"]?.localIdentifier == before["a.jpg"])
  }

  @Test("an asset whose folder was renamed is missing after its deletion, and comes back with its file")
  func deleteInRenamedFolder() throws {
    let (library, catalogue, before) = try Self.scanned(["g/h/a.jpg", "keep.jpg"])
    let a = try #require(before["g/h/a.jpg"])
    try Self.album(catalogue, [(a, 7)], key: a)
    #expect(rename(library.root + "/g", library.root + "/z") == 0)
    try library.files(catalogue).perform([.delete(a)])
    #expect(try catalogue.everything().count == 1 && library.allFiles == ["z/h/a.jpg", "keep.jpg"])
    #expect(try Self.rows(catalogue, "trash").map { $0["state"] } == ["missing".databaseValue])
    try library.scan(catalogue)
    #expect(try catalogue.everything()["z/h/a.jpg"]?.localIdentifier == a)
  }
}
