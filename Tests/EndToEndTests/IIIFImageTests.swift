import Foundation
import PhotoFixtures
import Testing

/// The IIIF Image API 3.0 over real sockets.
@Suite("IIIF images", .blocking)
struct IIIFImageTests {
  private static let scene = Scene(seed: 11, grain: 4).pixels(width: 1200, height: 800)

  private static let shared: TestDaemon = {
    do {
      return try TestDaemon(
        { files in
          try files.put(PNGFile(.rgb(depth: 8)).encoded(scene), "plain.png")
          try files.put(JPEGFile { $0.quality = 95 }.encoded(scene), "plain.jpg")
          let exif = EXIFBlock { $0.orientation = 6 }
          try files.put(
            JPEGFile {
              $0.quality = 95
              $0.exif = exif
            }.encoded(scene.stored(orientation: 6)), "turned.jpg")
          var cutOut = Pixels(width: 60, height: 40, channels: 4)
          for i in 0..<2400 {
            cutOut.bytes.replaceSubrange(i * 4..<i * 4 + 4, with: [200, 100, 50, i % 60 < 30 ? 0 : 255])
          }
          try files.put(PNGFile(.rgba(depth: 8)).encoded(cutOut), "cut-out.png")
        }, arguments: ["--allow-anonymous"])
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  private static func base(_ name: String = "plain.png") throws -> String {
    "/iiif/3/\(try shared.identifier(name))"
  }

  private static func picture(_ path: String, of name: String = "plain.png") throws -> (Pixels, channels: Int) {
    let answer = try shared.get(base(name) + path)
    try #require(answer.status == 200, "\(path): \(answer.status) \(answer.json)")
    let decoded = try #require(Pixels.decoded(answer.body), "\(path)")
    return (decoded.pixels, decoded.fileChannels)
  }

  /// Requests of a picture of 1200x800 pixels, with the part that they show, its size before the turn, the EXIF
  /// orientation that has the effect of the turn, and the canonical form.
  private static let requests: [(path: String, part: [Int], size: [Int], turn: Int, canonical: String)] = [
    ("/full/max/0/default.png", [0, 0, 1200, 800], [1200, 800], 1, "/full/max/0/default.png"),
    ("/0,0,1200,800/1200,800/0/color.png", [0, 0, 1200, 800], [1200, 800], 1, "/full/max/0/default.png"),
    ("/square/max/0/default.png", [200, 0, 800, 800], [800, 800], 1, "/200,0,800,800/max/0/default.png"),
    ("/full/300,/0/default.png", [0, 0, 1200, 800], [300, 200], 1, "/full/300,200/0/default.png"),
    ("/full/,101/0/default.png", [0, 0, 1200, 800], [152, 101], 1, "/full/152,101/0/default.png"),
    ("/full/pct:12.5/0/default.png", [0, 0, 1200, 800], [150, 100], 1, "/full/150,100/0/default.png"),
    ("/full/!300,300/0/default.png", [0, 0, 1200, 800], [300, 200], 1, "/full/300,200/0/default.png"),
    // The picture is as large as possible, but not larger than the part.
    ("/full/!2000,3000/0/default.png", [0, 0, 1200, 800], [1200, 800], 1, "/full/max/0/default.png"),
    ("/full/100,300/0/default.png", [0, 0, 1200, 800], [100, 300], 1, "/full/100,300/0/default.png"),
    ("/full/^300,/0/default.png", [0, 0, 1200, 800], [300, 200], 1, "/full/300,200/0/default.png"),
    ("/100,50,300,200/max/0/default.png", [100, 50, 300, 200], [300, 200], 1, "/100,50,300,200/max/0/default.png"),
    (
      "/1000,700,900,900/100,/0/default.png", [1000, 700, 200, 100], [100, 50], 1,
      "/1000,700,200,100/100,50/0/default.png"
    ),
    (
      "/pct:25,50,50,100/max/0/default.png", [300, 400, 600, 400], [600, 400], 1, "/300,400,600,400/max/0/default.png"
    ),
    // Percentages as programs compute them.
    ("/full/pct:33.33333333333333/0/default.png", [0, 0, 1200, 800], [400, 267], 1, "/full/400,267/0/default.png"),
    (
      "/pct:0,0,33.33333333333333333333,50/max/0/default.png", [0, 0, 400, 400], [400, 400], 1,
      "/0,0,400,400/max/0/default.png"
    ),
    ("/full/300,/90/default.png", [0, 0, 1200, 800], [300, 200], 8, "/full/300,200/90/default.png"),
    ("/full/300,/180/default.png", [0, 0, 1200, 800], [300, 200], 3, "/full/300,200/180/default.png"),
    ("/full/300,/270/default.png", [0, 0, 1200, 800], [300, 200], 6, "/full/300,200/270/default.png"),
    ("/full/300,/360/default.png", [0, 0, 1200, 800], [300, 200], 1, "/full/300,200/0/default.png"),
    ("/full/300,/!0/default.png", [0, 0, 1200, 800], [300, 200], 2, "/full/300,200/!0/default.png"),
    ("/full/300,/!90/default.png", [0, 0, 1200, 800], [300, 200], 7, "/full/300,200/!90/default.png"),
    ("/full/300,/!180/default.png", [0, 0, 1200, 800], [300, 200], 4, "/full/300,200/!180/default.png"),
    ("/full/300,/!270/default.png", [0, 0, 1200, 800], [300, 200], 5, "/full/300,200/!270/default.png"),
    (
      "/600,0,600,800/150,100/90/default.png", [600, 0, 600, 800], [150, 100], 8,
      "/600,0,600,800/150,100/90/default.png"
    ),
  ]

  @Test(
    "region, size and rotation show the right pixels of PNG and JPEG files and of turned originals, and name the canonical form"
  )
  func pictures() throws {
    for (name, tolerance) in [("plain.png", 2.0), ("plain.jpg", 3.5), ("turned.jpg", 3.5)] {
      for row in Self.requests {
        let answer = try Self.shared.get(Self.base(name) + row.path)
        try #require(answer.status == 200, "\(name)\(row.path): \(answer.status) \(answer.json)")
        let shown = try #require(Pixels.decoded(answer.body)).pixels.channels(3)
        // What a stored file of that orientation looks like is what the opposite turn makes of the picture.
        let wanted = Self.scene.cropped(x: row.part[0], y: row.part[1], width: row.part[2], height: row.part[3])
          .averaged(width: row.size[0], height: row.size[1]).stored(orientation: row.turn)
        let difference = try #require(shown.meanDifference(from: wanted), "\(name)\(row.path) has another size")
        #expect(difference < tolerance, "\(name)\(row.path)")
        let link = "<\(try Self.base(name))\(row.canonical)>; rel=\"canonical\""
        #expect(answer["Link"]?.hasPrefix(link) == true, "\(name)\(row.path): \(answer["Link"] ?? "")")
        #expect(
          answer.result("width") == String(shown.width) && answer.result("height") == String(shown.height),
          "\(row.path)")
      }
    }
  }

  @Test("gray has the luma of the picture in one channel, and bitonal only black and white")
  func qualities() throws {
    let color = try Self.picture("/full/300,/0/default.png").0
    for name in ["plain.png", "plain.jpg", "turned.jpg"] {
      for format in ["png", "jpg"] {
        let (gray, channels) = try Self.picture("/full/300,/0/gray.\(format)", of: name)
        #expect(channels == 1, "\(name) \(format)")
        var difference = 0.0
        for i in 0..<300 * 200 {
          let (red, green, blue) = (color.bytes[i * 4], color.bytes[i * 4 + 1], color.bytes[i * 4 + 2])
          difference += abs(
            0.299 * Double(red) + 0.587 * Double(green) + 0.114 * Double(blue) - Double(gray.bytes[i * 4]))
        }
        #expect(difference / 60_000 < 3, "\(name) \(format)")
      }
    }
    let gray = try Self.picture("/full/300,/90/gray.png").0
    let bitonal = try Self.picture("/full/300,/90/bitonal.png")
    #expect(bitonal.channels == 1 && bitonal.0.width == 200)
    for i in 0..<60_000 { try #require(bitonal.0.bytes[i * 4] == (gray.bytes[i * 4] < 128 ? 0 : 255)) }
    let cutOut = try Self.picture("/full/max/0/gray.png", of: "cut-out.png")
    #expect(cutOut.channels == 2 && cutOut.0.bytes[3] == 0 && cutOut.0.bytes[59 * 4 + 3] == 255)
  }

  private static let refused: [(path: String, status: Int, parameter: String)] = [
    ("/1200,0,10,10/max/0/default.jpg", 400, "region"), ("/0,0,0,10/max/0/default.jpg", 400, "region"),
    ("/pct:100,0,1,1/max/0/default.jpg", 400, "region"), ("/-1,0,10,10/max/0/default.jpg", 400, "region"),
    ("/pct:1e1,0,1,1/max/0/default.jpg", 400, "region"),
    ("/pct:0,0,1.,1/max/0/default.jpg", 400, "region"),
    ("/pct:0,0,1.000000000000000000000000000000001,1/max/0/default.jpg", 400, "region"),
    ("/99999999999999999999,0,1,1/max/0/default.jpg", 400, "region"),
    ("/all/max/0/default.jpg", 400, "region"), ("/1,2,3/max/0/default.jpg", 400, "region"),
    ("/full/full/0/default.jpg", 400, "size"), ("/full/0,/0/default.jpg", 400, "size"),
    ("/full/1201,/0/default.jpg", 400, "size"), ("/full/,801/0/default.jpg", 400, "size"),
    ("/full/1200,801/0/default.jpg", 400, "size"), ("/full/pct:100.1/0/default.jpg", 400, "size"),
    ("/full/pct:0/0/default.jpg", 400, "size"), ("/full/pct:0.01/0/default.jpg", 400, "size"),
    ("/full/!10,/0/default.jpg", 400, "size"), ("/full/,/0/default.jpg", 400, "size"),
    ("/full/^/0/default.jpg", 400, "size"), ("/0,0,10,10/11,/0/default.jpg", 400, "size"),
    ("/full/^1201,/0/default.jpg", 501, "size"), ("/full/^pct:200/0/default.jpg", 501, "size"),
    ("/full/^!2000,2000/0/default.jpg", 501, "size"), ("/full/^max/0/default.jpg", 501, "size"),
    ("/full/max/45/default.jpg", 501, "rotation"), ("/full/max/90.5/default.jpg", 501, "rotation"),
    ("/full/max/361/default.jpg", 400, "rotation"), ("/full/max/x/default.jpg", 400, "rotation"),
    ("/full/max/!/default.jpg", 400, "rotation"), ("/full/max/0/grey.jpg", 400, "file"),
    ("/full/max/0/default", 400, "file"), ("/full/max/0/default.bmp", 400, "file"),
    ("/full/max/0/default.jpg.png", 400, "file"), ("/full/max/0/default.tif", 501, "file"),
    ("/full/max/0/default.jp2", 501, "file"), ("/full/max/0/default.jpg?size=3", 400, "size"),
  ]

  @Test("a malformed request gets 400, a valid one that is not supported 501, and both name the parameter")
  func errors() throws {
    for row in Self.refused {
      let answer = try Self.shared.get(Self.base() + row.path)
      #expect(answer.status == row.status, "\(row.path): \(answer.status)")
      #expect(answer.json["parameter"] as? String == row.parameter, "\(row.path)")
      #expect(answer["Access-Control-Allow-Origin"] == "*", "\(row.path)")
    }
    #expect(try Self.shared.get("/iiif/3/none/full/max/0/default.jpg").status == 404)
    #expect(try Self.shared.get("/iiif/3/none/info.json").status == 404)
    #expect(try Self.shared.get("/iiif/3/none").status == 404)
    #expect(try Self.shared.get(Self.base() + "/full/max/default.jpg").status == 404)
  }

  @Test("info.json describes sizes and tiles that can be requested, as JSON or as JSON-LD")
  func information() throws {
    let base = try Self.base()
    let redirect = try Self.shared.get(base)
    #expect(redirect.status == 303 && redirect["Location"] == base + "/info.json")
    let answer = try Self.shared.get(base + "/info.json")
    #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
    let info = answer.json
    #expect(info["@context"] as? String == "http://iiif.io/api/image/3/context.json")
    #expect(info["id"] as? String == "http://localhost" + base && info["type"] as? String == "ImageService3")
    #expect(info["profile"] as? String == "level2" && info["protocol"] as? String == "http://iiif.io/api/image")
    #expect(info["width"] as? Int == 1200 && info["height"] as? Int == 800 && info["maxArea"] == nil)
    for size in try #require(info["sizes"] as? [[String: Int]]) {
      let (width, height) = (size["width"] ?? 0, size["height"] ?? 0)
      let shown = try Self.picture("/full/\(width),\(height)/0/default.jpg").0
      #expect(shown.width == width && shown.height == height)
    }
    let tiles = try #require((info["tiles"] as? [[String: Any]])?.first)
    let side = try #require(tiles["width"] as? Int)
    #expect(tiles["height"] as? Int == side && tiles["scaleFactors"] as? [Int] == [1, 2, 4])
    for factor in tiles["scaleFactors"] as? [Int] ?? [] {
      // The tile at the lower right, as viewers compute it.
      let span = side * factor
      let (x, y) = (1199 / span * span, 799 / span * span)
      let (width, height) = ((1200 - x + factor - 1) / factor, (800 - y + factor - 1) / factor)
      let region = "\(x),\(y),\(min(span, 1200 - x)),\(min(span, 800 - y))"
      let shown = try Self.picture("/\(region)/\(width),\(height)/0/default.jpg").0
      #expect(shown.width == width && shown.height == height)
    }
    let linked = try Self.shared.get(base + "/info.json", ["Accept: application/ld+json, application/json;q=0.5"])
    #expect(
      linked["Content-Type"] == "application/ld+json;profile=\"http://iiif.io/api/image/3/context.json\"")
    #expect(linked.body == answer.body && linked["ETag"] != answer["ETag"])
    let tag = try #require(answer["ETag"])
    #expect(try Self.shared.get(base + "/info.json", ["If-None-Match: \(tag)"]).status == 304)
  }

  @Test("pictures have entity tags, conditions, ranges, HEAD and versions, and share frames with other requests")
  func caching() throws {
    let base = try Self.base()
    let first = try Self.shared.get(base + "/full/240,/0/default.jpg")
    let tag = try #require(first["ETag"])
    #expect(first["Cache-Control"] == "private, max-age=0, must-revalidate" && first["Vary"] == nil)
    let same = try Self.shared.get(base + "/full/240,160/0/default.jpg")
    #expect(same["ETag"] == tag && same.result("source") == "memory" && same.body == first.body)
    let identifier = try Self.shared.identifier("plain.png")
    let other = try Self.shared.get("/v1/assets/\(identifier)/image?targetSize=240x240&format=jpeg")
    #expect(other["ETag"] == tag && other.result("source") == "memory", "the frame is the same")
    for path in [
      "/full/240,/90/default.jpg", "/full/240,/!0/default.jpg", "/full/240,/0/gray.jpg", "/full/240,/0/bitonal.jpg",
    ] {
      #expect(try Self.shared.get(base + path)["ETag"] != tag, "\(path)")
    }
    #expect(try Self.shared.get(base + "/full/240,/0/default.jpg", ["If-None-Match: \(tag)"]).status == 304)
    #expect(
      try Self.shared.get(base + "/full/240,/0/default.jpg", ["Range: bytes=0-9"]).body == Array(first.body[..<10]))
    let head = try Self.shared.get(base + "/full/230,/90/default.jpg", method: "HEAD")
    #expect(head.status == 200 && head["Link"]?.contains("canonical") == true)
    #expect(head.result("width") == "153" && head.result("height") == "230")
    let asset = try Self.shared.get("/v1/assets/\(identifier)").json
    let version = try #require(asset["contentVersion"] as? String)
    let fixed = try Self.shared.get(base + "/full/240,/0/default.jpg?v=\(version)")
    #expect(fixed["Cache-Control"] == "private, max-age=31536000, immutable")
    #expect(try Self.shared.get(base + "/full/240,/0/default.jpg?v=old").status == 404)
  }

  @Test("pages of every origin may read what a caller without a credential sees, if the daemon allows such callers")
  func origins() throws {
    let paths = ["", "/info.json", "/full/90,/0/default.jpg"]
    for path in paths {
      for fields in [[], ["Origin: https://viewer.example", "Sec-Fetch-Site: cross-site"]] {
        for _ in 0..<2 {
          let answer = try Self.shared.get(Self.base() + path, fields)
          #expect(answer["Access-Control-Allow-Origin"] == "*", "\(path)")
          #expect(answer["Access-Control-Allow-Credentials"] == nil)
          #expect(answer["Cross-Origin-Resource-Policy"] == "cross-origin", "\(path)")
        }
      }
      let preflight = try Self.shared.get(
        Self.base() + path, ["Origin: https://viewer.example", "Access-Control-Request-Method: GET"], method: "OPTIONS")
      #expect(preflight.status == 204 && preflight["Access-Control-Allow-Origin"] == "*")
      #expect(preflight["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS")
    }
    #expect(try Self.shared.get("/v1/assets")["Access-Control-Allow-Origin"] == nil, "only IIIF")
    // A daemon on loopback serves its own user: a page that the user visits must not read the library.
    let closed = try TestDaemon { try $0.put(PNGFile(.rgb(depth: 8)).encoded(Self.scene), "a.png") }
    let base = "/iiif/3/\(try closed.identifier("a.png"))"
    for path in paths {
      let answer = try closed.get(base + path, ["Origin: https://viewer.example"])
      #expect(answer["Access-Control-Allow-Origin"] == nil && answer["Cross-Origin-Resource-Policy"] == "same-origin")
    }
    let token = try closed.makeToken("read")
    let path = base + "/full/90,/0/default.jpg"
    #expect(try closed.get(path).status == 401)
    #expect(try closed.get(path, [TestDaemon.bearer(token)]).status == 200)
    let url = try CredentialTests.sign(closed, token, path)
    #expect(try closed.get(url).status == 200)
    #expect(try closed.get(url.replacing("90,", with: "91,")).status == 403)
    #expect(try closed.get(base + "/info.json?" + url.split(separator: "?")[1]).status == 403)
  }

  @Test("a path of a picture that is not an IIIF request can't be signed")
  func signing() throws {
    let token = try Self.tokens.makeToken("read")
    let base = "/iiif/3/\(try Self.tokens.get("/v1/assets", [TestDaemon.bearer(token)]).firstIdentifier)"
    for (path, status) in [
      ("/full/max/0/default.jpg", 201), ("/full/max/0/default.gif", 501), ("/full/none/0/default.jpg", 400),
      ("/info.json", 400),
    ] {
      let answer = try Self.tokens.post(
        "/v1/signedURLs", "{\"path\": \"\(base + path)\"}", [TestDaemon.bearer(token)])
      #expect(answer.status == status, "\(path): \(answer.json)")
    }
  }

  private static let tokens: TestDaemon = {
    do { return try TestDaemon { try $0.put(PNGFile(.rgb(depth: 8)).encoded(scene), "a.png") } } catch {
      fatalError("no daemon: \(error)")
    }
  }()
}

extension TestDaemon.Response {
  /// The identifier of the first asset of a page.
  fileprivate var firstIdentifier: String {
    (json["assets"] as? [[String: Any]])?.first?["localIdentifier"] as? String ?? ""
  }
}
