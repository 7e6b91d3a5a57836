import Foundation
import PhotoFixtures
import Testing

/// Edits that other programs left in files and beside them, as the adjustments of assets.
@Suite("Imported edits", .blocking)
struct ImportedEditTests {
  private static let scene = Scene(seed: 6, grain: 4).pixels(width: 640, height: 480)

  private static func cameraRaw(_ attributes: String) -> String {
    """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description rdf:about="" xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/"
      xmlns:tiff="http://ns.adobe.com/tiff/1.0/" crs:Version="15.0" \(attributes)/>
    </rdf:RDF></x:xmpmeta>
    """
  }

  private static let half =
    #"crs:HasCrop="True" crs:CropLeft="0" crs:CropTop="0" crs:CropRight="0.5" crs:CropBottom="1" crs:CropAngle="0""#
  /// The lower half of the stored picture.
  private static let aae = AdjustmentSidecar {
    $0.adjustments = [
      AdjustmentSidecar.crop(x: 0, y: 0, width: 640, height: 240), AdjustmentSidecar.orientation(6),
      #"{"identifier":"SmartTone","enabled":true,"settings":{}}"#,
    ]
  }.encoded

  private static func picture(_ xmp: String? = nil, orientation: Int? = nil) -> [UInt8] {
    JPEGFile {
      $0.quality = 95
      if let orientation { $0.exif = EXIFBlock { $0.orientation = orientation } }
      if let xmp { $0.segments = [.xmp(xmp)] }
    }.encoded(scene)
  }

  private static func scan(_ folders: TestDaemon.Folders, _ arguments: [String] = []) throws {
    try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.data] + arguments)
  }

  private static func size(_ asset: String, _ daemon: TestDaemon) throws -> [Int] {
    let facts = try daemon.get(asset).json
    return [facts["pixelWidth"] as? Int ?? 0, facts["pixelHeight"] as? Int ?? 0]
  }

  @Test("a crop in a picture's own XMP is its current version, and nothing is lost")
  func embedded() throws {
    let file = Self.picture(Self.cameraRaw(Self.half + #" crs:Exposure2012="1""#))
    let daemon = try TestDaemon { try $0.put(file, "IMG_1.jpg") }
    let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))"
    #expect(try Self.size(asset, daemon) == [320, 480])
    let facts = try daemon.get(asset).json
    #expect(facts["hasAdjustments"] as? Bool == true && facts["unadjustedPixelWidth"] as? Int == 640)
    let adjustments = try daemon.get(asset + "/adjustments").json
    #expect(adjustments["source"] as? String == "imported" && adjustments["data"] == nil)
    #expect(adjustments["formatIdentifier"] as? String == "http://ns.adobe.com/camera-raw-settings/1.0/")
    #expect(adjustments["unrendered"] as? [String] == ["crs:Exposure2012"])
    let current = try #require(Pixels.decoded(daemon.get(asset + "/image?targetSize=max&format=png").body)).pixels
    let expected = Self.scene.cropped(x: 0, y: 0, width: 320, height: 480)
    #expect(try #require(current.channels(3).meanDifference(from: expected)) < 4)
    for version in ["unadjusted", "original"] {
      let whole = try daemon.get(asset + "/image?targetSize=max&format=png&version=\(version)")
      #expect(Pixels.decoded(whole.body)?.pixels.width == 640)
      #expect(try daemon.get(asset + "/data?version=\(version)").body == file)
    }
  }

  @Test("Apple's sidecar: crop and turn are rendered, the rest is named, and the file is served byte for byte")
  func appleSidecar() throws {
    let daemon = try TestDaemon {
      try $0.put(Self.picture(Self.cameraRaw(Self.half)), "IMG_1.jpg")
      try $0.put(Self.aae, "IMG_1.AAE")
    }
    let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))"
    // It wins over the XMP in the file.
    #expect(try Self.size(asset, daemon) == [240, 640])
    let adjustments = try daemon.get(asset + "/adjustments").json
    #expect(adjustments["formatIdentifier"] as? String == "com.apple.photo")
    #expect(adjustments["unrendered"] as? [String] == ["SmartTone"])
    let turned = try #require(Pixels.decoded(daemon.get(asset + "/image?targetSize=max&format=png").body)).pixels
    let expected = Self.scene.cropped(x: 0, y: 240, width: 640, height: 240).mapped(width: 240, height: 640) {
      ($1, 239 - $0)
    }
    #expect(try #require(turned.channels(3).meanDifference(from: expected)) < 4)
    let resources = try #require(daemon.get(asset + "/resources").json["resources"] as? [[String: Any]])
    #expect(
      resources.map { "\($0["type"] ?? "") \($0["filename"] ?? "")" } == [
        "photo IMG_1.jpg", "adjustmentData IMG_1.AAE", "fullSizePhoto IMG_1.jpg", "adjustmentBasePhoto IMG_1.jpg",
      ])
    #expect(try daemon.get(asset + "/resources/adjustmentData/data").body == Self.aae)
  }

  @Test("a user's adjustments win, and a rescan keeps them; reverting stays reverted")
  func userWins() throws {
    let folders = try TestDaemon.Folders()
    let files = TestDaemon.Files(root: folders.library)
    try files.put(Self.picture(), "IMG_1.jpg")
    try files.put(Self.aae, "IMG_1.AAE")
    try Self.scan(folders)
    let (asset, version) = try {
      let daemon = try TestDaemon(serving: folders)
      let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))"
      let version = try daemon.get(asset).json["contentVersion"] as? String
      let answer = try daemon.post(
        asset + "/adjustments", #"{"operations": [{"type": "flip", "axis": "vertical"}]}"#, method: "PUT")
      #expect(answer.status == 200 && answer.json["source"] as? String == "user")
      let imported = answer.json["imported"] as? [String: Any]
      #expect(imported?["formatIdentifier"] as? String == "com.apple.photo")
      #expect((imported?["operations"] as? [Any])?.count == 2 && imported?["unrendered"] as? [String] == ["SmartTone"])
      return (asset, version)
    }()
    // The sidecar changes, and so does the picture.
    let other = AdjustmentSidecar { $0.adjustments = [AdjustmentSidecar.orientation(3)] }.encoded
    try files.put(other, "IMG_1.AAE")
    try Self.scan(folders)
    let daemon = try TestDaemon(serving: folders)
    #expect(try Self.size(asset, daemon) == [640, 480])
    let operations = try daemon.get(asset + "/adjustments").json["operations"] as? [[String: Any]]
    #expect(operations?.compactMap { $0["type"] as? String } == ["flip"])
    #expect(try daemon.get(asset).json["contentVersion"] as? String != version)
    #expect(try daemon.get(asset + "/adjustments", method: "DELETE").status == 204)
    try daemon.requestScan()
    try files.put(Self.picture(), "IMG_2.jpg")
    try daemon.requestScan()
    try daemon.until("the scan has ended") {
      (try daemon.get("/v1/assets").json["assets"] as? [Any])?.count == 2
    }
    #expect(try daemon.get(asset).json["hasAdjustments"] as? Bool == false)
  }

  @Test("a sidecar that comes, changes, moves or goes changes the picture beside it")
  func sidecarChanges() throws {
    let folders = try TestDaemon.Folders()
    let files = TestDaemon.Files(root: folders.library)
    try files.put(Self.picture(orientation: 6), "a/IMG_1.jpg")
    try Self.scan(folders)
    func sizes(_ arguments: [String] = []) throws -> [Int] {
      try Self.scan(folders, arguments)
      let daemon = try TestDaemon(serving: folders, arguments: arguments)
      return try Self.size("/v1/assets/\(try daemon.identifier("a/IMG_1.jpg"))", daemon)
    }
    #expect(try sizes() == [480, 640])
    // The left half of the stored picture is the upper half of the upright one.
    try files.put(Array(Self.cameraRaw(Self.half).utf8), "a/IMG_1.jpg.xmp")
    #expect(try sizes() == [480, 320])
    try files.put(Array(Self.cameraRaw(Self.half + #" tiff:Orientation="1""#).utf8), "a/IMG_1.jpg.xmp")
    #expect(try sizes() == [320, 480])
    try FileManager.default.moveItem(
      atPath: folders.library + "/a/IMG_1.jpg.xmp", toPath: folders.library + "/a/IMG_9.xmp")
    #expect(try sizes() == [480, 640])
    try FileManager.default.moveItem(atPath: folders.library + "/a/IMG_9.xmp", toPath: folders.library + "/a/IMG_1.xmp")
    #expect(try sizes() == [320, 480])
    try FileManager.default.removeItem(atPath: folders.library + "/a/IMG_1.xmp")
    #expect(try sizes() == [480, 640])
    // A scan indexes the temporary file of a copy.
    try files.put(Array(Self.cameraRaw(Self.half).utf8), "a/IMG_1.xmp.part")
    #expect(try sizes() == [480, 640])
    try FileManager.default.moveItem(
      atPath: folders.library + "/a/IMG_1.xmp.part", toPath: folders.library + "/a/IMG_1.xmp")
    #expect(try sizes() == [480, 320])
  }

  @Test("tones are imported only if the setting says so, and a change of it applies at once")
  func tones() throws {
    let folders = try TestDaemon.Folders()
    let files = TestDaemon.Files(root: folders.library)
    try files.put(Self.picture(Self.cameraRaw(#"crs:Exposure2012="+1.00" crs:Saturation="-100""#)), "IMG_1.jpg")
    try Self.scan(folders)
    func operations(_ arguments: [String]) throws -> [String]? {
      let daemon = try TestDaemon(serving: folders, arguments: arguments)
      let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))"
      let list = try daemon.get(asset + "/adjustments").json["operations"] as? [[String: Any]]
      return list?.compactMap { $0["type"] as? String }
    }
    #expect(try operations([]) == nil, "an edit of which nothing is rendered is none")
    #expect(try operations(["--set", "scan.importsTones=true"]) == ["exposure", "saturation"])
    #expect(try operations([]) == nil)
  }

  @Test("data of another program stay beside new operations if the client asks for that")
  func includeUnknown() throws {
    let daemon = try TestDaemon { try $0.put(Self.picture(), "IMG_1.jpg") }
    let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))/adjustments"
    let foreign = #"{"formatIdentifier": "com.example.editor", "formatVersion": "3", "data": "AAEC/w=="}"#
    #expect(try daemon.post(asset, foreign, method: "PUT").status == 200)
    let kept = try daemon.post(
      asset, #"{"operations": [{"type": "exposure", "ev": 1}], "includeUnknown": true}"#, method: "PUT")
    #expect(kept.status == 200 && kept.json["data"] as? String == "AAEC/w==")
    #expect(kept.json["formatIdentifier"] as? String == "com.example.editor")
    #expect((kept.json["operations"] as? [Any])?.count == 1)
    let replaced = try daemon.post(asset, #"{"operations": [{"type": "exposure", "ev": 1}]}"#, method: "PUT")
    #expect(replaced.json["data"] == nil && replaced.json["formatIdentifier"] as? String == "photod.adjustments")
    let both = foreign.replacing("}", with: #", "includeUnknown": true}"#)
    #expect(try daemon.post(asset, both, method: "PUT").status == 400)
  }

  @Test("the trash keeps an imported edit")
  func trash() throws {
    let daemon = try TestDaemon { try $0.put(Self.picture(Self.cameraRaw(Self.half)), "IMG_1.jpg") }
    let identifier = try daemon.identifier("IMG_1.jpg")
    for type in ["deleteAsset", "restoreAsset"] {
      let list = try daemon.post("/v1/changes", #"{"changes": [{"type": "\#(type)", "asset": "\#(identifier)"}]}"#)
      #expect(list.status == 200, "\(list.json)")
    }
    #expect(try Self.size("/v1/assets/\(identifier)", daemon) == [320, 480])
    #expect(try daemon.get("/v1/assets/\(identifier)/adjustments").json["source"] as? String == "imported")
  }
}
