import Foundation
import HTTPCore
import PhotoAPI
import Testing

/// Places are planted in files of each kind, in every spelling that programs write them in. Then every resource is
/// requested, in every form, by all callers that may not know places, and the responses are searched for the places. A
/// new resource needs a case in `ask(_:of:as:)`, or the test fails.
@Suite("Locations", .blocking)
struct PlantedPlaceTests {
  /// The callers. The last two may see places; the search must find places in their responses.
  enum CallerKind: String, CaseIterable {
    case forwarded, anonymous, read, limited, write, admin, readAdmin, session, signedImage, signedAlbum, local
    case location, limitedLocation

    var mayKnowPlaces: Bool { [.local, .location, .limitedLocation].contains(self) }
    /// Without tokens.
    var isUnguarded: Bool { self == .forwarded || self == .local }
  }

  @Test("are in no response to a caller without the location scope, in any form or spelling")
  func search() throws {
    let worlds = [
      true: try LocationFixture(requiresCredential: false), false: try LocationFixture(requiresCredential: true),
    ]
    var answers: [(label: String, bytes: [UInt8])] = []
    let fileSizes = Set(try PlantedLocations.files().map(\.bytes.count))
    for who in CallerKind.allCases {
      let world = try #require(worlds[who.isUnguarded])
      var (good, all) = (0, 0)
      for group in EndpointGroup.all {
        for (label, answer) in try Self.ask(group, of: world, as: who) {
          #expect(answer.status < 500, "\(who.rawValue): \(label): \(answer.status)")
          all += 1
          if answer.status < 300 { good += 1 }
          // A request for the full resolution may get the original's own bytes, which are searched like those of /data.
          let wholes = String(decoding: answer.raw, as: UTF8.self).matches(of: #/Content-Range: bytes \d+-\d+\/(\d+)/#)
          let size = wholes.first.flatMap { Int($0.output.1) } ?? answer.body.count
          let isFile = (label.contains("/image") || label.contains("/full/max/")) && fileSizes.contains(size)
          answers.append(("\(who.rawValue): \(label)\(isFile ? " (as /data)" : "")", answer.raw))
        }
      }
      if [.forwarded, .read, .readAdmin, .session, .location].contains(who) { #expect(good > 200, "\(who) \(good)") }
      if who == .limited || who == .limitedLocation { #expect(good > 100, "\(who) \(good)") }
      print("places: \(who.rawValue) asked \(all) times, \(good) with success")
    }
    let files =
      try PlantedLocations.files().map { (label: "file \($0.name)", bytes: $0.bytes) }
      + [(label: "file of free text", bytes: PlantedLocations.unstructured)]
    let result = try Search(answers + files)
    print("places: \(answers.count) answers and \(result.bytes) bytes searched for \(result.spellings) spellings")

    // Originals keep comments, and structures of unknown meaning.
    let unstructured = Set(result.found["file of free text"] ?? [])
    let betrayed = result.found.filter { label, spellings in
      guard CallerKind.allCases.contains(where: { !$0.mayKnowPlaces && label.hasPrefix($0.rawValue + ": ") }) else {
        return false
      }
      return !label.contains(#//(data|archive)\b/#) || !Set(spellings).isSubset(of: unstructured)
    }
    #expect(betrayed.isEmpty, "\(betrayed.prefix(5))")
    #expect(result.strangers.isEmpty, "\(result.strangers.prefix(5))")
    #expect(result.answers == answers.count + files.count && answers.count > 4000)

    // The search finds places where they are: in every planted file, in every spelling, and in responses.
    for file in files { #expect((result.found[file.label]?.count ?? 0) > 2, "\(file.label)") }
    let inFiles = Set(result.found.filter { $0.key.hasPrefix("file ") }.values.flatMap { $0 })
    for spelling in [
      "latitude, degrees", "longitude, degrees", "latitude, degrees and minutes (,)",
      "latitude, packed rationals, little-endian",
      "longitude, packed rationals, big-endian", "latitude, double, little-endian, -1",
      "longitude, double, big-endian, 1",
      "longitude, E7 twice, little-endian, 1", "Quaxwellington", "Pierelbow, UTF-16LE", "longitude, E7",
    ] { #expect(inFiles.contains(spelling), "\(spelling) is planted") }
    let allowed = result.found.filter { label, _ in
      CallerKind.allCases.contains { $0.mayKnowPlaces && label.hasPrefix($0.rawValue + ": ") }
    }
    let inAnswers = Set(allowed.values.flatMap { $0 })
    #expect(
      ["latitude, degrees", "longitude, degrees", "Quaxwellington", "Ruritanzealand"].allSatisfy(inAnswers.contains))
    for who in CallerKind.allCases where who.mayKnowPlaces {
      #expect(allowed.keys.contains { $0.hasPrefix(who.rawValue) && $0.contains("/metadata") }, "\(who)")
      #expect(allowed.keys.contains { $0.hasPrefix(who.rawValue) && $0.contains("/v1/assets?") }, "\(who)")
    }
  }

  @Test("a location key is an unknown key for a caller without the location scope")
  func keys() throws {
    let world = try LocationFixture(requiresCredential: true)
    let secret = TestDaemon.bearer(try #require(world.secrets[.read]))
    for target in [
      "/v1/assets?predicate=KEY%20%3E%200", "/v1/assets?sortDescriptors=-KEY",
      "/v1/assets?layout=columns&sortDescriptors=KEY",
      "/v1/collections/album/assets?predicate=KEY%20%3D%3D%20nil",
    ] {
      func said(_ key: String) throws -> String {
        let answer = try world.daemon.get(target.replacing("KEY", with: key), [secret])
        #expect(answer.status == 400)
        return String(decoding: answer.body, as: UTF8.self).replacing(key, with: "KEY")
      }
      let nothing = try said("zatitude")
      #expect(try said("latitude") == nothing)
      #expect(try said("longitude").count == nothing.count)
      #expect(!nothing.contains("itude"))
      #expect(
        try world.daemon.get(
          target.replacing("KEY", with: "latitude"), [TestDaemon.bearer(try #require(world.secrets[.location]))]
        ).status == 200)
    }
  }

  @Test("only callers with the location scope get moments that are divided by location")
  func moments() throws {
    let world = try LocationFixture(requiresCredential: true)
    func moments(_ who: CallerKind) throws -> [[String: Any]] {
      let answer = try world.daemon.get(
        "/v1/collections?type=moment&limit=1000", [TestDaemon.bearer(try #require(world.secrets[who]))])
      return try #require(answer.json["collections"] as? [[String: Any]])
    }
    for (blind, seeing) in [(CallerKind.read, CallerKind.location), (.limited, .limitedLocation)] {
      let (fewer, more) = (try moments(blind), try moments(seeing))
      #expect(more.count > fewer.count, "one moment has assets at two places")
      let names = more.compactMap { $0["localIdentifier"] as? String }
      #expect(Set(names).isDisjoint(with: fewer.compactMap { $0["localIdentifier"] as? String }))
      for name in names {
        for path in [
          "/v1/collections/\(name)", "/v1/collections/\(name)/assets", "/v1/collections/\(name)/collections",
        ] {
          let answer = try world.daemon.get(path, [TestDaemon.bearer(try #require(world.secrets[blind]))])
          let never = try world.daemon.get(
            path.replacing(name, with: "never"), [TestDaemon.bearer(try #require(world.secrets[blind]))])
          #expect(answer.status == 404 && answer.body == never.body, "\(path)")
        }
      }
    }
  }

  @Test("a change of location only is not a change for a caller without the location scope")
  func changes() throws {
    let world = try LocationFixture(requiresCredential: true)
    let identifier = try #require(world.assets.first)
    func state(_ who: CallerKind) throws -> [String?] {
      let secret = TestDaemon.bearer(try #require(world.secrets[who]))
      let list = try world.daemon.get("/v1/assets", [secret])
      let one = try world.daemon.get("/v1/assets/\(identifier)", [secret])
      let handle = try world.daemon.post("/v1/fetchResults", "{}", [secret])
      return [
        list["ETag"], list.json["changeToken"] as? String, one["ETag"], one.json["revision"] as? String,
        one["Last-Modified"], handle.json["changeToken"] as? String,
        try world.daemon.get("/v1/assets?layout=columns", [secret])["ETag"],
      ]
    }
    // After the last placeholder is made, nothing else changes.
    let secret = TestDaemon.bearer(try #require(world.secrets[.read]))
    try world.daemon.until("there are placeholders") {
      let assets = try world.daemon.get("/v1/assets?limit=1000", [secret]).json["assets"] as? [[String: Any]] ?? []
      return assets.allSatisfy { asset in
        let type = asset["uniformTypeIdentifier"] as? String
        return !["public.jpeg", "public.png"].contains(type) || asset["placeholder"] is String
      }
    }
    let callers: [CallerKind] = [.read, .limited, .location, .limitedLocation]
    let before = try callers.map(state)
    try world.daemon.script(
      "catalogue.sqlite",
      """
      UPDATE library SET revision = revision + 1 WHERE id = 0;
      UPDATE asset SET latitude = latitude + 1 WHERE localIdentifier = '\(identifier)';
      INSERT INTO change SELECT id, revision, 0, 1, 1 FROM library
        WHERE revision = (SELECT revision FROM library WHERE id = 0);
      """)
    try world.daemon.until("the change is seen") { try state(.location) != before[2] }
    let after = try callers.map(state)
    #expect(after[0] == before[0] && after[1] == before[1])
    for index in [2, 3] {
      for (place, pair) in zip(after[index], before[index]).enumerated() where place != 4 {
        #expect(pair.0 != pair.1, "\(callers[index]) \(place)")
      }
    }
  }
}
