import Foundation
import GRDB
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

@testable import LibraryCatalogue

@Suite("Days of assets")
struct LocalDayTests {
  private static let zones = [
    "UTC", "Europe/Vienna", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe",
    "America/St_Johns",
  ]

  /// A date of Foundation's calendar, as text.
  private func date(_ asset: SyntheticAsset, _ zone: TimeZone) throws -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try asset.utcOffset.map { try #require(TimeZone(secondsFromGMT: $0 * 60)) } ?? zone
    let parts = calendar.dateComponents(
      [.year, .month, .day], from: Date(timeIntervalSince1970: Double(asset.creationDate) / 1000))
    return String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
  }

  @Test(
    "buckets, years, months and moments agree with a calendar, for random offsets and in one time zone after another",
    arguments: 0..<4)
  func agree(_ seed: Int) throws {
    var dice = Dice(seed + 900)
    // Near the ends of years, and around changes of the clocks in 2011, when Apia skipped a day.
    let starts = [1_293_839_999_000, 1_325_375_999_000, 1_301_187_600_000, 1_319_936_400_000, 1_325_239_200_000]
    let library = try SyntheticLibrary(
      (1...160).map { (row: Int64) -> SyntheticAsset in
        var asset = SyntheticAsset(
          row: row, date: Int64(dice.one(of: starts)) + Int64(dice.below(96) - 48) * 1_800_000)
        asset.utcOffset = dice.oneIn(2) ? nil : dice.one(of: [0, 60, 345, -720, 840, -150])
        return asset
      })
    for name in Self.zones.shuffled(using: &dice).prefix(4) {
      let zone = try #require(TimeZone(identifier: name))
      try library.catalogue.refreshMoments(zone: zone)
      let assets = try library.assets.map { DatedAsset(asset: $0, day: try date($0, zone)) }
      for (unit, length) in [(DateBucket.Unit.year, 4), (.month, 7), (.day, 10)] {
        let groups: [String: [DatedAsset]] = Dictionary(grouping: assets) { String($0.day.prefix(length)) }
        try checkBuckets(groups, unit, library, name)
        if unit != .day { try checkLists(groups, unit, library, name) }
      }
      try checkMoments(assets, library, name)
      var differences: [CheckDifference] = []
      try library.catalogue.checkConsistency { differences.append($0) }
      #expect(differences.isEmpty)
    }
  }

  /// An asset, and its day by Foundation's calendar.
  private struct DatedAsset {
    let asset: SyntheticAsset
    let day: String
  }

  /// From the counters, and from the rows.
  private func checkBuckets(
    _ groups: [String: [DatedAsset]], _ unit: DateBucket.Unit, _ library: SyntheticLibrary, _ zone: String
  ) throws {
    var fetch = AssetFetch()
    for isCounted in [true, false] {
      if !isCounted { fetch.predicate = try FetchPredicate("TRUEPREDICATE", schema: .asset, principal: .local) }
      let buckets = try library.catalogue.dateBuckets(fetch, by: unit, deadline: nil, for: .local)
      #expect(buckets.map(\.name) == groups.keys.sorted(by: >), "\(zone)")
      for bucket in buckets { #expect(bucket.count == groups[bucket.name]?.count, "\(zone) \(bucket.name)") }
    }
  }

  private func checkLists(
    _ groups: [String: [DatedAsset]], _ unit: DateBucket.Unit, _ library: SyntheticLibrary, _ zone: String
  ) throws {
    let subtype = unit == .year ? "momentListYear" : "momentListCluster"
    let query = CollectionQuery(type: .folder, subtype: subtype, limit: 100)
    let lists: [AssetCollection] = try library.catalogue.collections(query, for: .local).collections
    #expect(lists.compactMap(\.title) == groups.keys.sorted(by: >), "\(zone)")
    for list in lists {
      let group: [SyntheticAsset] = (groups[list.title ?? ""] ?? []).map(\.asset)
      let dates: [Int64] = group.map(\.creationDate)
      #expect(list.estimatedAssetCount == group.count)
      #expect(list.startDate?.milliseconds == dates.min())
      #expect(list.endDate?.milliseconds == dates.max())
      #expect(try members(of: list, library) == Set(group.map(\.identifier)), "\(zone) \(list.title ?? "")")
    }
  }

  private func checkMoments(_ assets: [DatedAsset], _ library: SyntheticLibrary, _ zone: String) throws {
    let query = CollectionQuery(type: .moment, limit: 1000)
    let moments: [AssetCollection] = try library.catalogue.collections(query, for: .local).collections
    var found: [String: Int] = [:]
    for moment in moments {
      let members = try members(of: moment, library)
      #expect(members.count == moment.estimatedAssetCount)
      let days = Set(assets.filter { members.contains($0.asset.identifier) }.map(\.day))
      #expect(days.count == 1, "a moment lies within one day: \(days)")
      #expect(moment.day == days.first)
      found[days.first ?? "", default: 0] += members.count
    }
    let expected: [String: Int] = Dictionary(grouping: assets, by: \.day).mapValues(\.count)
    #expect(found == expected, "each asset is in one moment of its day in \(zone)")
  }

  @Test("assets of the first and of the last year are in that year, its month and a moment of that month")
  func farYears() throws {
    let library = try SyntheticLibrary([
      SyntheticAsset(row: 1, date: -62_154_086_400_000), SyntheticAsset(row: 2, date: 253_402_214_400_000),
    ])
    try library.catalogue.refreshMoments(zone: .gmt)
    let assets = zip(library.assets, ["0000-06-01", "9999-12-31"]).map { DatedAsset(asset: $0, day: $1) }
    for (unit, length) in [(DateBucket.Unit.year, 4), (.month, 7)] {
      let groups: [String: [DatedAsset]] = Dictionary(grouping: assets) { String($0.day.prefix(length)) }
      try checkBuckets(groups, unit, library, "UTC")
      try checkLists(groups, unit, library, "UTC")
    }
    let moments = try library.catalogue.collections(CollectionQuery(type: .moment), for: .local).collections
    #expect(moments.map(\.parent?.rawValue) == ["momentListCluster.9999-12", "momentListCluster.0000-06"])
    for moment in moments {
      let month = try #require(moment.parent)
      let found = try library.catalogue.collections(CollectionQuery(parent: month), for: .local).collections
      #expect(found == [moment])
    }
  }

  @Test("dates at the ends of the first and of the last year stay in them when the library's time zone changes")
  func farYearsRezoned() throws {
    // 0000-01-01T00:30Z and 9999-12-31T23:30Z.
    let library = try SyntheticLibrary([
      SyntheticAsset(row: 1, date: -62_167_217_400_000), SyntheticAsset(row: 2, date: 253_402_299_000_000),
    ])
    let assets = zip(library.assets, ["0000-01-01", "9999-12-31"]).map { DatedAsset(asset: $0, day: $1) }
    for name in ["Europe/Vienna", "America/Los_Angeles", "UTC"] {
      try library.catalogue.refreshMoments(zone: try #require(TimeZone(identifier: name)))
      for (unit, length) in [(DateBucket.Unit.year, 4), (.month, 7), (.day, 10)] {
        let groups: [String: [DatedAsset]] = Dictionary(grouping: assets) { String($0.day.prefix(length)) }
        try checkBuckets(groups, unit, library, name)
        if unit != .day { try checkLists(groups, unit, library, name) }
      }
      try checkMoments(assets, library, name)
    }
  }

  private func members(of collection: AssetCollection, _ library: SyntheticLibrary) throws -> Set<String> {
    var fetch = AssetFetch()
    fetch.scope = try #require(try library.catalogue.scope(of: collection.localIdentifier, for: .local))
    let page = try library.catalogue.assets(fetch, FetchPageRequest(limit: 1000), for: .local)
    return Set(page.assets.map(\.localIdentifier.rawValue))
  }

  @Test("assets are filed under a new time zone in bounded transactions, which go on after an interruption")
  func interruption() throws {
    let assets = 5000
    // 23:30 in UTC is the next day in Vienna.
    let library = try SyntheticLibrary(
      (1...Int64(assets)).map { SyntheticAsset(row: $0, date: $0 % 50 * 86_400_000 + 84_600_000) })
    let vienna = try #require(TimeZone(identifier: "Europe/Vienna"))
    try library.catalogue.refreshMoments(zone: .gmt)
    let before = try library.token()
    func filed() throws -> Int {
      try library.queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM asset WHERE zoneOffset <> 0") } ?? 0
    }
    try library.catalogue.writeMaintenance { _ = try LocalDayUpdate.advance($0, zone: vienna) }
    #expect(try (1..<assets).contains(filed()))
    try library.catalogue.updateLocalDays(zone: vienna)
    #expect(try filed() == assets)
    #expect(try library.token() == before, "it is no change of an asset")
    // The first day no longer has any.
    let first = try library.queue.read { db in
      try Int.fetchAll(db, sql: "SELECT day FROM dayCount WHERE value > 0 ORDER BY day LIMIT 1")
    }
    #expect(first == [1])
  }

  static let scans: [(zone: String, date: String, offset: String?, utcOffset: Int?, day: String)] = [
    ("UTC", "2024:01:01 00:30:00", "+01:00", 60, "2024-01-01"),
    ("America/New_York", "2024:01:01 00:30:00", "+01:00", 60, "2024-01-01"),
    ("Europe/Vienna", "2024:01:01 00:30:00", nil, nil, "2024-01-01"),
    ("Europe/Vienna", "2024:07:01 01:30:00", nil, nil, "2024-07-01"),
    // It is the next day in Vienna, but the file has an offset.
    ("Europe/Vienna", "2023:12:31 23:30:00", "+00:00", 0, "2023-12-31"),
    ("Europe/Vienna", "2024:06:30 22:30:00", "+00:00", 0, "2024-06-30"),
  ]

  @Test("a scanned file belongs to the day at its own offset, or else in the library's time zone", arguments: scans)
  func scan(_ zone: String, _ date: String, _ offset: String?, _ utcOffset: Int?, _ day: String) throws {
    let library = try TemporaryLibrary()
    let block = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = (date, offset) }
    try library.put(JPEGFile { $0.exif = block }.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue, timeZone: zone)
    #expect(try catalogue.everything()["a.jpg"]?.utcOffset == utcOffset)
    #expect(try buckets(catalogue) == [day])
  }

  @Test("a date without an offset keeps its day when the library's time zone changes; the file's own time may not")
  func rezoning() throws {
    let library = try TemporaryLibrary()
    let block = EXIFBlock { $0.dateTimeOriginal = "2024:01:01 00:30:00" }
    try library.put(JPEGFile { $0.exif = block }.encoded(Pixels.orientationCard(width: 8, height: 8)), "a.jpg")
    try library.put(smallPNG, "b.png")
    let time = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: 1_711_841_400)]
    try FileManager.default.setAttributes(time, ofItemAtPath: library.root + "/b.png")
    let catalogue = try library.catalogue()
    // 2024-03-30T23:30Z is 00:30 in Vienna, on the day when the clocks change, and 19:30 in New York.
    for (zone, day) in [("UTC", "2024-03-30"), ("Europe/Vienna", "2024-03-31"), ("America/New_York", "2024-03-30")] {
      try library.scan(catalogue, timeZone: zone)
      #expect(try buckets(catalogue) == [day, "2024-01-01"], "\(zone)")
    }
  }

  private func buckets(_ catalogue: Catalogue) throws -> [String] {
    try catalogue.dateBuckets(AssetFetch(), by: .day, deadline: nil, for: .local).map(\.name)
  }

  @Test("a date that a user sets changes the offset only if it has one, and both survive a changed file")
  func userDates() throws {
    let library = try TemporaryLibrary()
    let block = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2021:07:04 12:00:00", "+02:00") }
    let picture = JPEGFile { $0.exif = block }.encoded(Pixels.orientationCard(width: 8, height: 8))
    try library.put(picture, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let asset = try #require(try catalogue.everything()["a.jpg"]).localIdentifier
    let lists = try ChangeListExecutor(library, catalogue)
    // 2023-12-31T23:30Z
    let date = Timestamp(milliseconds: 1_704_065_400_000)
    for (offset, kept, day) in [(nil, 120, "2024-01-01"), (-60, -60, "2023-12-31"), (60, 60, "2024-01-01")] {
      let update = AssetUpdate(creationDate: date, utcOffset: offset)
      _ = try lists.perform([ChangeRequest(.updateAsset(.existing(asset), update))], for: .local)
      #expect(try catalogue.asset(asset, for: .local)?.utcOffset == kept)
      #expect(try buckets(catalogue) == [day])
    }
    try library.put(picture + [1], "a.jpg")
    try library.scan(catalogue)
    let rescanned = try #require(try catalogue.asset(asset, for: .local))
    #expect(rescanned.utcOffset == 60 && rescanned.creationDate == date)
  }
}
