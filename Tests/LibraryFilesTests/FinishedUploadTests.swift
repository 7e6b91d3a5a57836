import GRDB
import LibraryFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

@Suite("What staged uploads became")
struct FinishedUploadTests {
  private static let other = Principal(name: "other", scopes: [.read, .write])

  @Test("a repeated request for the asset of a used upload gets it again: for its owner, for a time, while it exists")
  func repeated() throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue()) { $0.stagedSeconds = 100 }
    let identifier = try files.staged(UploadTests.dated, "a.jpg")
    let start = ContinuousClock.now
    func add(after seconds: Int64, for principal: Principal = .local) throws -> UploadedAsset {
      try files.addStaged(identifier, for: principal, now: start.advanced(by: .seconds(seconds)))
    }
    let first = try add(after: 0)
    #expect(first.isNew && !first.isRepeated)
    let again = try add(after: 99)
    #expect(again.isRepeated && again.asset.localIdentifier == first.asset.localIdentifier)
    let unknown = LibraryFilesError.noSuchUpload(identifier)
    #expect(throws: unknown) { try add(after: 99, for: Self.other) }
    #expect(throws: unknown) { try add(after: 101) }
    try files.perform([.delete(first.asset.localIdentifier)])
    #expect(throws: unknown) { try add(after: 99) }
  }

  @Test("an upload whose asset can't be read after its commit is used up, and its outcome is known")
  func unreadable() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue) { $0.stagedPerCaller = 1 }
    let identifier = try files.staged(UploadTests.dated, "a.jpg")
    catalogue.pool.add(transactionObserver: UploadTests.ReadFault(), extent: .databaseLifetime)
    #expect(throws: LibraryFilesError.catalogue(.catalogueFailed("a created asset was not found"))) {
      try files.addStaged(identifier, for: .local)
    }
    #expect(library.allFiles == ["2021/07/a.jpg"])
    let stored = try catalogue.pool.read { try String.fetchOne($0, sql: "SELECT localIdentifier FROM asset") }
    let outcome = files.finished.outcome(of: identifier, owner: Principal.local.name, now: .now)
    #expect(stored != nil && outcome?.asset.rawValue == stored)
    // Its place is free.
    try files.staged([1])
  }

  @Test("a limited caller's own new asset is known as its upload, for a time, until it sees the asset")
  func uploaders() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let limited = Principal(
      name: "limited", scopes: [.read, .write], visibility: .collections([LocalIdentifier("none")]))
    let asset = try files.upload(UploadTests.dated, "a.jpg", for: limited).asset
    #expect(asset.original.displayPath.hasSuffix("/a-limited.jpg"))
    #expect(files.isUpload(asset.localIdentifier, of: limited))
    #expect(!files.isUpload(asset.localIdentifier, of: Self.other))
    let others = try files.upload(UploadTests.dated + [0], "a.jpg", for: Self.other).asset.localIdentifier
    #expect(!files.isUpload(others, of: Self.other) && !files.isUpload(others, of: limited))
    let finished = FinishedUploads(lifetimeSeconds: 10)
    let start = ContinuousClock.now
    finished.addUploader("a", of: others, now: start)
    let isKnown = [10_000, 10_001].map { milliseconds in
      finished.isUploader("a", of: others, now: start.advanced(by: .milliseconds(milliseconds)))
    }
    #expect(isKnown == [true, false])
  }

  @Test("a limited caller that repeats an upload gets the asset that it made, without what it does not see of it")
  func repeatedByLimited() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    func limited(_ name: String) -> Principal {
      Principal(name: name, scopes: [.read, .write], visibility: .collections([LocalIdentifier("none")]))
    }
    let one = limited("one")
    let first = try files.upload(UploadTests.dated, "a.jpg", for: one)
    #expect(first.isNew && !first.isRepeated)
    let staged = try files.staged(UploadTests.dated, "a.jpg", for: one)
    // The staged upload is used up by its first request.
    let repeated = [
      try files.upload(UploadTests.dated, "a.jpg", for: one), try files.addStaged(staged, for: one),
      try files.addStaged(staged, for: one),
    ]
    for upload in repeated {
      #expect(upload.asset.localIdentifier == first.asset.localIdentifier && upload.isNew && upload.isRepeated)
    }
    let others = try files.upload(UploadTests.dated, "a.jpg", for: limited("two"))
    #expect(others.asset.localIdentifier != first.asset.localIdentifier && others.isNew && !others.isRepeated)
    #expect(try catalogue.everything().count == 2)
  }

  @Test("the oldest outcomes of uploads are forgotten first")
  func outcomes() {
    let finished = FinishedUploads(limit: 2, lifetimeSeconds: 10)
    let identifiers = (0..<3).map { _ in UploadIdentifier() }
    let now = ContinuousClock.now
    for identifier in identifiers {
      let outcome = FinishedUploads.Outcome(owner: "a", asset: LocalIdentifier("x"), isNew: true, time: now)
      finished.add(outcome, of: identifier)
    }
    let isKnown = identifiers.map { finished.outcome(of: $0, owner: "a", now: now) != nil }
    #expect(isKnown == [false, true, true])
  }

  @Test("an uploader whose asset was uploaded again is not forgotten before those of other assets")
  func renewedUploader() {
    let finished = FinishedUploads(limit: 2, lifetimeSeconds: 10)
    let now = ContinuousClock.now
    for asset in ["a", "b", "a", "c"] { finished.addUploader("one", of: LocalIdentifier(asset), now: now) }
    let isKnown = ["a", "b", "c"].map { finished.isUploader("one", of: LocalIdentifier($0), now: now) }
    #expect(isKnown == [true, false, true])
  }
}
