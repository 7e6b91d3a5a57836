import Foundation
import GRDB
import LibraryFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

@Suite("Former contents")
struct FormerContentTests {
  private let library: TemporaryLibrary
  private let catalogue: Catalogue
  private let files: LibraryFiles

  init() throws {
    library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG + Array(name.utf8), name) }
    catalogue = try library.catalogue()
    try library.scan(catalogue)
    files = try library.files(catalogue)
  }

  /// All noted contents, as they are once the delay has passed.
  private func all() throws -> [Catalogue.FormerContent] {
    try catalogue.formerContents(limit: 100, now: Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000)
  }

  private func noted() throws -> Set<String> {
    Set(try all().map(\.content))
  }

  private func asset(_ path: String) throws -> Asset { try #require(try catalogue.everything()[path]) }

  private func perform(_ change: ChangeRequest.Action) throws {
    _ = try ChangeListExecutor(catalogue: catalogue, files: files, limits: ChangeLimits())
      .perform([ChangeRequest(change)], for: .local)
  }

  @Test("a deleted asset's content is noted, and no longer once it is restored")
  func trash() throws {
    let asset = try asset("a.jpg")
    try files.perform([.delete(asset.localIdentifier)])
    #expect(try noted() == [asset.contentVersion.content])
    #expect(try catalogue.formerContents(limit: 100).isEmpty, "not before the delay has passed")
    try files.perform([.restore(asset.localIdentifier)])
    #expect(try noted() == [])
  }

  @Test("a file that a scan no longer finds, or finds with other bytes, leaves a former content")
  func scans() throws {
    let before = try ["a.jpg", "b.jpg"].map { try asset($0).contentVersion.content }
    try library.put(smallPNG, "a.jpg")
    unlink(library.root + "/b.jpg")
    try library.scan(catalogue, acceptingRemovals: true)
    #expect(try noted() == Set(before))
    let first = try #require(try all().first { $0.content == before[0] })
    try catalogue.forget([Catalogue.FormerContent(content: first.content, since: first.since - 1)])
    #expect(try noted() == Set(before), "it was noted again meanwhile")
    try catalogue.forget([first])
    #expect(try noted() == [before[1]])
    // A clock that was ahead does not keep it.
    let earlier = try catalogue.formerContents(limit: 100, now: first.since - 86_400_000)
    #expect(earlier.map(\.content) == [before[1]])
    // Nothing has changed.
    try library.scan(catalogue)
    #expect(try noted() == [before[1]])
  }

  @Test("an edit leaves the picture before it, which can be shown, and reverting leaves the edit")
  func edits() throws {
    let original = try asset("a.jpg")
    func edit(_ amount: Double) throws -> String {
      try perform(
        .setAdjustments(
          [.existing(original.localIdentifier)], StoredAdjustments(operations: Adjustments([.tone(.warmth, amount)]))))
      return try asset("a.jpg").contentVersion.content
    }
    let first = try edit(0.5)
    #expect(try noted() == [], "the picture before adjustments is still shown")
    let second = try edit(0.25)
    #expect(try noted() == [first] && first != second)
    #expect(try edit(0.5) == first)
    #expect(try noted() == [second], "the first edit came back")
    try perform(.revertAdjustments([.existing(original.localIdentifier)]))
    #expect(try noted() == [first, second])
    #expect(try asset("a.jpg").contentVersion == original.contentVersion)
    try files.perform([.delete(original.localIdentifier)])
    #expect(try noted() == [first, second, original.contentVersion.content])
  }

  @Test("deleting an edited asset leaves both of its contents")
  func edited() throws {
    let original = try asset("a.jpg")
    try perform(
      .setAdjustments(
        [.existing(original.localIdentifier)], StoredAdjustments(operations: Adjustments([.tone(.warmth, 0.5)]))))
    let edit = try asset("a.jpg").contentVersion.content
    try files.perform([.delete(original.localIdentifier)])
    #expect(try noted() == [original.contentVersion.content, edit])
    try files.perform([.restore(original.localIdentifier)])
    #expect(try noted() == [])
  }

  @Test("other properties, and regions, leave the content as it is")
  func otherChanges() throws {
    try catalogue.pool.write { db in
      try db.execute(
        sql: """
          UPDATE asset SET isFavorite = 1, caption = 'c', regionsVersion = '.abcdefgh',
            contentVersion = contentVersion || '.abcdefgh'
          """)
    }
    #expect(try noted() == [])
  }
}
