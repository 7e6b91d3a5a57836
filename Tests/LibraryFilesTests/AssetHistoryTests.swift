import Foundation
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

@Suite("The history of one asset")
struct AssetHistoryTests {
  private let library: DescribedLibrary
  private let a: LocalIdentifier
  private let b: LocalIdentifier

  init() throws {
    library = try DescribedLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put("", name) }
    try library.scan()
    a = try library.asset("a.jpg").localIdentifier
    b = try library.asset("b.jpg").localIdentifier
  }

  private func perform(_ actions: ChangeRequest.Action...) throws -> ChangeOutcome {
    try ChangeListExecutor(
      catalogue: library.catalogue, files: library.files, limits: ChangeLimits()
    ).perform(actions.map { ChangeRequest($0) }, for: .local)
  }

  private func changes(
    of asset: LocalIdentifier, since token: ChangeToken, for principal: Principal = .local
  ) throws -> LibraryChanges {
    try library.catalogue.changes(since: token, ChangeFilter(asset: asset), limit: 100, for: principal)
  }

  @Test("it has the changes of that asset and nothing of others, of albums or of its memberships")
  func others() throws {
    let start = try library.catalogue.changeToken(for: .local)
    let album = try #require(
      try perform(.createCollection(NewCollection(isFolder: false, title: "A"))).createdByIndex[0])
    _ = try perform(
      .addAssets(.existing(album), [.existing(a)]), .updateAsset(.existing(b), AssetUpdate(isHidden: true)))
    let quiet = try changes(of: a, since: start)
    let now = try library.catalogue.changeToken(for: .local)
    #expect(quiet.isEmpty && quiet.changeToken == now)
    _ = try perform(.updateAsset(.existing(a), AssetUpdate(isFavorite: true)))
    let changed = try changes(of: a, since: start)
    #expect(changed.assets.updated.map(\.localIdentifier) == [a] && changed.collections.isEmpty)
    #expect(changed.assets.inserted.isEmpty && changed.assets.deleted.isEmpty)
  }

  @Test("it reports that the asset is deleted and restored")
  func deletion() throws {
    let start = try library.catalogue.changeToken(for: .local)
    let deleted = try perform(.deleteAsset(.existing(a))).changeToken
    #expect(try changes(of: a, since: start).assets.deleted == [a])
    #expect(try changes(of: a, since: deleted).isEmpty)
    _ = try perform(.restoreAsset(a))
    #expect(try changes(of: a, since: deleted).assets.inserted == [a])
  }

  @Test("an asset that was deleted and restored has new content only if it was edited in between or with the deletion")
  func restored() throws {
    let start = try library.catalogue.changeToken(for: .local)
    _ = try perform(.deleteAsset(.existing(a)))
    let restored = try perform(.restoreAsset(a)).changeToken
    #expect(try changes(of: a, since: start).assets.updated == [.init(localIdentifier: a, isContentChanged: false)])
    var update = AssetUpdate()
    update.regions = [PictureRegion(.face, UnitRect(x: 0.1, y: 0.1, width: 0.2, height: 0.2))]
    let before = try library.asset("a.jpg").contentVersion
    _ = try perform(.updateAsset(.existing(a), update), .deleteAsset(.existing(a)))
    let deleted = try perform(.restoreAsset(a)).changeToken
    #expect(try library.asset("a.jpg").contentVersion != before)
    #expect(try changes(of: a, since: restored).assets.updated == [.init(localIdentifier: a, isContentChanged: true)])
    #expect(try changes(of: a, since: start).assets.updated == [.init(localIdentifier: a, isContentChanged: true)])
    #expect(try changes(of: a, since: deleted).isEmpty)
  }

  @Test("a limited caller follows what it sees: other assets do not exist, also while they change")
  func limited() throws {
    let album = try #require(
      try perform(.createCollection(NewCollection(isFolder: false, title: "A"))).createdByIndex[0])
    _ = try perform(.addAssets(.existing(album), [.existing(a)]))
    let caller = Principal(name: "limited", scopes: [.read], visibility: .collections([album]))
    let start = try library.catalogue.changeToken(for: caller)
    for unseen in [b, LocalIdentifier("none")] {
      #expect(throws: ChangeHistoryError.noSuchAsset) { try changes(of: unseen, since: start, for: caller) }
    }
    _ = try perform(.updateAsset(.existing(b), AssetUpdate(isFavorite: true)))
    #expect(throws: ChangeHistoryError.noSuchAsset) { try changes(of: b, since: start, for: caller) }
    #expect(try changes(of: a, since: start, for: caller).isEmpty)
    _ = try perform(.updateAsset(.existing(a), AssetUpdate(isFavorite: true)))
    #expect(try changes(of: a, since: start, for: caller).assets.updated.map(\.localIdentifier) == [a])
    // It leaves the only album that the caller sees.
    let before = try library.catalogue.changeToken(for: caller)
    _ = try perform(.removeAssets(.existing(album), [.existing(a)]))
    #expect(try changes(of: a, since: before, for: caller).assets.deleted == [a])
    let after = try library.catalogue.changeToken(for: caller)
    _ = try perform(.updateAsset(.existing(a), AssetUpdate(isFavorite: false)))
    #expect(try changes(of: a, since: after, for: caller).isEmpty, "it no longer exists for the caller")
    _ = try perform(.addAssets(.existing(album), [.existing(b)]))
    #expect(try changes(of: b, since: start, for: caller).assets.inserted == [b])
  }
}
