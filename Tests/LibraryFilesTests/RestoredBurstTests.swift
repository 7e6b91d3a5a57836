import Foundation
import LibraryFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

@Suite("Bursts whose pictures were in the trash")
struct RestoredBurstTests {
  private static func bursts(_ library: DescribedLibrary) throws -> [String: Burst] {
    try library.catalogue.everything(includesHidden: true, includesAllBurstAssets: true).compactMapValues(\.burst)
  }

  /// Each inner array is one change list. The pick is `2.jpg`.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let deleted: [[Int]]
    let restored: [[Int]]
  }

  static let cases = [
    Case(testDescription: "all but the pick", deleted: [[0, 1]], restored: [[0, 1]]),
    Case(testDescription: "all but the pick, one after the other", deleted: [[0], [1]], restored: [[1], [0]]),
    Case(testDescription: "all, one after the other", deleted: [[0], [1], [2]], restored: [[0], [1], [2]]),
    Case(testDescription: "all, the pick first", deleted: [[2], [1], [0]], restored: [[0], [2], [1]]),
    Case(testDescription: "all at once", deleted: [[0, 1, 2]], restored: [[2, 1, 0]]),
  ]

  @Test("a burst that was dissolved by deletions returns with its identifier and its picks", arguments: cases)
  func dissolved(_ example: Case) throws {
    let library = try DescribedLibrary()
    try library.putBurst()
    // A scan never takes an empty folder for the library.
    try library.put("", "other.jpg")
    try library.scan()
    try library.update("2.jpg") { $0.isUserPick = true }
    let before = try Self.bursts(library)
    #expect(before.count == 3)
    let assets = try (0..<3).map { try library.asset("\($0).jpg").localIdentifier }
    for list in example.deleted {
      try library.files.perform(list.map { FileChange.delete(assets[$0]) })
      try library.scan()
    }
    #expect(try Self.bursts(library).isEmpty)
    for list in example.restored {
      try library.files.perform(list.map { FileChange.restore(assets[$0]) })
      try library.scan()
    }
    let after = try Self.bursts(library)
    #expect(after.mapValues(\.identifier) == before.mapValues(\.identifier))
    let picks = after.mapValues { $0.selectionTypes.contains(.userPick) }
    #expect(picks == ["0.jpg": false, "1.jpg": false, "2.jpg": true])
    #expect(after.values.count(where: \.isRepresentative) == 1)
  }

  @Test("a restored picture is of its burst, also while those taken next to it are in the trash")
  func withoutNeighbours() throws {
    let library = try DescribedLibrary()
    try library.putBurst(at: [0, 300, 600, 900, 1200])
    try library.scan()
    try library.update("2.jpg") { $0.isUserPick = true }
    let before = try Self.bursts(library)
    #expect(before.count == 5)
    let assets = try (0..<5).map { try library.asset("\($0).jpg").localIdentifier }
    try library.files.perform([1, 2, 3].map { FileChange.delete(assets[$0]) })
    try library.files.perform([.restore(assets[2])])
    #expect(try Self.bursts(library) == before.filter { ["0.jpg", "2.jpg", "4.jpg"].contains($0.key) })
    #expect(Set(try library.catalogue.everything().keys) == ["0.jpg", "2.jpg"])
    try library.files.perform([.restore(assets[3]), .restore(assets[1])])
    #expect(try Self.bursts(library) == before)
  }

  @Test("a picture that is left of a burst and becomes another picture does not return to it")
  func otherPicture() throws {
    let library = try DescribedLibrary()
    try library.putBurst()
    try library.scan()
    try library.update("2.jpg") { $0.isUserPick = true }
    let assets = try (0..<3).map { try library.asset("\($0).jpg").localIdentifier }
    try library.files.perform([.delete(assets[0]), .delete(assets[1])])
    try library.put("<dc:title>Other</dc:title>", "2.jpg")
    try library.scan()
    try library.files.perform([.restore(assets[0]), .restore(assets[1])])
    #expect(Set(try Self.bursts(library).keys) == ["0.jpg", "1.jpg"])
  }
}
