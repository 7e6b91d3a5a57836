import Foundation
import GRDB
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

/// A library whose pictures have descriptions, with an executor of change lists.
struct DescribedLibrary {
  let folder: TemporaryLibrary
  let catalogue: Catalogue
  let files: LibraryFiles

  init() throws {
    folder = try TemporaryLibrary()
    catalogue = try folder.catalogue()
    files = try folder.files(catalogue)
  }

  /// A picture with XMP elements.
  func put(_ elements: String, _ path: String) throws {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
       xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
       xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
       xmlns:exif="http://ns.adobe.com/exif/1.0/">\(elements)</rdf:Description></rdf:RDF></x:xmpmeta>
      """
    try folder.put(
      JPEGFile { $0.segments = [.xmp(packet)] }.encoded(Pixels.orientationCard(width: 32, height: 24)), path)
  }

  func scan() throws { try folder.scan(catalogue) }

  /// Pictures of one burst, `0.jpg`, `1.jpg` and so on; the first represents it.
  ///
  /// - Parameter moments: when they were taken, in milliseconds after a minute.
  func putBurst(at moments: [Int] = [100, 200, 300]) throws {
    for (number, moment) in moments.enumerated() {
      let exif = EXIFBlock {
        ($0.make, $0.model) = ("Maker", "C1")
        $0.dateTimeOriginal = "2024:05:06 12:00:0\(moment / 1000)"
        $0.subSecTimeOriginal = "\(moment % 1000 / 100)00"
      }
      try folder.put(
        JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24)), "\(number).jpg")
    }
  }

  func asset(_ path: String, for principal: Principal = .local) throws -> Asset {
    let all = try catalogue.everything(includesHidden: true, includesAllBurstAssets: true, for: principal)
    return try #require(all[path])
  }

  @discardableResult
  func update(_ path: String, _ change: (inout AssetUpdate) -> Void) throws -> ChangeToken {
    var update = AssetUpdate()
    change(&update)
    let lists = ChangeListExecutor(catalogue: catalogue, files: files, limits: ChangeLimits())
    let target = ChangeTarget.existing(try asset(path).localIdentifier)
    return try lists.perform([ChangeRequest(.updateAsset(target, update))], for: .local).changeToken
  }
}

@Suite("Titles, captions, keywords, ratings and picks set by users")
struct DescriptionChangeTests {
  private static let first =
    "<dc:title>File</dc:title><dc:description>Old</dc:description><dc:subject><rdf:Bag><rdf:li>file</rdf:li></rdf:Bag></dc:subject><xmp:Rating>2</xmp:Rating>"
  private static let coordinates =
    "<exif:GPSLatitude>59,54.0N</exif:GPSLatitude><exif:GPSLongitude>10,45.0E</exif:GPSLongitude>"
  private static let second =
    "<dc:title>Later</dc:title><dc:description>New</dc:description><dc:subject><rdf:Bag><rdf:li>later</rdf:li></rdf:Bag></dc:subject><xmp:Rating>3</xmp:Rating><photoshop:City>Oslo</photoshop:City>"

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let change: @Sendable (inout AssetUpdate) -> Void
    let field: UserFields
    let expected: @Sendable (inout DescriptiveMetadata) -> Void
  }

  /// In JSON, the quotes beside some of them are one `Character` with a mark of theirs.
  private static let joining = ["a", "\u{301}b", "\u{1F3FD}", "x\u{600}", "y"]

  static let cases = [
    Case(testDescription: "a title", change: { $0.title = .some("Mine") }, field: .title) { $0.title = "Mine" },
    Case(testDescription: "no title", change: { $0.title = .some(nil) }, field: .title) { $0.title = nil },
    Case(testDescription: "the file's own title", change: { $0.title = .some("File") }, field: .title) {
      $0.title = "File"
    },
    Case(testDescription: "a caption", change: { $0.caption = .some("a\nb") }, field: .caption) {
      $0.caption = "a\nb"
    },
    Case(testDescription: "keywords", change: { $0.keywords = ["\"x\"", "a,b"] }, field: .keywords) {
      $0.keywords = ["\"x\"", "a,b"]
    },
    Case(
      testDescription: "keywords with marks that join a quote", change: { $0.keywords = Self.joining }, field: .keywords
    ) { $0.keywords = Self.joining },
    Case(testDescription: "no keywords", change: { $0.keywords = [] }, field: .keywords) { $0.keywords = [] },
    Case(testDescription: "a rating", change: { $0.rating = .some(-1) }, field: .rating) { $0.rating = -1 },
    Case(testDescription: "no rating", change: { $0.rating = .some(nil) }, field: .rating) { $0.rating = nil },
  ]

  @Test("a user's value stays when the file changes; the others follow the file", arguments: cases)
  func rescan(_ example: Case) throws {
    let library = try DescribedLibrary()
    try library.put(Self.first, "a.jpg")
    try library.scan()
    #expect(try library.asset("a.jpg").descriptive.title == "File" && library.asset("a.jpg").userFields == [])
    let before = try library.catalogue.changeToken(for: .local)
    let token = try library.update("a.jpg", example.change)
    // Confirming what the file states is no visible change.
    #expect((token == before) == (example.testDescription == "the file's own title"))
    let revision = try library.asset("a.jpg").revision
    #expect(try library.update("a.jpg", example.change) == token, "a no-op creates no token")
    #expect(try library.asset("a.jpg").revision == revision)

    try library.put(Self.second, "a.jpg")
    try library.scan()
    var expected = DescriptiveMetadata()
    (expected.title, expected.caption, expected.keywords, expected.rating) = ("Later", "New", ["later"], 3)
    expected.place = PlaceNames(city: "Oslo")
    example.expected(&expected)
    let asset = try library.asset("a.jpg")
    #expect(asset.descriptive == expected && asset.userFields == example.field)
    expected.place = PlaceNames()
    #expect(try library.asset("a.jpg", for: .anonymous).descriptive == expected, "places are not for everybody")
  }

  @Test("keywords that are added to those of a file leave them as they are")
  func addedKeywords() throws {
    let library = try DescribedLibrary()
    let items = Self.joining.map { word in
      "<rdf:li>\(word.unicodeScalars.map { "&#\($0.value);" }.joined())</rdf:li>"
    }
    try library.put("<dc:subject><rdf:Bag>\(items.joined())</rdf:Bag></dc:subject>", "a.jpg")
    try library.scan()
    #expect(try library.asset("a.jpg").descriptive.keywords == Self.joining)
    try library.update("a.jpg") { ($0.keywords, $0.onlyAdds) = (["y", "z"], true) }
    #expect(try library.asset("a.jpg").descriptive.keywords == Self.joining + ["z"])
  }

  @Test(
    "a damaged list is not taken for an empty one, which a change would store",
    arguments: [
      ("keywords", "[\"file\""), ("keywords", "[\"file\" \"other\"]"), ("people", "Ada"), ("regions", "[{}]"),
    ])
  func damagedList(_ column: String, _ text: String) throws {
    let library = try DescribedLibrary()
    try library.put(Self.first, "a.jpg")
    try library.scan()
    let target = ChangeTarget.existing(try library.asset("a.jpg").localIdentifier)
    try library.catalogue.pool.write { try $0.execute(sql: "UPDATE asset SET \(column) = ?", arguments: [text]) }
    var update = AssetUpdate()
    update.regions = [PictureRegion(.face, UnitRect(x: 0.1, y: 0.1, width: 0.2, height: 0.2), name: "Eva")]
    (update.keywords, update.onlyAdds) = (["more"], true)
    let lists = ChangeListExecutor(catalogue: library.catalogue, files: library.files, limits: ChangeLimits())
    #expect(throws: ChangeListError.self) {
      try lists.perform([ChangeRequest(.updateAsset(target, update))], for: .local)
    }
    let kept = try library.catalogue.pool.read { try String.fetchOne($0, sql: "SELECT \(column) FROM asset") }
    #expect(kept == text)
    #expect(throws: Never.self, "it is listed nevertheless") { try library.asset("a.jpg") }
  }

  @Test("each value is a change with a revision of its own")
  func history() throws {
    let library = try DescribedLibrary()
    try library.put("", "a.jpg")
    try library.scan()
    let identifier = try library.asset("a.jpg").localIdentifier
    for example in Self.cases where !example.testDescription.hasPrefix("no") {
      let before = try library.catalogue.changeToken(for: .anonymous)
      let revision = try library.asset("a.jpg", for: .anonymous).revision
      try library.update("a.jpg", example.change)
      let changes = try library.catalogue.changes(since: before, limit: 100, for: .anonymous)
      #expect(changes.assets.updated.map(\.localIdentifier) == [identifier], "\(example.testDescription)")
      #expect(changes.assets.updated.allSatisfy { !$0.isContentChanged })
      #expect(try library.asset("a.jpg", for: .anonymous).revision != revision)
    }
  }

  @Test("a change of the names of a place is one only for principals with the scope location")
  func placeNames() throws {
    let library = try DescribedLibrary()
    try library.put(Self.second, "a.jpg")
    try library.scan()
    let principals = [Principal.local, .anonymous]
    let tokens = try principals.map { try library.catalogue.changeToken(for: $0) }
    let revisions = try principals.map { try library.asset("a.jpg", for: $0).revision }
    try library.catalogue.change { db, _ in try db.execute(sql: "UPDATE asset SET placeCity = 'Bergen'") }
    #expect(try library.asset("a.jpg").descriptive.place == PlaceNames(city: "Bergen"))
    #expect(try library.catalogue.changeToken(for: .local) != tokens[0])
    #expect(try library.asset("a.jpg").revision != revisions[0])
    #expect(try library.catalogue.changeToken(for: .anonymous) == tokens[1])
    #expect(try library.asset("a.jpg", for: .anonymous).revision == revisions[1])
  }

  @Test(
    "setting another location drops the names of the file's place, also at the next scan",
    arguments: [nil, Location(latitude: 1, longitude: 2)])
  func movedPlace(_ location: Location?) throws {
    let library = try DescribedLibrary()
    try library.put(Self.second, "a.jpg")
    try library.scan()
    try library.update("a.jpg") { $0.location = .some(location) }
    #expect(try library.asset("a.jpg").descriptive.place.isEmpty)
    try library.put(Self.second + " ", "a.jpg")
    try library.scan()
    let asset = try library.asset("a.jpg")
    #expect(asset.descriptive.place.isEmpty && asset.location == location && asset.hasUserLocation)
  }

  @Test(
    "the names of the file's place return with its coordinates, also if the file was scanned meanwhile",
    arguments: ["Oslo", "Bergen"])
  func returnedPlace(_ city: String) throws {
    let library = try DescribedLibrary()
    try library.put(Self.second + Self.coordinates, "a.jpg")
    try library.scan()
    let asset = try library.asset("a.jpg")
    let location = try #require(asset.location)
    #expect(asset.descriptive.place == PlaceNames(city: "Oslo"))
    for other in [Location(latitude: 1, longitude: 2), nil] {
      try library.update("a.jpg") { $0.location = .some(other) }
      #expect(try library.asset("a.jpg").descriptive.place.isEmpty)
      if city != "Oslo" {
        try library.put(Self.second.replacingOccurrences(of: "Oslo", with: city) + Self.coordinates, "a.jpg")
        try library.scan()
        #expect(try library.asset("a.jpg").descriptive.place.isEmpty)
      }
      try library.update("a.jpg") { $0.location = .some(location) }
      let returned = try library.asset("a.jpg")
      #expect(returned.descriptive.place == PlaceNames(city: city) && returned.location == location)
      // Another altitude is the same place.
      let higher = Location(latitude: location.latitude, longitude: location.longitude, altitude: 9)
      try library.update("a.jpg") { $0.location = .some(higher) }
      #expect(try library.asset("a.jpg").descriptive.place == PlaceNames(city: city))
    }
  }

  @Test("the names of the file's place appear when a user sets its coordinates once more")
  func laterPlace() throws {
    let library = try DescribedLibrary()
    try library.put(Self.second + Self.coordinates, "a.jpg")
    try library.scan()
    let location = try #require(try library.asset("a.jpg").location)
    try library.put(Self.second, "a.jpg")
    try library.scan()
    try library.update("a.jpg") { $0.location = .some(location) }
    try library.put(Self.second + Self.coordinates, "a.jpg")
    try library.scan()
    #expect(try library.asset("a.jpg").descriptive.place.isEmpty)
    let token = try library.update("a.jpg") { $0.location = .some(location) }
    #expect(try library.asset("a.jpg").descriptive.place == PlaceNames(city: "Oslo"))
    #expect(try library.update("a.jpg") { $0.location = .some(location) } == token, "a no-op creates no token")
  }

  @Test("another place in a file that is read again is no change of an asset whose place a user set")
  func placeReadAgain() throws {
    let library = try DescribedLibrary()
    try library.put(Self.second + Self.coordinates, "a.jpg")
    try library.scan()
    let location = try #require(try library.asset("a.jpg").location)
    try library.update("a.jpg") { $0.location = .some(nil) }
    let principals = [Principal.local, .anonymous]
    let tokens = try principals.map { try library.catalogue.changeToken(for: $0) }
    let before = try principals.map { try library.asset("a.jpg", for: $0) }
    // As if an earlier version had found another place in the file.
    try library.catalogue.change { db, _ in
      try db.execute(sql: "UPDATE asset SET fileLatitude = 1, fileCity = 'Bergen'")
    }
    try library.catalogue.recordScan(probeVersion: "another")
    try library.scan()
    let tokensAfter = try principals.map { try library.catalogue.changeToken(for: $0) }
    #expect(tokensAfter == tokens)
    let after = try principals.map { try library.asset("a.jpg", for: $0) }
    #expect(after.map(\.revision) == before.map(\.revision))
    #expect(after.map(\.modificationDate) == before.map(\.modificationDate))
    try library.update("a.jpg") { $0.location = .some(location) }
    #expect(try library.asset("a.jpg").descriptive.place == PlaceNames(city: "Oslo"))
  }

  @Test("the trash keeps and restores a user's values and picks")
  func trash() throws {
    let library = try DescribedLibrary()
    try library.putBurst()
    try library.scan()
    try library.update("1.jpg") { update in
      (update.title, update.caption, update.rating) = (.some("T"), .some("C"), .some(5))
      (update.keywords, update.isUserPick) = (["k"], true)
    }
    let before = try library.asset("1.jpg")
    #expect(before.burst?.selectionTypes == .userPick && before.burst?.isRepresentative == false)
    try library.files.perform([.delete(before.localIdentifier)])
    try library.files.perform([.restore(before.localIdentifier)])
    let after = try library.asset("1.jpg")
    #expect(after.descriptive == before.descriptive && after.userFields == before.userFields)
    #expect(after.burst == before.burst)
  }

  @Test("a picked picture is listed beside the one that represents its burst, until the pick is removed")
  func pick() throws {
    let library = try DescribedLibrary()
    try library.putBurst()
    try library.scan()
    func listed() throws -> Set<String> { Set(try library.catalogue.everything().keys) }
    #expect(try listed() == ["0.jpg"])
    try library.update("2.jpg") { $0.isUserPick = true }
    #expect(try listed() == ["0.jpg", "2.jpg"])
    #expect(try library.catalogue.count(AssetFetch(), deadline: nil, for: .local) == 2)
    try library.update("0.jpg") { $0.isUserPick = true }
    #expect(try library.asset("0.jpg").burst?.selectionTypes == [.autoPick, .userPick])
    try library.scan()
    #expect(try listed() == ["0.jpg", "2.jpg"], "a scan keeps picks")
    for name in ["0.jpg", "2.jpg"] { try library.update(name) { $0.isUserPick = false } }
    #expect(try listed() == ["0.jpg"] && library.asset("0.jpg").burst?.selectionTypes == .autoPick)
  }

  @Test("hiding the representative picture hides its burst, without the picks")
  func hiddenBurst() throws {
    let library = try DescribedLibrary()
    try library.putBurst()
    try library.scan()
    try library.update("2.jpg") { $0.isUserPick = true }
    try library.update("0.jpg") { $0.isHidden = true }
    let catalogue = library.catalogue
    #expect(try catalogue.everything().keys.sorted() == ["2.jpg"])
    #expect(try catalogue.everything(includesHidden: true).keys.sorted() == ["0.jpg", "2.jpg"])
    #expect(try catalogue.everything(includesAllBurstAssets: true).keys.sorted() == ["1.jpg", "2.jpg"])
    try library.update("0.jpg") { $0.isHidden = false }
    #expect(try catalogue.everything().keys.sorted() == ["0.jpg", "2.jpg"])
  }

  @Test("only a picture of a burst can be picked, and a failed list changes nothing")
  func noBurst() throws {
    let library = try DescribedLibrary()
    try library.put("", "a.jpg")
    try library.scan()
    let identifier = try library.asset("a.jpg").localIdentifier.rawValue
    let error = #expect(throws: ChangeListError.self) {
      try library.update("a.jpg") { ($0.title, $0.isUserPick) = (.some("T"), true) }
    }
    #expect(error == ChangeListError(.notOfBurst(identifier), index: 0, parameter: "burstSelectionTypes"))
    #expect(try library.asset("a.jpg").descriptive.title == nil)
    let token = try library.catalogue.changeToken(for: .local)
    #expect(try library.update("a.jpg") { $0.isUserPick = false } == token)
  }
}
