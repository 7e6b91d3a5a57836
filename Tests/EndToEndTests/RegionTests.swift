import Foundation
import PhotoFixtures
import Testing

/// Regions of assets, and pictures that are cropped to them.
@Suite("Regions and crop anchors", .blocking)
struct RegionTests {
  private typealias Object = [String: Any]

  /// A gray picture of 600x200 pixels with a red square of 80 pixels at x, and a face there if it has a name.
  private static func picture(red x: Int, name: String?, orientation: Int = 1) -> [UInt8] {
    var pixels = Pixels(width: 600, height: 200, channels: 3, bytes: [UInt8](repeating: 128, count: 360_000))
    for row in 60..<140 {
      for column in x..<x + 80 {
        pixels.bytes.replaceSubrange((row * 600 + column) * 3..<(row * 600 + column) * 3 + 3, with: [220, 20, 20])
      }
    }
    let center = (Double(x) + 40) / 600
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="" xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/"
       xmlns:stArea="http://ns.adobe.com/xmp/sType/Area#" xmlns:stDim="http://ns.adobe.com/xap/1.0/sType/Dimensions#">
      <mwg-rs:Regions rdf:parseType="Resource">
      <mwg-rs:AppliedToDimensions stDim:w="600" stDim:h="200" stDim:unit="pixel"/>
      <mwg-rs:RegionList><rdf:Bag><rdf:li rdf:parseType="Resource"><mwg-rs:Type>Face</mwg-rs:Type>
      <mwg-rs:Name>\(name ?? "")</mwg-rs:Name>
      <mwg-rs:Area stArea:x="\(center)" stArea:y="0.5" stArea:w="0.133333" stArea:h="0.4" stArea:unit="normalized"/>
      </rdf:li></rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions></rdf:Description></rdf:RDF></x:xmpmeta>
      """
    return JPEGFile {
      $0.quality = 95
      if name != nil { $0.segments = [.xmp(packet)] }
      $0.exif = EXIFBlock { $0.orientation = orientation }
    }.encoded(pixels)
  }

  private static func daemon() throws -> TestDaemon {
    try TestDaemon { files in
      try files.put(picture(red: 500, name: "Anna Quist"), "right.jpg")
      try files.put(picture(red: 20, name: "Bert Quist", orientation: 6), "turned.jpg")
      try files.put(picture(red: 490, name: nil), "plain.jpg")
    }
  }

  /// The share of red pixels of a rendition, in percent.
  private func red(_ daemon: TestDaemon, _ identifier: String, _ query: String) throws -> Int {
    let answer = try daemon.get("/v1/assets/\(identifier)/image?contentMode=aspectFill&\(query)")
    try #require(answer.status == 200, "\(answer.json)")
    let pixels = try #require(Pixels.decoded(answer.body)).pixels
    let count = (0..<pixels.width * pixels.height).count { pixels.bytes[$0 * 4] > 180 && pixels.bytes[$0 * 4 + 1] < 80 }
    return count * 100 / (pixels.width * pixels.height)
  }

  private func found(_ daemon: TestDaemon, _ text: String) throws -> Int {
    try #require(try daemon.get("/v1/assets?search=\(text)").json["assets"] as? [Object]).count
  }

  @Test("regions of files are properties of assets in the upright picture, their names are found, and crops keep them")
  func files() throws {
    let daemon = try Self.daemon()
    let (right, turned) = (try daemon.identifier("right.jpg"), try daemon.identifier("turned.jpg"))
    func regions(_ identifier: String) throws -> [Object] {
      try #require(try daemon.get("/v1/assets/\(identifier)").json["regions"] as? [Object])
    }
    let face = try #require(try regions(right).first)
    #expect(face["type"] as? String == "face" && face["name"] as? String == "Anna Quist")
    let rect = try #require(face["rect"] as? [Double])
    #expect(zip(rect, [0.833333, 0.3, 0.133333, 0.4]).allSatisfy { abs($0 - $1) < 1e-5 }, "\(rect)")
    // Stored on its side: what is at the left when stored is above when upright.
    let upright = try #require(try regions(turned).first?["rect"] as? [Double])
    #expect(zip(upright, [0.3, 0.033333, 0.4, 0.133333]).allSatisfy { abs($0 - $1) < 1e-5 }, "\(upright)")
    #expect(try regions(daemon.identifier("plain.jpg")).isEmpty)
    #expect(try found(daemon, "anna") == 1 && found(daemon, "quist") == 2)
    for identifier in [right, turned] {
      #expect(try red(daemon, identifier, "targetSize=100x100") == 0)
      #expect(try red(daemon, identifier, "targetSize=100x100&cropAnchor=center") == 0)
      #expect(try red(daemon, identifier, "targetSize=100x100&cropAnchor=auto") > 12)
    }
    #expect(try red(daemon, right, "targetSize=100x100&cropAnchor=1,0.5") > 12)
    #expect(try red(daemon, right, "targetSize=100x100&cropAnchor=1,5e-1") > 12)
    #expect(try red(daemon, right, "targetSize=100x100&cropAnchor=0,0.5") == 0)
    for wrong in ["left", "0.5", "0.5,0.5,0.5", "1.1,0", "-0.1,0", "nan,0", "0x1,0", ""] {
      let answer = try daemon.get("/v1/assets/\(right)/image?contentMode=aspectFill&cropAnchor=\(wrong)")
      #expect(answer.status == 400 && answer.json["parameter"] as? String == "cropAnchor", "\(wrong)")
    }
  }

  @Test("the anchor without regions is the point that the eye sees first, once the placeholder has been made")
  func saliency() throws {
    let daemon = try Self.daemon()
    _ = try daemon.assetsWithPlaceholders()
    let plain = try daemon.identifier("plain.jpg")
    #expect(try red(daemon, plain, "targetSize=100x100&cropAnchor=auto") > 12)
    #expect(try red(daemon, plain, "targetSize=100x100") == 0)
    let version = try #require(try daemon.get("/v1/assets/\(plain)").json["contentVersion"] as? String)
    let image = "/v1/assets/\(plain)/image?contentMode=aspectFill&targetSize=90x90&cropAnchor=auto&v=\(version)"
    #expect(try daemon.get(image)["Cache-Control"]?.contains("immutable") == true)
  }

  @Test("regions of an adjusted picture are where it shows them, crops keep them there, and a revert brings all back")
  func adjusted() throws {
    let daemon = try Self.daemon()
    let right = try daemon.identifier("right.jpg")
    let path = "/v1/assets/\(right)"
    func rect() throws -> [Double]? {
      (try daemon.get(path).json["regions"] as? [Object])?.first?["rect"] as? [Double]
    }
    let before = try #require(try rect())
    // The right half, turned clockwise: the face is at the bottom.
    let operations = """
      {"operations": [{"type": "crop", "rect": [0.5, 0, 0.5, 1]}, {"type": "rotate", "quarterTurns": 1}]}
      """
    #expect(try daemon.post("\(path)/adjustments", operations, method: "PUT").status < 300)
    let after = try #require(try rect())
    #expect(zip(after, [0.3, 0.666667, 0.4, 0.266667]).allSatisfy { abs($0 - $1) < 1e-5 }, "\(after)")
    #expect(try red(daemon, right, "targetSize=100x100&cropAnchor=auto") > 12)
    #expect(try red(daemon, right, "targetSize=100x100&cropAnchor=auto&version=unadjusted") > 12)
    #expect(try red(daemon, right, "targetSize=100x100&cropAnchor=0.5,0") < 5)
    // Regions are set in the picture that the client sees.
    let face = #"[{"type": "face", "rect": [0.25, 0.5, 0.5, 0.25], "name": "Dora"}]"#
    let change = #"{"changes": [{"type": "updateAsset", "asset": "\#(right)", "regions": \#(face)}]}"#
    #expect(try daemon.post("/v1/changes", change).status == 200)
    #expect(try rect() == [0.25, 0.5, 0.5, 0.25])
    #expect(try daemon.get("\(path)/adjustments", method: "DELETE").status < 300)
    let reverted = try #require(try rect())
    #expect(zip(reverted, [0.75, 0.25, 0.125, 0.5]).allSatisfy { abs($0 - $1) < 1e-5 }, "\(reverted) \(before)")
  }

  @Test("changing the regions of a cropped picture keeps those that the crop hides")
  func hidden() throws {
    let daemon = try Self.daemon()
    let plain = try daemon.identifier("plain.jpg")
    let path = "/v1/assets/\(plain)"
    func set(_ regions: String) throws -> Int {
      let change = #"{"changes": [{"type": "updateAsset", "asset": "\#(plain)", "regions": \#(regions)}]}"#
      return try daemon.post("/v1/changes", change).status
    }
    func names() throws -> [String] {
      let regions = try #require(try daemon.get(path).json["regions"] as? [Object])
      return regions.compactMap { $0["name"] as? String }
    }
    let ada = #"{"type": "face", "rect": [0.125, 0.25, 0.25, 0.25], "name": "Ada"}"#
    let bob = #"{"type": "face", "rect": [0.75, 0.75, 0.125, 0.125], "name": "Bob"}"#
    #expect(try set("[\(ada), \(bob)]") == 200)
    let crop = #"{"operations": [{"type": "crop", "rect": [0, 0, 0.5, 0.5]}]}"#
    #expect(try daemon.post("\(path)/adjustments", crop, method: "PUT").status < 300)
    #expect(try names() == ["Ada"])
    #expect(try set(#"[{"type": "face", "rect": [0.25, 0.5, 0.5, 0.5], "name": "Adele"}]"#) == 200)
    #expect(try names() == ["Adele"] && found(daemon, "bob") == 1 && found(daemon, "ada") == 0)
    #expect(try daemon.get("\(path)/adjustments", method: "DELETE").status < 300)
    #expect(try names() == ["Adele", "Bob"])
    let adele = (try daemon.get(path).json["regions"] as? [Object])?.first
    #expect(adele?["rect"] as? [Double] == [0.125, 0.25, 0.25, 0.25])
  }

  @Test("batches, windows and presets take the anchor")
  func elsewhere() throws {
    let daemon = try Self.daemon()
    let right = try daemon.identifier("right.jpg")
    let single = try daemon.get(
      "/v1/assets/\(right)/image?contentMode=aspectFill&targetSize=80x80&cropAnchor=auto&format=jpeg")
    let body = """
      {"assets": ["\(right)"], "targetSize": "80x80", "contentMode": "aspectFill", "cropAnchor": "auto", "format": "jpeg"}
      """
    let batch = try Multipart(try daemon.post("/v1/images", body)).parts
    #expect(batch.first?.fields["etag"] == single["ETag"])
    #expect(batch.first?.fields["content-location"]?.contains("cropAnchor=auto") == true)
    let preset = try daemon.get("/v1/assets/\(right)/image?preset=thumbnail&cropAnchor=auto")
    #expect(preset.status == 200)
    let id = try CachingTests.manager(daemon)
    let window = """
      {"assets": ["\(right)"], "visible": [0, 0], "targetSize": "70x70", "contentMode": "aspectFill", \
      "options": {"cropAnchor": "auto", "format": "jpeg"}}
      """
    #expect(try daemon.post("/v1/cachingManagers/\(id)/window", window, method: "PUT").status == 200)
    try daemon.until("the window has prepared the crop") {
      let head = try daemon.get(
        "/v1/assets/\(right)/image?contentMode=aspectFill&targetSize=70x70&cropAnchor=auto&format=jpeg", method: "HEAD")
      return head.result("source") == "memory"
    }
    #expect(try daemon.post("/v1/images", body.replacing("auto", with: "left")).status == 400)
  }

  @Test(
    "a change list sets regions: crops to them and the content version change, other pictures and the placeholder stay")
  func changes() throws {
    let daemon = try Self.daemon()
    _ = try daemon.assetsWithPlaceholders()
    let right = try daemon.identifier("right.jpg")
    let path = "/v1/assets/\(right)"
    func tag(_ query: String) throws -> String? {
      try daemon.get("\(path)/image?targetSize=60x60&contentMode=aspectFill&\(query)")["ETag"]
    }
    func set(_ regions: String) throws -> Int {
      try daemon.post(
        "/v1/changes", "{\"changes\": [{\"type\": \"updateAsset\", \"asset\": \"\(right)\", \"regions\": \(regions)}]}"
      ).status
    }
    let before = try daemon.get(path).json
    let (center, auto) = (try tag(""), try tag("cropAnchor=auto"))
    let version = try #require(before["contentVersion"] as? String)
    let cat =
      #"[{"type": "pet", "rect": [0, 0, 0.1, 0.5]}, {"type": "face", "rect": [0, 0.1, 0.1, 0.5], "name": "Cleo Dahl"}]"#
    #expect(try set(cat) == 200)
    let after = try daemon.get(path).json
    let list = try #require(after["regions"] as? [Object])
    #expect(list.count == 2 && list[0]["type"] as? String == "pet" && list[0]["name"] == nil)
    #expect(list[1]["name"] as? String == "Cleo Dahl" && list[1]["rect"] as? [Double] == [0, 0.1, 0.1, 0.5])
    let newer = try #require(after["contentVersion"] as? String)
    #expect(newer != version && after["placeholder"] as? String == before["placeholder"] as? String)
    #expect(after["isRenderable"] as? Bool == true)
    #expect(try tag("") == center && tag("cropAnchor=auto") != auto)
    #expect(try daemon.get("\(path)/image?targetSize=60x60&v=\(version)").status == 404)
    #expect(try daemon.get("\(path)/image?targetSize=60x60&v=\(newer)").status == 200)
    #expect(try found(daemon, "dahl") == 1 && found(daemon, "anna") == 0)
    // The same again changes nothing, and the file's own regions do not come back with a scan.
    let revision = after["revision"] as? String
    #expect(try set(cat) == 200)
    #expect(try daemon.get(path).json["revision"] as? String == revision)
    try daemon.requestScan()
    #expect(try daemon.get(path).json["contentVersion"] as? String == newer)
    #expect(try set("[]") == 200)
    #expect((try daemon.get(path).json["regions"] as? [Object])?.isEmpty == true)
    #expect(try found(daemon, "dahl") == 0)
    for wrong in [
      "1", "[1]", "[{}]", #"[{"type": "hat", "rect": [0,0,1,1]}]"#, #"[{"type": "face"}]"#,
      #"[{"type": "face", "rect": [0, 0, 1]}]"#, #"[{"type": "face", "rect": [0.5, 0, 0.6, 1]}]"#,
      #"[{"type": "face", "rect": [0, 0, -0.1, 1]}]"#, #"[{"type": "face", "rect": [0, 0, 1, 1], "name": ""}]"#,
      #"[{"type": "face", "rect": [0, 0, 1, 1], "hat": 1}]"#,
      "[" + Array(repeating: #"{"type": "face", "rect": [0, 0, 1, 1]}"#, count: 101).joined(separator: ",") + "]",
    ] {
      #expect(try set(wrong) == 400, "\(wrong.prefix(60))")
    }
  }
}
