import Foundation
import PhotoFixtures
import Testing

/// Image requests for the full resolution, which the original's own bytes can answer.
@Suite("Full resolution", .blocking)
struct FullResolutionTests {
  private static let scene = Scene(seed: 5, grain: 8).pixels(width: 160, height: 120)

  /// The files, and whether their own bytes are the answer to `/image` with `Accept: image/png, image/jpeg;q=0.9` for a
  /// PNG, and without `Accept` for a JPEG.
  private static let files: [(name: String, isServed: Bool, bytes: [UInt8])] = {
    func jpeg(_ change: (inout JPEGFile) -> Void) -> [UInt8] { JPEGFile(change).encoded(scene) }
    let plain = jpeg { _ in }
    let place = EXIFBlock {
      $0.latitude = 47.5
      $0.longitude = 11.25
      $0.make = "Photod"
    }
    let adobeRGB = EXIFBlock {
      $0.colorSpace = 65_535
      $0.interoperabilityIndex = "R03"
    }
    let png = PNGFile(.rgb(depth: 8)).encoded(scene)
    // BT.2020 with PQ and HLG, and Display P3.
    func deep(_ primaries: UInt8, _ transfer: UInt8) -> [UInt8] {
      DeepPixels(width: 160, height: 120, channels: 3) { x, y, _ in UInt16(x * 200 + y * 100) }
        .png(chunks: PNGChunks.chunk("cICP", [primaries, transfer, 0, 1]))
    }
    return [
      ("plain.jpg", true, plain), ("place.jpg", true, jpeg { $0.exif = place }),
      ("progressive.jpg", true, jpeg { $0.isProgressive = true }), ("rgb.jpg", true, jpeg { $0.color = .rgb }),
      ("wide.jpg", true, jpeg { $0.profile = ICCFile.displayP3 }),
      ("wide-without-profile.jpg", false, jpeg { $0.exif = adobeRGB }),
      ("turned.jpg", false, jpeg { $0.exif = EXIFBlock { $0.orientation = 6 } }),
      ("arithmetic.jpg", false, jpeg { $0.isArithmetic = true }), ("inks.jpg", false, jpeg { $0.color = .cmyk }),
      ("truncated.jpg", false, Array(plain.dropLast(300))), ("trailer.jpg", false, plain + [0, 1, 2]),
      ("plain.png", true, png), ("trailer.png", false, png + [0]),
      ("pq.png", false, deep(9, 16)), ("hlg.png", false, deep(9, 18)), ("p3.png", true, deep(12, 13)),
    ]
  }()

  private static let shared: TestDaemon = {
    do {
      return try TestDaemon { daemon in for file in files { try daemon.put(file.bytes, file.name) } }
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  private static func asset(_ name: String) throws -> String { "/v1/assets/\(try shared.identifier(name))" }

  private static func fields(_ name: String) -> [String] {
    name.hasSuffix("png") ? ["Accept: image/png, image/jpeg;q=0.9"] : []
  }

  @Test("an upright, complete file in the requested format is the answer, without its places; others are rendered")
  func fileOrRender() throws {
    for (name, isServed, bytes) in Self.files {
      let asset = try Self.asset(name)
      let image = try Self.shared.get(asset + "/image", Self.fields(name))
      let data = try Self.shared.get(asset + "/data")
      let isFile = image.body == data.body
      #expect(image.status == 200 && isFile == isServed, "\(name)")
      #expect(image.body.count == bytes.count || !isServed, "\(name)")
      #expect(image["ETag"] != data["ETag"], "two resources")
      if isServed {
        #expect(image.result("source") == "original" && image.result("degraded") == "?0", "\(name)")
      }
    }
    let place = try Self.shared.get(Self.asset("place.jpg") + "/image")
    let original = try #require(Self.files.first { $0.name == "place.jpg" }?.bytes)
    let isUnchanged = place.body == original
    #expect(!isUnchanged, "the place is removed")
    #expect(place.result("width") == "160" && place.result("height") == "120")
    #expect(place["Content-Type"] == "image/jpeg" && place["Vary"] == "Accept" && place["Accept-Ranges"] == "bytes")
  }

  @Test("a request that changes the picture is rendered")
  func rendered() throws {
    let asset = try Self.asset("plain.jpg")
    let original = try Self.shared.get(asset + "/data").body
    func isFile(_ query: String, _ fields: [String] = []) throws -> Bool {
      let answer = try Self.shared.get(asset + "/image" + query, fields)
      #expect(answer.status == 200, "\(query)")
      return answer.body == original
    }
    for query in [
      "", "?targetSize=max", "?preset=fullResolutionImage", "?format=jpeg", "?resizeMode=none",
      "?contentMode=aspectFill", "?resizeMode=none&targetSize=10x10&contentMode=aspectFill",
      "?version=original", "?colorSpace=preserve", "?requestID=watched",
    ] { #expect(try isFile(query), "\(query)") }
    for query in [
      "?targetSize=160x120", "?targetSize=160x120&resizeMode=fast", "?quality=82", "?colorSpace=srgb",
      "?normalizedCropRect=0,0,1,1", "?format=png",
      "?deliveryMode=fastFormat", "?deliveryMode=opportunistic",
    ] { #expect(try !isFile(query), "\(query)") }
    #expect(try !isFile("", ["Cache-Control: no-cache"]), "a measurement renders")
    let signed = try Self.shared.post("/v1/signedURLs", #"{"path": "\#(asset)/image"}"#).json["url"] as? String
    let isSignedFile = try Self.shared.get(#require(signed)).body == original
    #expect(!isSignedFile, "a signed URL grants a picture")
  }

  @Test("a request with a name gets the same file and entity tag, and its result is known by the name")
  func named() throws {
    let target = try Self.asset("plain.jpg") + "/image"
    let plain = try Self.shared.get(target)
    for _ in 0..<2 {
      let named = try Self.shared.get(target + "?requestID=mine")
      let isSame = named.body == plain.body && named["ETag"] == plain["ETag"]
      #expect(named.status == 200 && isSame && named.result("request-id") == "\"mine\"")
      let state = try Self.shared.get("/v1/requests/mine").json
      #expect(state["stage"] as? String == "finished")
      let frames = try #require(state["frames"] as? [[String: Any]])
      #expect(frames.count == 1 && frames[0]["width"] as? Int == 160 && frames[0]["source"] as? String == "original")
    }
  }

  @Test("a damaged file is rendered, so that it has no entity tag, and HEAD says only what is known")
  func damaged() throws {
    let jpeg = JPEGFile { _ in }.encoded(Self.scene)
    var png = PNGFile(.rgb(depth: 8)).encoded(Self.scene)
    png[png.count / 2] ^= 1
    let daemon = try TestDaemon { files in
      // The end of the picture is there, but a quarter of the picture is not.
      try files.put(Array(jpeg.dropLast(jpeg.count / 4)) + [0xFF, 0xD9], "cut.jpg")
      try files.put(png, "broken.png")
      try files.put(jpeg, "sound.jpg")
    }
    func target(_ name: String) throws -> String { "/v1/assets/\(try daemon.identifier(name))" }
    let cut = try target("cut.jpg")
    let version = try #require(try daemon.get(cut).json["contentVersion"] as? String)
    for query in ["", "?v=\(version)", "?requestID=cut", "?targetSize=max&v=\(version)"] {
      for method in ["HEAD", "GET"] {
        let answer = try daemon.get(cut + "/image" + query, method: method)
        #expect(answer.status == 200 && answer["ETag"] == nil && answer["Cache-Control"] == "no-store", "\(query)")
        #expect(answer.result("incomplete") == (method == "GET" ? "?1" : nil), "\(method) \(query)")
      }
    }
    let frames = try daemon.get("/v1/requests/cut").json["frames"] as? [[String: Any]]
    #expect(frames?.count == 1 && frames?.first?["incomplete"] as? Bool == true)
    for query in ["format=png", "format=png&requestID=broken"] {
      let answer = try daemon.get(target("broken.png") + "/image?" + query)
      #expect(answer.status == 422 && answer.json["type"] as? String == "/problems/image-unreadable", "\(query)")
    }
    // Before the first decode, HEAD can't know that GET has an entity tag.
    let sound = try target("sound.jpg") + "/image"
    #expect(try daemon.get(sound, method: "HEAD").status == 200)
    let whole = try daemon.get(sound)
    #expect(whole.body == jpeg && whole["ETag"] != nil)
    #expect(try daemon.get(sound, method: "HEAD")["ETag"] == whole["ETag"])
  }

  @Test("the original file of a picture that is too large to be rendered is sent without a check of its pixels")
  func tooLarge() throws {
    let jpeg = JPEGFile { $0.isProgressive = true }.encoded(Pixels(width: 6400, height: 5600, channels: 3))
    let daemon = try TestDaemon(
      { files in try files.put(jpeg, "large.jpg") }, arguments: ["--set", "memoryBudgetBytes=100663296"])
    let image = "/v1/assets/\(try daemon.identifier("large.jpg"))/image"
    #expect(try daemon.get(image + "?targetSize=64x64").status == 422)
    let whole = try daemon.get(image)
    #expect(whole.status == 200 && whole.body == jpeg)
  }

  @Test("a PNG of high dynamic range becomes sRGB, whatever the size", arguments: ["pq.png", "hlg.png"])
  func hdr(_ name: String) throws {
    for query in ["targetSize=max", "targetSize=max&dynamicRange=standard", "targetSize=160x120"] {
      let answer = try Self.shared.get(Self.asset(name) + "/image?format=png&\(query)")
      #expect(answer.status == 200 && answer.result("width") == "160", "\(query)")
      let hasCodePoints = answer.body.indices.contains { answer.body[$0...].starts(with: Array("cICP".utf8)) }
      #expect(!hasCodePoints, "\(query)")
    }
  }

  @Test("the file has its own entity tag for HEAD, conditions and ranges; that of a render names the same picture")
  func validators() throws {
    let target = try Self.asset("wide.jpg") + "/image"
    let whole = try Self.shared.get(target)
    let tag = try #require(whole["ETag"])
    let head = try Self.shared.get(target, method: "HEAD")
    #expect(head.status == 200 && head.body.isEmpty)
    for field in ["ETag", "Content-Length", "Content-Type", "Last-Modified", "Cache-Control", "Vary"] {
      #expect(head[field] == whole[field] && head[field] != nil, "\(field)")
    }
    let date = try #require(whole["Last-Modified"])
    for (fields, status) in [
      (["If-None-Match: \(tag)"], 304), (["If-None-Match: \"x\""], 200), (["If-Match: \"x\""], 412),
      (["If-Match: \(tag)"], 200), (["If-Modified-Since: \(date)"], 304),
      (["Range: bytes=10-19"], 206), (["Range: bytes=10-19", "If-Range: \(tag)"], 206),
      (["Range: bytes=10-19", "If-Range: \"x\""], 200), (["Range: bytes=99999999-"], 416),
    ] {
      let answer = try Self.shared.get(target, fields)
      #expect(answer.status == status, "\(fields)")
      if status < 400 { #expect(answer["ETag"] == tag, "\(fields)") }
      if status == 206 { #expect(answer.body == Array(whole.body[10..<20]), "\(fields)") }
    }
    let (range, fresh) = ("Range: bytes=10-19", "Cache-Control: no-cache")
    let render = try Self.shared.get(target, [fresh])
    #expect(render["ETag"] != nil && render["ETag"] != tag)
    let renderTag = try #require(render["ETag"])
    #expect(try Self.shared.get(target, ["If-None-Match: \(renderTag)"]).status == 304)
    for fields in [[], ["Range: bytes=10-19"]] {
      #expect(try Self.shared.get(target, ["If-Match: \(renderTag)"] + fields).status == 412, "\(fields)")
      let named = try Self.shared.get(target, ["If-Match: \(renderTag), \(tag)"] + fields)
      #expect(named.status == (fields.isEmpty ? 200 : 206) && named["ETag"] == tag, "\(fields)")
    }
    let part = try Self.shared.get(target, ["If-Match: \(renderTag)", range, fresh])
    #expect(part.status == 206 && part["ETag"] == renderTag && part.body == Array(render.body[10..<20]))
    #expect(try Self.shared.get(target, ["If-Match: \(tag)", range, fresh]).status == 412)
    let version = try #require(try Self.shared.get(Self.asset("wide.jpg")).json["contentVersion"] as? String)
    #expect(try Self.shared.get(target + "?v=\(version)")["Cache-Control"] == "private, max-age=31536000, immutable")
  }
}
