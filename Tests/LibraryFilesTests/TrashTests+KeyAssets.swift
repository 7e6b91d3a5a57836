import GRDB
import LibraryFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

extension TrashTests {
  /// What a user does after deleting the key asset `x`: a new choice, and deletions.
  enum LaterChoice: CaseIterable {
    case none, another, otherThenCleared, cleared, otherThenDeleted
  }

  @Test(
    "a restored asset is the key asset again unless the user has decided otherwise since",
    arguments: LaterChoice.allCases)
  func keyAsset(_ choice: LaterChoice) throws {
    let library = try TemporaryLibrary()
    for name in ["x.jpg", "y.jpg"] { try library.put(smallJPEG + Array(name.utf8), name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let everything = try catalogue.everything().mapValues(\.localIdentifier)
    let (x, y) = (try #require(everything["x.jpg"]), try #require(everything["y.jpg"]))
    let lists = ChangeListExecutor(catalogue: catalogue, files: try library.files(catalogue), limits: ChangeLimits())
    let made = try lists.perform(
      [
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "A")), placeholder: "$a"),
        ChangeRequest(.addAssets(.placeholder("$a"), [.existing(x), .existing(y)])),
      ], for: .local)
    let album = ChangeTarget.existing(try #require(made.created["$a"]))
    func choose(_ key: LocalIdentifier?) throws {
      let update = CollectionUpdate(keyAsset: .some(key.map { .existing($0) }))
      _ = try lists.perform([ChangeRequest(.updateCollection(album, update))], for: .local)
    }
    func delete(_ asset: LocalIdentifier) throws {
      _ = try lists.perform([ChangeRequest(.deleteAsset(.existing(asset)))], for: .local)
    }
    try choose(x)
    try delete(x)
    switch choice {
    case .none: break
    case .another: try choose(y)
    case .otherThenCleared:
      try choose(y)
      try choose(nil)
    case .cleared: try choose(nil)
    case .otherThenDeleted:
      try choose(y)
      try delete(y)
    }
    _ = try lists.perform([ChangeRequest(.restoreAsset(x))], for: .local)
    if choice == .otherThenDeleted { _ = try lists.perform([ChangeRequest(.restoreAsset(y))], for: .local) }
    let key = try catalogue.pool.read { db in
      try String.fetchOne(
        db, sql: "SELECT localIdentifier FROM asset WHERE id = (SELECT keyAsset FROM collection WHERE title = 'A')")
    }
    let expected: LocalIdentifier? =
      switch choice {
      case .none: x
      case .another, .otherThenDeleted: y
      case .otherThenCleared, .cleared: nil
      }
    #expect(key == expected?.rawValue)
  }
}
