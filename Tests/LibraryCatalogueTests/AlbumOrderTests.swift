import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import Testing

@Suite("The order of albums")
struct AlbumOrderTests {
  @Test("members that are put where they are create no token, revision or event")
  func unmovedMembers() throws {
    var dice = Dice(1)
    let library = try SyntheticLibrary((1...4).map { SyntheticAsset(Int64($0), &dice) })
    let lists = try library.changeLists()
    let names = library.assets.map { ChangeTarget.existing(LocalIdentifier($0.identifier)) }
    _ = try library.makeAlbum("a", library.assets.map(\.row))
    let album = ChangeTarget.existing(LocalIdentifier("album-a"))
    let token = try library.token()
    for request in [
      ChangeRequest(.moveAssets(album, [names[0]], index: 0)),
      ChangeRequest(.moveAssets(album, [names[3]], index: 3)),
      ChangeRequest(.insertAssets(album, [names[1], names[2]], index: 1)),
      ChangeRequest(.insertAssets(album, names, index: 0)),
      ChangeRequest(.replaceAssets(album, [names[2], names[0]], indexes: [2, 0])),
    ] {
      _ = try lists.perform([request], for: .local)
      #expect(try library.token() == token, "\(request)")
    }
    func members() throws -> [String]? { try ChangeModel(library).collections["album-a"]?.members }
    let before = names.map(\.description)
    #expect(try members() == before)
    // Only one of the two members is replaced by another asset.
    _ = try lists.perform([ChangeRequest(.removeAssets(album, [names[3]]))], for: .local)
    _ = try lists.perform([ChangeRequest(.replaceAssets(album, [names[0], names[3]], indexes: [0, 1]))], for: .local)
    #expect(try members() == [before[0], before[3], before[2]])
    // The same members in another order.
    _ = try lists.perform([ChangeRequest(.moveAssets(album, [names[3], names[0]], index: 0))], for: .local)
    #expect(try members() == [before[3], before[0], before[2]])
    #expect(throws: ChangeListError.self) {
      try lists.perform([ChangeRequest(.moveAssets(album, [names[0]], index: 3))], for: .local)
    }
  }

  @Test("members at scattered indexes are replaced, in any order of the indexes", arguments: [1, 2, 3])
  func replacedMembers(_ seed: Int) throws {
    var dice = Dice(seed)
    let library = try SyntheticLibrary((1...40).map { SyntheticAsset(Int64($0), &dice) })
    let lists = try library.changeLists()
    let names = library.assets.map { LocalIdentifier($0.identifier) }
    _ = try library.makeAlbum("a", library.assets[..<30].map(\.row))
    let album = ChangeTarget.existing(LocalIdentifier("album-a"))
    var expected = names[..<30].map(\.rawValue)
    var indexes: [Int] = []
    while indexes.count < 10 {
      let index = dice.below(30)
      if !indexes.contains(index) { indexes.append(index) }
    }
    for (index, name) in zip(indexes, names[30...]) { expected[index] = name.rawValue }
    let assets = names[30...].map { ChangeTarget.existing($0) }
    _ = try lists.perform([ChangeRequest(.replaceAssets(album, Array(assets), indexes: indexes))], for: .local)
    #expect(try ChangeModel(library).collections["album-a"]?.members == expected)
    for outside in [-1, 30] {
      #expect(throws: ChangeListError.self) {
        try lists.perform(
          [ChangeRequest(.replaceAssets(album, [.existing(names[0])], indexes: [outside]))], for: .local)
      }
    }
  }
}
