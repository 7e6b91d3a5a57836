import Dispatch
import Foundation
import GRDB
import LibraryFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue

@Suite("Moments after changes")
struct MomentChangeTests {
  private static let day: Int64 = 86_400_000

  private final class Observer: ChangeObserver {
    private let notified = DispatchSemaphore(value: 0)

    func libraryDidChange() { notified.signal() }

    /// Waits for the next notification.
    func wait() throws { try #require(notified.wait(timeout: .now() + .seconds(60)) == .success, "not notified") }
  }

  /// Assets on consecutive days, one on each.
  private func library(days: Int64) throws -> SyntheticLibrary {
    let library = try SyntheticLibrary((1...days).map { SyntheticAsset(row: $0, date: $0 * Self.day) })
    try library.catalogue.refreshMoments(zone: .gmt)
    return library
  }

  private func momentCount(_ library: SyntheticLibrary, for principal: Principal = .local) throws -> Int {
    try library.catalogue.collections(CollectionQuery(type: .moment, limit: 1000), for: principal).collections.count
  }

  private func hiding(_ assets: some Sequence<SyntheticAsset>) -> [ChangeRequest] {
    assets.map {
      ChangeRequest(.updateAsset(.existing(LocalIdentifier($0.identifier)), AssetUpdate(isHidden: true)))
    }
  }

  @Test("a change list recomputes the moments of its day in all limited libraries, in its own transaction")
  func limited() throws {
    let library = try library(days: 3)
    var callers = [Principal.local]
    for number in 0..<4 {
      _ = try library.makeAlbum("\(number)", library.assets.map(\.row))
      callers.append(LimitedAccessTests.principal(granted: [LocalIdentifier("album-\(number)")], number))
    }
    // The first read creates the limited library.
    for caller in callers { #expect(try momentCount(library, for: caller) == 3) }
    _ = try library.changeLists().perform(hiding(library.assets[1...1]), for: .local)
    #expect(try !library.catalogue.hasStaleMoments())
    for caller in callers { #expect(try momentCount(library, for: caller) == 2, "\(caller.name)") }
  }

  @Test("a change list of many days leaves their moments for later, and the next list does not wait for a scan")
  func manyDays() throws {
    let library = try library(days: 100)
    let lists = try library.changeLists()
    let observer = Observer()
    library.catalogue.feed.observe(observer)
    _ = try lists.perform(hiding(library.assets.dropLast()), for: .local)
    while try momentCount(library) > 1 { try observer.wait() }
    _ = try lists.perform(hiding(library.assets.suffix(1)), for: .local)
    #expect(try momentCount(library) == 0)
  }

  @Test("recomputed moments notify observers and make lists read again, although they create no token")
  func notification() throws {
    let library = try library(days: 2)
    let catalogue = library.catalogue
    let observer = Observer()
    catalogue.feed.observe(observer)
    func refresh() throws -> Bool {
      let (generation, token) = (catalogue.generation, try library.token())
      let asset = catalogue.generation(of: LocalIdentifier(library.assets[0].identifier))
      try catalogue.refreshMoments(zone: .gmt)
      #expect(try library.token() == token && catalogue.isCurrent(asset))
      return catalogue.generation != generation
    }
    #expect(try !refresh())
    try library.queue.write { try $0.execute(sql: "INSERT INTO staleDay VALUES (0, 1)") }
    #expect(try !refresh(), "the moment is as it was")
    try library.insert([SyntheticAsset(row: 9, date: 9 * Self.day)])
    #expect(try refresh())
    try observer.wait()
  }

  /// Pictures, each as its location (V for Vienna, G for Graz, - for none) and its minute. Then the sizes of the
  /// moments with and without the location scope.
  static let movements: [(shots: String, located: [Int], others: [Int])] = [
    ("V0 G28", [1, 1], [2]), ("V0 G14", [2], [2]), ("V0 -14 G28", [2, 1], [3]), ("V0 -7 G14", [3], [3]),
    ("V0 -10 -20 -30 -40 G50", [5, 1], [6]), ("V0 -14 V28 -42 G43", [4, 1], [5]), ("V0 -14 V28 -41 G42", [5], [5]),
    // The camera moved in the gap between two moments.
    ("V0 -200 G220", [1, 2], [1, 2]),
    // Moments do not overlap.
    ("V0 -20 G20 G21", [3, 1], [4]),
  ]

  @Test("a moment ends where the camera moved, also after pictures without a place", arguments: movements.indices)
  func movement(_ index: Int) throws {
    let (shots, located, others) = Self.movements[index]
    let latitudes: [Character: Double] = ["V": 48.2, "G": 47.07]
    var assets: [SyntheticAsset] = []
    for shot in shots.split(separator: " ") {
      let minute = try #require(Int64(shot.dropFirst()))
      var asset = SyntheticAsset(row: Int64(assets.count + 1), date: Self.day + minute * 60_000)
      if let latitude = latitudes[shot.first ?? "-"] {
        asset.latitude = latitude
        asset.longitude = 16
      }
      assets.append(asset)
    }
    let library = try SyntheticLibrary(assets)
    try library.catalogue.refreshMoments(zone: .gmt)
    for (principal, expected) in [(Principal.local, located), (Principal(name: "x", scopes: [.read]), others)] {
      let query = CollectionQuery(type: .moment, limit: 1000)
      let moments = try library.catalogue.collections(query, for: principal).collections
      let sizes = Array(moments.map(\.estimatedAssetCount).reversed())
      #expect(sizes == expected, "\(shots)")
    }
  }

  @Test("moments that another process recomputes notify observers too")
  func otherProcess() throws {
    let library = try library(days: 2)
    try library.insert([SyntheticAsset(row: 9, date: 9 * Self.day)])
    let catalogue = try Catalogue(dataFolder: library.folder.data)
    let observer = Observer()
    catalogue.feed.observe(observer)
    try library.catalogue.refreshMoments(zone: .gmt)
    catalogue.checkForExternalChanges()
    try observer.wait()
  }
}
