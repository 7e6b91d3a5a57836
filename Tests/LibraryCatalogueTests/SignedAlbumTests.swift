import Foundation
import LibraryCatalogue
import PhotoModel
import Testing

/// Reads of a signed album whose issuer sees only a folder.
@Suite("Signed albums")
struct SignedAlbumTests {
  private static let album = LocalIdentifier("album-signed")
  private static let reader = Principal(
    name: "signed", scopes: [.read], visibility: .collections([LocalIdentifier("album-signed")]),
    issuerVisibility: .collections([LocalIdentifier("folder-mine")]))

  private let library: SyntheticLibrary

  init() throws {
    library = try SyntheticLibrary((1...6).map { SyntheticAsset(row: $0, date: $0 * 1000) })
    let mine = try library.makeFolder("mine")
    _ = try library.makeFolder("outside")
    _ = try library.makeAlbum("signed", [1, 2], parent: mine)
  }

  private func move(to folder: String) throws {
    let update = CollectionUpdate(parent: .some(ChangeTarget.existing(LocalIdentifier(folder))))
    let target = ChangeTarget.existing(Self.album)
    _ = try library.changeLists().perform([ChangeRequest(.updateCollection(target, update))], for: .local)
  }

  @Test("no read of a signed album sees a state in which its limited issuer has lost the album")
  func lostAlbum() throws {
    let catalogue = library.catalogue
    let reader = Self.reader
    let asset = LocalIdentifier(library.assets[0].identifier)
    var scoped = AssetFetch()
    scoped.scope = try #require(try catalogue.scope(of: Self.album, for: reader))
    // A request that has looked up the scope reads with it later.
    let fetch = scoped
    let reads: [(name: String, run: () throws -> Void)] = [
      ("asset", { _ = try catalogue.asset(asset, for: reader) }),
      ("files", { _ = try catalogue.assetFiles(of: asset, includesSidecars: true, for: reader) }),
      ("collection", { _ = try catalogue.collection(Self.album, CollectionQuery(), for: reader) }),
      ("scope", { _ = try catalogue.scope(of: Self.album, for: reader) }),
      ("objects", { _ = try catalogue.assets(fetch, FetchPageRequest(limit: 10), for: reader) }),
      ("columns", { _ = try catalogue.columns(fetch, FetchPageRequest(limit: 10), for: reader) }),
      ("count", { _ = try catalogue.count(fetch, deadline: nil, for: reader) }),
      ("days", { _ = try catalogue.dateBuckets(fetch, by: .day, deadline: nil, for: reader) }),
    ]
    for _ in 0..<2 {
      for (name, run) in reads { #expect(throws: Never.self, "\(name)") { try run() } }
      #expect(try catalogue.count(fetch, deadline: nil, for: reader) == 2)
      try move(to: "folder-outside")
      for (name, run) in reads { #expect(throws: AssetSourceError.issuerLostAccess, "\(name)") { try run() } }
      try move(to: "folder-mine")
    }
  }

  @Test("the libraries of a signed album and of its issuer are prepared together, also if the issuer lost the album")
  func prepared() throws {
    let catalogue = library.catalogue
    let mine = LocalIdentifier("folder-mine")
    let issuer = Principal(name: "issuer", scopes: [.read], visibility: .collections([mine]))
    for isLost in [false, true] {
      if isLost { try move(to: "folder-outside") }
      #expect(!catalogue.hasPreparedLibrary(of: Self.reader))
      try catalogue.prepareLibrary(of: Self.reader)
      #expect(catalogue.hasPreparedLibrary(of: Self.reader))
      #expect(catalogue.hasPreparedLibrary(of: issuer))
      // Forgets what was prepared.
      try catalogue.pruneLimitedLibraries()
    }
  }
}
