import Foundation
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Sidecars of assets in the trash")
struct TrashedSidecarTests {
  private let library: TemporaryLibrary
  private let catalogue: Catalogue
  private let files: LibraryFiles

  /// Turns a picture by a quarter.
  private static let turn = Array(
    """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description rdf:about="" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"/>
    </rdf:RDF></x:xmpmeta>
    """.utf8)

  init() throws {
    library = try TemporaryLibrary()
    catalogue = try library.catalogue()
    files = try library.files(catalogue)
    // Scans take no empty folder for the library.
    try library.put(smallJPEG, "other.jpg")
  }

  private func put(_ paths: [String]) throws {
    for path in paths {
      try library.put(path.hasSuffix(".jpg") ? smallJPEG + Array(path.utf8) : Self.turn, path)
    }
    try library.scan(catalogue)
  }

  private func asset(_ path: String) throws -> LocalIdentifier {
    try #require(try catalogue.everything()[path]).localIdentifier
  }

  private func isTurned(_ asset: LocalIdentifier) throws -> Bool {
    try #require(try catalogue.asset(asset, for: .local)).pixelSize == PixelSize(width: 24, height: 32)
  }

  /// Two assets that a sidecar describes: `b.jpg` and `b.jpeg`, of different sizes, so that both are assets.
  private func twoAssets() throws -> (first: LocalIdentifier, second: LocalIdentifier) {
    try library.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 40, height: 24)), "b.jpeg")
    try put(["b.jpg", "b.xmp"])
    let (first, second) = (try asset("b.jpg"), try asset("b.jpeg"))
    #expect(first != second)
    return (first, second)
  }

  private var inLibrary: Set<String> {
    library.allFiles.filter { !$0.hasPrefix(".photod-trash/") && $0 != "other.jpg" }
  }

  @Test(
    "sidecars go to the trash with their picture and come back with it",
    arguments: [
      ["a/b.jpg", "a/b.jpg.xmp"], ["a/b.jpg", "a/b.xmp"], ["a/b.jpg", "a/b.jpg.xmp", "a/b.xmp", "a/b.aae"],
      ["IMG_1.jpg", "IMG_O1.AAE", "IMG_1.XMP"],
    ])
  func roundTrip(_ paths: [String]) throws {
    try put(paths)
    let picture = try asset(paths[0])
    #expect(try isTurned(picture))
    try files.perform([.delete(picture)])
    #expect(inLibrary == [] && library.allFiles.count == paths.count + 1)
    // Nothing is missing.
    #expect(try library.scan(catalogue).removed == 0)
    try files.perform([.restore(picture)])
    #expect(inLibrary == Set(paths))
    #expect(try isTurned(picture))
    try library.scan(catalogue)
    #expect(try isTurned(picture))
    #expect(try TrashTests.rows(catalogue, "trashFile").isEmpty)
  }

  @Test(
    "a restored picture whose name was taken keeps its edit, and the new picture does not get it",
    arguments: [
      (["b.jpg", "b.jpg.xmp"], ["b-2.jpg", "b-2.jpg.xmp"]), (["b.jpg", "b.xmp"], ["b-2.jpg", "b-2.xmp"]),
      (["IMG_1.jpg", "IMG_1.xmp", "IMG_O1.aae"], ["IMG_1-2.jpg", "IMG_1-2.xmp", "IMG_O1-2.aae"]),
    ])
  func takenName(_ paths: [String], _ renamed: [String]) throws {
    try put(paths)
    let picture = try asset(paths[0])
    try files.perform([.delete(picture)])
    try library.put(smallJPEG + [1], paths[0])
    try library.scan(catalogue)
    let other = try asset(paths[0])
    #expect(other != picture)
    try files.perform([.restore(picture)])
    for _ in 0..<2 {
      #expect(inLibrary == Set(renamed + [paths[0]]))
      #expect(try isTurned(picture) && !isTurned(other))
      try library.scan(catalogue)
    }
  }

  @Test("a restored picture takes another name if the name of its sidecar was taken")
  func takenSidecar() throws {
    try put(["b.jpg", "b.xmp"])
    let picture = try asset("b.jpg")
    try files.perform([.delete(picture)])
    try library.put(Array("<another/>".utf8), "b.xmp")
    try files.perform([.restore(picture)])
    try library.scan(catalogue)
    #expect(inLibrary == ["b.xmp", "b-2.jpg", "b-2.xmp"])
    #expect(try isTurned(picture))
  }

  @Test("a sidecar of two assets stays until both are deleted", arguments: [false, true])
  func shared(_ isOneList: Bool) throws {
    let (first, second) = try twoAssets()
    if isOneList {
      try files.perform([.delete(first), .delete(second)])
    } else {
      try files.perform([.delete(first)])
      #expect(inLibrary == ["b.jpeg", "b.xmp"])
      try files.perform([.delete(second)])
    }
    #expect(inLibrary == [])
    try files.perform([.restore(first)])
    #expect(try inLibrary == ["b.jpg", "b.xmp"] && isTurned(first))
    try files.perform([.restore(second)])
    #expect(try inLibrary == ["b.jpg", "b.jpeg", "b.xmp"] && isTurned(first))
    #expect(try catalogue.asset(second, for: .local)?.pixelSize == PixelSize(width: 24, height: 40))
    #expect(try TrashTests.rows(catalogue, "trashFile").isEmpty)
  }

  @Test("a sidecar describes two assets also if many other names begin with theirs")
  func sharedBesideNumbered() throws {
    let numbered = (10..<30).map { "b.\($0).jpg" }
    try put(numbered + ["b.jpg"])
    try put(["b.xmp"])
    let first = try asset("b.jpg")
    #expect(try isTurned(first))
    try library.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 40, height: 24)), "b.jpeg")
    try library.scan(catalogue)
    let second = try asset("b.jpeg")
    try files.perform([.delete(first)])
    #expect(inLibrary == Set(numbered + ["b.jpeg", "b.xmp"]))
    try files.perform([.delete(second)])
    #expect(inLibrary == Set(numbered))
  }

  @Test("a purge keeps a sidecar of two assets if one of them was restored", arguments: [false, true])
  func sharedPurge(_ isFirst: Bool) throws {
    let (first, second) = try twoAssets()
    try files.perform([.delete(first)])
    try files.perform([.delete(second)])
    try files.perform([.restore(isFirst ? first : second)])
    #expect(try files.purge(now: Timestamp(milliseconds: 4_000_000_000_000)) == 1)
    try library.scan(catalogue)
    #expect(library.allFiles == ["other.jpg", isFirst ? "b.jpg" : "b.jpeg", "b.xmp"])
    if isFirst { #expect(try isTurned(first)) }
  }

  @Test("two assets that are restored in one list get their sidecar back once", arguments: [false, true])
  func sharedInOneList(_ isReversed: Bool) throws {
    let (first, second) = try twoAssets()
    try files.perform([.delete(first), .delete(second)])
    try files.perform(isReversed ? [.restore(second), .restore(first)] : [.restore(first), .restore(second)])
    #expect(try inLibrary == ["b.jpg", "b.jpeg", "b.xmp"] && isTurned(first))
    #expect(try TrashTests.rows(catalogue, "trashFile").isEmpty)
  }

  @Test("a list that deletes an asset and restores another one leaves their sidecar", arguments: [false, true])
  func sharedExchange(_ isReversed: Bool) throws {
    let (first, second) = try twoAssets()
    try files.perform([.delete(first)])
    try files.perform(isReversed ? [.restore(first), .delete(second)] : [.delete(second), .restore(first)])
    #expect(try inLibrary == ["b.jpg", "b.xmp"] && isTurned(first))
  }

  @Test("after an interrupted restoration, a sidecar of two assets comes back with either", arguments: [false, true])
  func sharedInterrupted(_ isFirst: Bool) throws {
    let (first, second) = try twoAssets()
    try files.perform([.delete(first), .delete(second)])
    try files.prepare([.restore(first)], for: .local).end()
    #expect(inLibrary == ["b.jpg", "b.xmp"])
    try files.recover()
    #expect(inLibrary == [])
    try files.perform([.restore(isFirst ? first : second)])
    #expect(inLibrary == [isFirst ? "b.jpg" : "b.jpeg", "b.xmp"])
  }

  @Test("a picture does not get the sidecar of an earlier one that had its name")
  func earlierSidecar() throws {
    try put(["b.jpg", "b.xmp"])
    try files.perform([.delete(try asset("b.jpg"))])
    try library.put(smallJPEG + [1], "b.jpg")
    try library.scan(catalogue)
    let picture = try asset("b.jpg")
    try files.perform([.delete(picture)])
    try files.perform([.restore(picture)])
    #expect(try inLibrary == ["b.jpg"] && !isTurned(picture))
  }

  @Test("a purge removes the sidecars, and their contents are not remembered")
  func purged() throws {
    try put(["b.jpg", "b.jpg.xmp"])
    try files.perform([.delete(try asset("b.jpg"))])
    #expect(try files.purge(now: Timestamp(milliseconds: 4_000_000_000_000)) == 1)
    #expect(library.allFiles == ["other.jpg"])
    #expect(try TrashTests.rows(catalogue, "purgedContent").count == 1)
  }

  @Test("the sidecars of a picture that is missing when it is deleted stay")
  func missing() throws {
    try put(["b.jpg", "b.jpg.xmp"])
    let picture = try asset("b.jpg")
    unlink(library.root + "/b.jpg")
    try files.perform([.delete(picture)])
    #expect(library.allFiles == ["other.jpg", "b.jpg.xmp"])
    #expect(try TrashTests.rows(catalogue, "trash").isEmpty)
  }

  @Test(
    "an interrupted deletion brings the sidecars back, also if the name was taken meanwhile", arguments: [false, true])
  func interrupted(_ isTaken: Bool) throws {
    try put(["b.jpg", "b.jpg.xmp"])
    let picture = try asset("b.jpg")
    try files.prepare([.delete(picture)], for: .local).end()
    #expect(inLibrary == [])
    if isTaken { try library.put(smallJPEG + [1], "b.jpg") }
    try files.recover()
    try library.scan(catalogue)
    #expect(inLibrary == (isTaken ? ["b.jpg", "b-2.jpg", "b-2.jpg.xmp"] : ["b.jpg", "b.jpg.xmp"]))
    #expect(try isTurned(picture))
  }

  @Test("an interrupted restoration leaves the sidecars in the trash, and can be repeated")
  func interruptedRestoration() throws {
    try put(["b.jpg", "b.jpg.xmp"])
    let picture = try asset("b.jpg")
    try files.perform([.delete(picture)])
    try files.prepare([.restore(picture)], for: .local).end()
    #expect(inLibrary == ["b.jpg", "b.jpg.xmp"])
    try files.recover()
    #expect(inLibrary == [])
    try files.perform([.restore(picture)])
    #expect(try inLibrary == ["b.jpg", "b.jpg.xmp"] && isTurned(picture))
  }

  @Test("a catalogue from before a deletion finds the sidecar in the trash")
  func restoredCatalogue() throws {
    try put(["b.jpg", "b.jpg.xmp"])
    let picture = try asset("b.jpg")
    let copy = library.data + "/../copy.sqlite"
    try catalogue.backUp(to: copy)
    try files.perform([.delete(picture)])
    let data = library.data + "/restored"
    _ = try CatalogueRestore(dataFolder: data).restore(from: copy)
    let restored = try Catalogue(dataFolder: data)
    let files = try library.files(restored)
    try files.recover()
    #expect(try restored.asset(picture, for: .local) == nil)
    try files.perform([.restore(picture)])
    #expect(inLibrary == ["b.jpg", "b.jpg.xmp"])
    #expect(try TrashTests.rows(restored, "trash").isEmpty)
  }
}
