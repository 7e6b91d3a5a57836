import Foundation
import PhotoFixtures
import Testing

/// `preset=NAME` in image queries, batches, caching managers and signed URLs, and the setting `presets`.
@Suite("Presets", .blocking)
struct PresetTests {
  private static let own =
    "card?targetSize=90x60&contentMode=aspectFill&quality=55,corner?normalizedCropRect=0%2C0%2C0.5%2C0.5"
    + ofEachParameter.map { ",\($0.parameter)?\($0.query)" }.joined()

  /// A preset for each parameter, with the parameter's name, and the parameter in a JSON body.
  private static let ofEachParameter: [(parameter: String, query: String, member: String)] = [
    ("targetSize", "targetSize=91x61", #""targetSize": "91x61""#),
    ("contentMode", "contentMode=aspectFill", #""contentMode": "aspectFill""#),
    ("resizeMode", "resizeMode=fast", #""resizeMode": "fast""#),
    ("deliveryMode", "deliveryMode=fastFormat", #""deliveryMode": "fastFormat""#),
    ("normalizedCropRect", "normalizedCropRect=0%2C0%2C0.5%2C1", #""normalizedCropRect": "0,0,0.5,1""#),
    ("cropAnchor", "cropAnchor=auto", #""cropAnchor": "auto""#),
    ("version", "version=unadjusted", #""version": "unadjusted""#),
    ("format", "format=png", #""format": "png""#),
    ("quality", "quality=56", #""quality": 56"#),
    ("colorSpace", "colorSpace=srgb", #""colorSpace": "srgb""#),
    ("dynamicRange", "dynamicRange=standard", #""dynamicRange": "standard""#),
    ("resample", "resample=linear", #""resample": "linear""#),
    ("bitDepth", "format=png&bitDepth=16", #""bitDepth": 16"#),
    ("posterTime", "posterTime=1", #""posterTime": 1"#),
    ("animated", "animated=true", #""animated": true"#),
  ]

  private static let shared: TestDaemon = {
    do {
      return try TestDaemon(
        { files in
          try files.put(JPEGFile { _ in }.encoded(Scene(seed: 1, grain: 6).pixels(width: 640, height: 480)), "a.jpg")
          try files.put(JPEGFile { _ in }.encoded(Scene(seed: 2, grain: 6).pixels(width: 480, height: 640)), "b.jpg")
        }, arguments: ["--set", "presets=\(own)"])
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  private static func image(_ query: String) throws -> String {
    "/v1/assets/\(try shared.identifier("a.jpg"))/image?\(query)"
  }

  /// Presets, and the same requests without them.
  private static let spelledOut: [(preset: String, query: String)] = [
    ("preset=thumbnail", "targetSize=200x200&contentMode=aspectFill"),
    ("preset=aspectRatioThumbnail", "targetSize=360x360"),
    ("preset=fullScreenImage", "targetSize=2048x2048&contentMode=aspectFit"),
    ("preset=fullResolutionImage", "targetSize=max"), ("preset=fullResolutionImage", ""),
    ("preset=card", "targetSize=90x60&contentMode=aspectFill&quality=55"),
    ("preset=corner", "normalizedCropRect=0,0,0.5,0.5"),
    // Parameters that the preset does not set, and a repeated one.
    ("preset=thumbnail&format=png", "targetSize=200x200&contentMode=aspectFill&format=png"),
    ("quality=40&preset=thumbnail&targetSize=200x200", "targetSize=200x200&contentMode=aspectFill&quality=40"),
  ]

  @Test("a preset gives the bytes and the entity tag of the request that spells it out")
  func same() throws {
    for (preset, query) in Self.spelledOut {
      let named = try Self.shared.get(Self.image(preset))
      let plain = try Self.shared.get(Self.image(query))
      let isSame = named.body == plain.body
      #expect(named.status == 200 && isSame && named["ETag"] == plain["ETag"], "\(preset)")
      // The file of the original is in no cache.
      let source = preset.contains("fullResolution") ? "original" : "memory"
      #expect(plain.result("source") == source, "\(query) has the cache key of \(preset)")
      let head = try Self.shared.get(Self.image(preset), method: "HEAD")
      #expect(head.status == 200 && head["ETag"] == plain["ETag"], "\(preset)")
      let tag = try #require(plain["ETag"])
      #expect(try Self.shared.get(Self.image(preset), ["If-None-Match: \(tag)"]).status == 304, "\(preset)")
    }
  }

  @Test("a batch with a preset has the parts of the spelled-out batch, and names their parameters")
  func batch() throws {
    let identifiers = try ["a.jpg", "b.jpg"].map { try Self.shared.identifier($0) }
    let assets = "[\"\(identifiers[0])\", \"\(identifiers[1])\"]"
    for (preset, rest) in [
      (#""preset": "thumbnail""#, #""targetSize": "200x200", "contentMode": "aspectFill""#),
      (#""preset": "card", "quality": 55"#, #""targetSize": "90x60", "contentMode": "aspectFill", "quality": 55"#),
    ] {
      func parts(_ members: String) throws -> [String: [String?]] {
        let answer = try Self.shared.post("/v1/images", "{\"assets\": \(assets), \(members)}")
        #expect(answer.status == 200)
        return try Multipart(answer).parts.reduce(into: [:]) { all, part in
          all[part.fields["content-location"] ?? ""] = [part.fields["etag"], String(part.body.hashValue)]
        }
      }
      let named = try parts(preset)
      #expect(try named == parts(rest) && named.count == 2, "\(preset)")
      #expect(named.keys.allSatisfy { $0.contains("contentMode=aspectFill") && !$0.contains("preset") })
    }
  }

  @Test("a caching manager that prepared a preset makes the image a memory hit")
  func caching() throws {
    let id = try CachingTests.manager(Self.shared)
    let asset = try Self.shared.identifier("b.jpg")
    for (path, method, body) in [
      ("startCaching", "POST", #"{"assets": ["\#(asset)"], "preset": "corner"}"#),
      (
        "window", "PUT",
        #"{"assets": ["\#(asset)"], "visible": [0, 0], "preset": "card", "options": {"format": "png"}}"#
      ),
    ] {
      let answer = try Self.shared.post("/v1/cachingManagers/\(id)/\(path)", body, method: method)
      #expect(answer.status == 200, "\(path): \(answer.json)")
    }
    _ = try CachingTests.settled(id, Self.shared)
    for query in ["preset=corner", "preset=card&format=png"] {
      #expect(try Self.shared.get("/v1/assets/\(asset)/image?\(query)").result("source") == "memory", "\(query)")
    }
  }

  @Test("a preset may set each parameter, and each request may repeat it")
  func everyParameter() throws {
    let asset = try Self.shared.identifier("a.jpg")
    let id = try CachingTests.manager(Self.shared)
    for (parameter, query, member) in Self.ofEachParameter {
      for repeated in ["", query] {
        let answer = try Self.shared.get(Self.image("preset=\(parameter)&\(repeated)"))
        #expect(answer.status == 200, "\(parameter): \(answer.json)")
      }
      for members in ["", ", \(member)"] {
        let body = #"{"assets": ["\#(asset)"], "preset": "\#(parameter)"\#(members)}"#
        let batch = try Self.shared.post("/v1/images", body)
        #expect(batch.status == 200, "\(body): \(batch.json)")
        let result = try #require(try Multipart(batch).parts.first?.fields["image-result"])
        #expect(result.hasPrefix("status=200"), "\(body): \(result)")
      }
      let isSize = ["targetSize", "contentMode"].contains(parameter)
      for members in ["", isSize ? ", \(member)" : #", "options": {\#(member)}"#] {
        for (path, method, visible) in [("startCaching", "POST", ""), ("window", "PUT", #", "visible": [0, 0]"#)] {
          let body = #"{"assets": ["\#(asset)"], "preset": "\#(parameter)"\#(visible)\#(members)}"#
          let answer = try Self.shared.post("/v1/cachingManagers/\(id)/\(path)", body, method: method)
          #expect(answer.status == 200, "\(path) \(body): \(answer.json)")
        }
      }
    }
    _ = try CachingTests.settled(id, Self.shared)
  }

  @Test("an unknown preset, and a parameter that contradicts the preset, are a 400 that names the parameter")
  func refused() throws {
    let asset = try Self.shared.identifier("a.jpg")
    for (query, parameter) in [
      ("preset=", "preset"), ("preset=Thumbnail", "preset"), ("preset=a%2Fb", "preset"),
      ("preset=thumbnail&preset=thumbnail", "preset"), ("preset=thumbnail&contentMode=aspectFit", "contentMode"),
      ("preset=thumbnail&targetSize=200x201", "targetSize"), ("preset=card&quality=54", "quality"),
      ("preset=corner&resizeMode=fast", "normalizedCropRect"), ("preset=thumbnail&size=1", "size"),
    ] {
      let answer = try Self.shared.get(Self.image(query))
      #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(query): \(answer.json)")
    }
    for (members, parameter) in [
      (#""preset": 1"#, "preset"), (#""preset": "x""#, "preset"),
      (#""preset": "thumbnail", "targetSize": "1x1""#, "targetSize"), (#""preset": "card", "quality": 7"#, "quality"),
      (#""preset": "bitDepth", "bitDepth": 8"#, "bitDepth"), (#""preset": "animated", "animated": false"#, "animated"),
      (#""preset": "posterTime", "posterTime": 2"#, "posterTime"),
    ] {
      let answer = try Self.shared.post("/v1/images", "{\"assets\": [\"\(asset)\"], \(members)}")
      #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(members): \(answer.json)")
    }
    let path = #"{"path": "/v1/assets/\#(asset)/image?preset=x"}"#
    #expect(try Self.shared.post("/v1/signedURLs", path).json["parameter"] as? String == "preset")
  }

  @Test("a signed URL may name a preset")
  func signed() throws {
    let answer = try Self.shared.post("/v1/signedURLs", #"{"path": "\#(try Self.image("preset=card"))"}"#)
    let url = try #require(answer.json["url"] as? String)
    let image = try Self.shared.get(url)
    let isSame = image.body == (try Self.shared.get(Self.image("preset=card"))).body
    #expect(answer.status == 201 && image.status == 200 && isSame)
  }

  @Test("the daemon does not start with a preset that is not valid")
  func settings() throws {
    for (presets, reason) in [
      ("thumbnail?targetSize=1x1", "built in"), ("a b?targetSize=1x1", "preset name"), ("x?", "no parameters"),
      ("x?targetSize=0x1", "targetSize"), ("x?v=1", "can't be part"), ("x?size=1x1", "can't be part"),
      ("x?normalizedCropRect=0%2C0%2C1%2C1&resizeMode=fast", "resizeMode"), ("x?targetSize=%zz", "percent"),
      ("x?quality=1,x?quality=2", "not a table"), ("x", "not a table"),
      ((0...64).map { "p\($0)?quality=\($0 + 1)" }.joined(separator: ","), "at most 64"),
    ] {
      let run = try TestDaemon.run(["settings", "--set", "presets=\(presets)"])
      #expect(
        run.status != 0 && run.error.contains("presets") && run.error.contains(reason), "\(presets): \(run.error)")
    }
    let file = FileManager.default.temporaryDirectory.path + "/photod-presets-\(UUID().uuidString).json"
    defer { try? FileManager.default.removeItem(atPath: file) }
    for (json, reason) in [
      (#"{"presets": {"x": 1}}"#, "presets.x is not a string"), (#"{"presets": ["x"]}"#, "not an object of strings"),
      (#"{"presets": {"//": "comment", "x": "targetSize=0x1"}}"#, "targetSize"),
      (#"{"presets": {"//": "comment", "x": "targetSize=1x1"}}"#, ""),
    ] {
      try Data(json.utf8).write(to: URL(filePath: file))
      let run = try TestDaemon.run(["settings", "--config", file])
      #expect(
        (run.status == 0) == reason.isEmpty && (reason.isEmpty || run.error.contains(reason)), "\(json): \(run.error)")
    }
  }
}
