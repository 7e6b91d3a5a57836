import ArgumentParser
import Foundation
import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import PhotoPredicate

#if canImport(Glibc)
  import Glibc
#endif

/// Reads one catalogue in its own process, so that its memory is measured separately. ``LibraryBench`` parses the
/// output.
struct LibraryReads: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "library-reads", shouldDisplay: false)

  @Option var data: String
  @Option var repetitions: Int

  /// The output, as JSON.
  struct Report: Codable {
    struct Read: Codable {
      let name: String
      /// The time of each repetition.
      let microseconds: [Double]
      /// The number of results of all repetitions: assets, collections, days.
      let found: Int
    }
    var reads: [Read] = []
    var residentBytesBefore = 0
    var residentBytesAfter = 0
    /// With one handle over everything.
    var residentBytesWithHandle = 0
  }

  func run() throws {
    let catalogue = try Catalogue(dataFolder: data)
    let reads = ReadMeasurement(catalogue: catalogue, repetitions: repetitions)
    try reads.run()
    print(String(decoding: try JSONEncoder().encode(reads.report), as: UTF8.self))
  }
}

private final class ReadMeasurement {
  let catalogue: Catalogue
  let repetitions: Int
  var report = LibraryReads.Report()
  private var random = SplitMix(state: 3)

  init(catalogue: Catalogue, repetitions: Int) {
    self.catalogue = catalogue
    self.repetitions = repetitions
  }

  private static var residentBytes: Int { (try? ProcessUsage.residentBytes(of: getpid())) ?? 0 }

  func run() throws {
    let all = AssetFetch()
    // Cursors of pages deep in the library, and assets spread over all of it.
    var cursors: [PageCursor] = []
    var identifiers: [LocalIdentifier] = []
    var page = FetchPageRequest(limit: 1000)
    let stride = max(1, try catalogue.count(all, deadline: nil, for: .local) / 1000 / 50)
    var number = 0
    repeat {
      let columns = try catalogue.columns(all, page, for: .local)
      if number % stride == 0 {
        identifiers += columns.localIdentifiers.texts.prefix(20).map { LocalIdentifier($0) }
        if let cursor = columns.nextCursor { cursors.append(cursor) }
      }
      page.cursor = columns.nextCursor
      number += 1
    } while page.cursor != nil
    report.residentBytesBefore = Self.residentBytes

    try pages(all, cursors)
    try collections()
    try searches()
    try measure("asset by identifier") { random in
      try catalogue.asset(identifiers.randomElement(using: &random) ?? LocalIdentifier(""), for: .local) == nil ? 0 : 1
    }
    try measure("count of the library") { _ in try catalogue.count(all, deadline: nil, for: .local) }
    for unit in [DateBucket.Unit.day, .month] {
      try measure("buckets by \(unit.rawValue)", of: 20) { _ in
        try catalogue.dateBuckets(all, by: unit, deadline: nil, for: .local).count
      }
    }
    try limited(identifiers)
    report.residentBytesAfter = Self.residentBytes
    try handle(all, identifiers)
  }

  private func pages(_ all: AssetFetch, _ cursors: [PageCursor]) throws {
    func page(_ fetch: AssetFetch, _ cursor: PageCursor? = nil) throws -> Int {
      try catalogue.assets(fetch, FetchPageRequest(limit: 100, cursor: cursor), for: .local).assets.count
    }
    try measure("page of 100, the first") { _ in try page(all) }
    try measure("page of 100, anywhere") { random in try page(all, cursors.randomElement(using: &random)) }
    try measure("columns of 10,000, the first", of: 30) { _ in
      try catalogue.columns(all, FetchPageRequest(limit: 10_000), for: .local).count
    }
    // Only positions with enough assets after them.
    let early = cursors.prefix(cursors.count - cursors.count / 5)
    if cursors.count > 40 {
      try measure("columns of 10,000, anywhere", of: 30) { random in
        let request = FetchPageRequest(limit: 10_000, cursor: early.randomElement(using: &random))
        return try catalogue.columns(all, request, for: .local).count
      }
    }
    let albums: [SmartAlbum] = [.favorites, .videos, .bursts, .screenshots, .recentlyAdded, .allHidden]
    for album in albums {
      var fetch = all
      fetch.scope = .smartAlbum(album)
      try measure("page of 100, \(album.rawValue)") { _ in try page(fetch) }
    }
    var favorites = all
    favorites.predicate = try FetchPredicate("isFavorite == YES", schema: .asset, principal: .local)
    try measure("page of 100, isFavorite == YES") { _ in try page(favorites) }
    try measure("page of 100, a year by predicate") { random in
      let year = Int.random(in: 2014...2025, using: &random)
      let range = "{'\(year)-01-01T00:00:00Z', '\(year)-12-31T23:59:59Z'}"
      var fetch = all
      fetch.predicate = try FetchPredicate("creationDate BETWEEN \(range)", schema: .asset, principal: .local)
      return try page(fetch)
    }
  }

  private func searches() throws {
    func page(_ text: String?, _ predicate: String? = nil, isByRelevance: Bool = false) throws -> Int {
      var fetch = AssetFetch()
      fetch.predicate = try predicate.map { try FetchPredicate($0, schema: .asset, principal: .local) }
      fetch.search = try text.map { AssetSearch(try SearchQuery($0), for: .local) }
      fetch.search?.isByRelevance = isByRelevance
      return try catalogue.assets(fetch, FetchPageRequest(limit: 100), for: .local).assets.count
    }
    func word(_ random: inout SplitMix) -> String { BenchWords.words.randomElement(using: &random) ?? "" }
    func number(_ random: inout SplitMix) -> String {
      String(format: "%06d", Int.random(in: 1..<10_000, using: &random))
    }
    try measure("search: the most frequent word") { _ in try page("\"img\"") }
    try measure("search: a word") { random in try page("\"\(word(&random))\"") }
    try measure("search: the first three letters of a word") { random in try page(String(word(&random).prefix(3))) }
    try measure("search: the first letter of a word") { random in try page(String(word(&random).prefix(1))) }
    try measure("search: a phrase of two words") { random in
      try page("\"\(BenchWords.one(&random)) \(BenchWords.one(&random))\"")
    }
    try measure("search: two words") { random in try page("\(word(&random)) \"\(word(&random))\"") }
    try measure("search: a word by relevance", of: 100) { random in
      try page("\"\(word(&random))\"", isByRelevance: true)
    }
    try measure("originalFilename ==") { random in try page(nil, "originalFilename == 'IMG_\(number(&random)).JPG'") }
    try measure("originalFilename BEGINSWITH") { random in
      try page(nil, "originalFilename BEGINSWITH 'IMG_\(number(&random).prefix(4))'")
    }
    try measure("relativePath CONTAINS[c]") { random in try page(nil, "relativePath CONTAINS[c] '\(word(&random))'") }
  }

  private func collections() throws {
    func list(_ type: CollectionType?, _ subtype: String? = nil) throws -> [AssetCollection] {
      try catalogue.collections(CollectionQuery(type: type, subtype: subtype), for: .local).collections
    }
    try measure("list of albums and smart albums", of: 100) { _ in try list(nil).count }
    try measure("list of 100 moments", of: 100) { _ in try list(.moment).count }
    let albums = try list(.album)
    let moments = try list(.moment)
    func page(_ collection: LocalIdentifier?) throws -> Int {
      guard let collection, let scope = try catalogue.scope(of: collection, for: .local) else { return 0 }
      var fetch = AssetFetch()
      fetch.scope = scope
      return try catalogue.assets(fetch, FetchPageRequest(limit: 100), for: .local).assets.count
    }
    try measure("page of 100, an album") { random in
      try page(albums.randomElement(using: &random)?.localIdentifier)
    }
    try measure("page of 100, a moment") { random in
      try page(moments.randomElement(using: &random)?.localIdentifier)
    }
  }

  /// The reads of a caller who may see only the first album, which contains half of the library.
  private func limited(_ identifiers: [LocalIdentifier]) throws {
    let album = LocalIdentifier(String(format: "album%017d", 0))
    let principal = Principal(name: "limited", scopes: [.read], visibility: .collections([album]))
    // Removes the limited library of an earlier run.
    try catalogue.pruneLimitedLibraries(now: Timestamp(milliseconds: .max))
    let began = ContinuousClock.now
    let count = try catalogue.count(AssetFetch(), deadline: nil, for: principal)
    let first = (ContinuousClock.now - began) / .microseconds(1)
    report.reads.append(
      LibraryReads.Report.Read(
        name: "limited: the first read, an asset", microseconds: [first / Double(max(1, count))], found: 1))
    var cursor: PageCursor?
    for fetch in [SmartAlbum.userLibrary, .favorites, .recentlyAdded] {
      var all = AssetFetch()
      all.scope = fetch == .userLibrary ? .library : .smartAlbum(fetch)
      try measure("limited: page of 100, \(fetch.rawValue)") { _ in
        let page = try catalogue.assets(all, FetchPageRequest(limit: 100, cursor: cursor), for: principal)
        // Pages through the library.
        if fetch == .userLibrary { cursor = page.nextCursor }
        return page.assets.count
      }
      cursor = nil
    }
    try measure("limited: count") { _ in try catalogue.count(AssetFetch(), deadline: nil, for: principal) }
    try measure("limited: list of albums and smart albums", of: 100) { _ in
      try catalogue.collections(CollectionQuery(), for: principal).collections.count
    }
    let seen = try Set(identifiers.filter { try catalogue.asset($0, for: principal) != nil })
    for (name, names) in [
      ("inside", Array(seen)), ("outside", identifiers.filter { !seen.contains($0) }),
      ("that never was", identifiers.map { LocalIdentifier(String($0.rawValue.reversed())) }),
    ] {
      try measure("limited: an asset \(name)") { random in
        try catalogue.asset(names.randomElement(using: &random) ?? LocalIdentifier(""), for: principal) == nil ? 0 : 1
      }
    }
  }

  private func handle(_ all: AssetFetch, _ identifiers: [LocalIdentifier]) throws {
    var made: FetchResult?
    try measure("handle over everything, made", of: 5) { _ in
      // One at a time, because its memory is measured afterwards.
      made = nil
      let found = try catalogue.rows(all, atMost: 100_000_000, deadline: nil, for: .local)
      made = FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: all)
      return found.rows.count
    }
    guard let result = made, let first = result.rows(in: 0..<1).first else { return }
    // Builds the table that later lookups use.
    _ = result.index(ofRow: first)
    report.residentBytesWithHandle = Self.residentBytes
    try measure("handle, 100 at an index") { random in
      let first = Int.random(in: 0..<max(1, result.count - 100), using: &random)
      return try catalogue.members(result.rows(in: first..<min(result.count, first + 100)), for: .local).count
    }
    try measure("handle, the index of an asset") { random in
      let identifier = identifiers.randomElement(using: &random) ?? LocalIdentifier("")
      return try catalogue.row(of: identifier, for: .local).flatMap { result.index(ofRow: $0) } == nil ? 0 : 1
    }
  }

  private func measure(
    _ name: String, of count: Int? = nil, _ read: (inout SplitMix) throws -> Int
  ) throws {
    var times: [Double] = []
    var found = 0
    // The first call prepares the statement.
    _ = try read(&random)
    for _ in 0..<(count.map { min($0, repetitions) } ?? repetitions) {
      let began = ContinuousClock.now
      found += try read(&random)
      times.append((ContinuousClock.now - began) / .microseconds(1))
    }
    report.reads.append(LibraryReads.Report.Read(name: name, microseconds: times, found: found))
  }
}
