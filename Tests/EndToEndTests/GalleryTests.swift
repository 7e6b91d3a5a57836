import Foundation
import Testing

@Suite("Gallery page")
struct GalleryTests {
  private static let shared: TestDaemon = {
    do { return try TestDaemon.ofCards(1) } catch { fatalError("no daemon: \(error)") }
  }()

  /// The page and all files that it names, directly or by imports.
  private static func files() throws -> [String: TestDaemon.Response] {
    var found: [String: TestDaemon.Response] = [:]
    var missing = ["/"]
    while let path = missing.popLast() {
      let response = try shared.get(path)
      found[path] = response
      let text = String(decoding: response.body, as: UTF8.self)
      for match in text.matches(of: #/"(?:\/gallery|\.)\/([a-z]+\.[a-z]+)"/#) {
        let path = "/gallery/\(match.output.1)"
        if found[path] == nil { missing.append(path) }
      }
    }
    return found
  }

  @Test("the page and every file that it names are served with their type, a strict policy and an entity tag")
  func served() throws {
    let files = try Self.files()
    #expect(files.count > 10)
    let types = ["": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"]
    for (path, response) in files {
      #expect(response.status == 200 && !response.body.isEmpty, "\(path)")
      let ending = path == "/" ? "" : String(path.split(separator: ".").last ?? "")
      #expect(response["Content-Type"] == types[ending], "\(path)")
      #expect(
        response["Content-Security-Policy"]?.hasPrefix("default-src 'none'; script-src 'self'") == true, "\(path)")
      #expect(response["X-Content-Type-Options"] == "nosniff" && response["Cache-Control"] == "no-cache", "\(path)")
      let tag = try #require(response["ETag"])
      #expect(try Self.shared.get(path, ["If-None-Match: \(tag)"]).status == 304, "\(path)")
      let compressed = try Self.shared.get(path, ["Accept-Encoding: gzip"])
      #expect(compressed.body.count <= response.body.count && compressed["ETag"] != nil, "\(path)")
      let head = try Self.shared.get(path, method: "HEAD")
      #expect(head.status == 200 && head.body.isEmpty, "\(path)")
    }
    // Small enough to read in an evening.
    #expect(files.values.reduce(0) { $0 + $1.body.count } <= 120_000)
  }

  @Test("no file has anything inline, or from elsewhere")
  func selfContained() throws {
    for (path, response) in try Self.files() {
      let text = String(decoding: response.body, as: UTF8.self)
        .replacingOccurrences(of: "http://www.w3.org/2000/svg", with: "")
        .replacingOccurrences(of: "https://evanw.github.io/thumbhash", with: "")
      for word in ["http://", "https://", "style=\"", "onclick=", "eval(", "<style", "javascript:"] {
        #expect(!text.contains(word), "\(path): \(word)")
      }
      if path == "/" { #expect(!text.contains(#/<script[^>]*>[^<]/#)) }
    }
  }

  /// Keys that have no entry in the file of texts, because they are their texts: newAlbum is “New album”. The list
  /// finds misspelt keys.
  private static let plainTexts = """
    addPhotographs addToAnAlbum albums blackAndWhite brightness burst cancel clearTheSelection close collections compare
    contrast crop delete details download edit exposure favourite frameCache fromCaches hide highlights keywords library
    live memoryInUse moments nameOfTheAlbum nameOfTheFolder newAlbum newFolder next noiseReduction people photographs
    places playTheLivePhoto predicate previous removeFromThisAlbum rename residentMemory revertToOriginal saturation
    save search selection service shadows sharpness show showEverything signIn signOut skipToThePhotographs smartAlbums
    straighten suggestions tint token tryAgain turn undo untilTheDegradedFrame untilTheFinalFrame vibrance viewer
    vignette waitingRenders warmth window years
    """

  @Test("every text of the page that a script asks for is known, and every known one is used")
  func texts() throws {
    let files = try Self.files()
    let strings = String(decoding: try #require(files["/gallery/strings.js"]).body, as: UTF8.self)
    let table = try #require(strings.firstMatch(of: #/const english = \{([\s\S]*?)\n\}/#)).output.1
    let known = Set(table.matches(of: #/\n  (\w+): "/#).map { String($0.output.1) })
      .union(Self.plainTexts.split(whereSeparator: \.isWhitespace).map(String.init))
    var used: Set<String> = []
    for (path, response) in files {
      let text = String(decoding: response.body, as: UTF8.self)
      for match in text.matches(of: #/\btext\("(\w+)"|data-(?:text|label|placeholder)="(\w+)"/#) {
        used.insert(String(match.output.1 ?? match.output.2 ?? ""))
      }
      if path.hasSuffix(".js") {
        // Also as the key of an icon's path.
        for match in text.matches(of: #/"(\w+)"|\n  (\w+): "M/#) {
          let word = String(match.output.1 ?? match.output.2 ?? "")
          if known.contains(word) { used.insert(word) }
        }
      }
    }
    #expect(used.subtracting(known).isEmpty, "\(used.subtracting(known))")
    #expect(known.subtracting(used).isEmpty, "\(known.subtracting(used))")
  }

  @Test(
    "a file that is not of the page is not found", arguments: ["/gallery/x.js", "/gallery/index.html", "/gallery/"])
  func unknown(_ path: String) throws {
    #expect(try Self.shared.get(path).status == 404)
  }
}
