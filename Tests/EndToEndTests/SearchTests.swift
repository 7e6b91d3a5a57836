import Foundation
import PhotoFixtures
import Testing

/// Searches over real sockets.
@Suite("Searching", .blocking)
struct SearchTests {
  @Test("lists, columns, pages, counts and fetch results of a search follow changes of album titles and names")
  func search() throws {
    let daemon = try TestDaemon(
      { files in
        for (number, path) in ["beach/IMG_1.jpg", "beach/IMG_2.jpg", "hill/IMG_3.jpg"].enumerated() {
          let exif = EXIFBlock {
            $0.dateTimeOriginal = "2024:05:0\(number + 1) 00:00:00"
            ($0.make, $0.model) = ("Canon", "EOS R5")
          }
          try files.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), path)
        }
      }, arguments: ["--set", "scan.intervalSeconds=0"])
    _ = try daemon.assetsWithPlaceholders()
    let names = try ["beach/IMG_1.jpg", "beach/IMG_2.jpg", "hill/IMG_3.jpg"].map { try daemon.identifier($0) }
    func found(_ query: String) throws -> [String] {
      FetchingTests.identifiers(try daemon.get("/v1/assets?\(query)"))
    }
    #expect(try found("search=BEACH%20img") == [names[1], names[0]])
    #expect(try found("search=%22canon%20eos%22&sortDescriptors=creationDate") == names)
    #expect(try found("search=img_3.jp") == [names[2]] && found("search=each").isEmpty)
    #expect(try found("search=beach&predicate=originalFilename%20==%20'IMG_1.jpg'") == [names[0]])
    #expect(try found("predicate=relativePath%20CONTAINS[c]%20'HILL/i'") == [names[2]])
    #expect(try found("search=hill&sortDescriptors=relevance") == [names[2]])
    let page = try daemon.get("/v1/assets?search=img&limit=2&count=true")
    #expect(page.json["count"] as? Int == 3)
    let rest = try daemon.get(try #require(page.json["next"] as? String))
    #expect(FetchingTests.identifiers(page) + FetchingTests.identifiers(rest) == names.reversed())
    let columns = try daemon.get("/v1/assets?search=beach&layout=columns").json["columns"] as? [String: Any]
    #expect(columns?["localIdentifier"] as? [String] == [names[1], names[0]])

    let made = try daemon.post("/v1/fetchResults", #"{"search": "holiday"}"#)
    let id = try #require(made.json["id"] as? String)
    #expect(made.status == 201 && made.json["count"] as? Int == 0)
    let list = """
      {"changes": [{"type": "createAlbum", "title": "Our Holiday", "placeholder": "$a"},
        {"type": "addAssets", "collection": "$a", "assets": ["\(names[0])", "\(names[2])"]}]}
      """
    #expect(try daemon.post("/v1/changes", list).status == 200)
    let changes = try daemon.get("/v1/fetchResults/\(id)/changes").json
    #expect(changes["insertedIndexes"] as? [Int] == [0, 1])
    #expect(try found("search=holiday") == [names[2], names[0]])
  }

  @Test(
    "an unusable search is refused by name",
    arguments: [
      ("search=", "search"), ("search=%22%22", "search"), ("search=" + String(repeating: "a", count: 1025), "search"),
      ("sortDescriptors=relevance", "sortDescriptors"), ("search=a&sortDescriptors=relevance,title", "sortDescriptors"),
    ])
  func refused(_ query: String, _ parameter: String) throws {
    let answer = try Self.empty.get("/v1/assets?\(query)")
    #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(query)")
  }

  private static let empty: TestDaemon = {
    do { return try TestDaemon({ _ in }) } catch { fatalError("\(error)") }
  }()
}
