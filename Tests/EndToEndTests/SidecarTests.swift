import Foundation
import PhotoFixtures
import Testing

/// Files beside a picture that describe it: XMP and Apple's adjustment data.
@Suite("Sidecars", .blocking)
struct SidecarTests {
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))
  private static let place = "41,17.54898S"
  private static let xmp = """
    <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description rdf:about="" xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
      exif:GPSLatitude="\(place)" exif:GPSLongitude="174,46.69068E" xmp:Label="kept"/>
    </rdf:RDF></x:xmpmeta>
    <?xpacket end="w"?>
    """
  private static let adjustments = """
    <?xml version="1.0" encoding="UTF-8"?>
    <plist version="1.0"><dict><key>adjustmentFormatVersion</key><string>1.5</string></dict></plist>
    """

  private static let shared: TestDaemon = {
    do {
      return try TestDaemon {
        try $0.put(picture, "a/IMG_1.jpg")
        try $0.put(Array(xmp.utf8), "a/IMG_1.jpg.xmp")
        try $0.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 80, height: 48)), "a/IMG_2.jpg")
        try $0.put(Array(xmp.utf8), "a/IMG_2.XMP")
        try $0.put(Array(adjustments.utf8), "a/IMG_2.AAE")
        try $0.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 96, height: 48)), "b/IMG_2.jpg")
        try $0.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 104, height: 48)), "b/IMG_1234.jpg")
        try $0.put(Array(adjustments.utf8), "b/IMG_O1234.AAE")
        try $0.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 112, height: 48)), "b/other.jpg")
        try $0.put(Array("Latitude 41.3, in no property list".utf8), "b/other.aae")
        try $0.put([0xFF, 0xD8, 0xFF] + Array(place.utf8), "b/other.xmp")
      }
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  private static func asset(_ name: String) throws -> String { "/v1/assets/\(try shared.identifier(name))" }

  @Test(
    "sidecars are the files of the same name in the same folder",
    arguments: [
      ("a/IMG_1.jpg", ["photo IMG_1.jpg", "sidecar IMG_1.jpg.xmp"]),
      ("a/IMG_2.jpg", ["photo IMG_2.jpg", "sidecar IMG_2.XMP", "adjustmentData IMG_2.AAE"]),
      ("b/IMG_2.jpg", ["photo IMG_2.jpg"]),
      ("b/IMG_1234.jpg", ["photo IMG_1234.jpg", "adjustmentData IMG_O1234.AAE"]),
    ])
  func listed(_ name: String, _ expected: [String]) throws {
    let list = try #require(try Self.shared.get(Self.asset(name) + "/resources").json["resources"] as? [[String: Any]])
    let found = list.map { "\($0["type"] as? String ?? "") \($0["filename"] as? String ?? "")" }
    #expect(found == expected)
  }

  @Test("each file in the list has an address, also beside a user's adjustments, and the size that is downloaded")
  func indexes() throws {
    let daemon = try TestDaemon {
      try $0.put(Self.picture, "a.jpg")
      try $0.put(Array(Self.xmp.utf8), "a.jpg.xmp")
      try $0.put(Array((Self.xmp + "\n").utf8), "a.xmp")
      try $0.put(Array(Self.adjustments.utf8), "a.aae")
    }
    let asset = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    let edit = try daemon.post(
      asset + "/adjustments", #"{"operations": [{"type": "exposure", "ev": 1}]}"#, method: "PUT")
    #expect(edit.status == 200, "\(edit.json)")
    let list = try #require(daemon.get(asset + "/resources").json["resources"] as? [[String: Any]])
    let found = list.map { "\($0["type"] as? String ?? "") \($0["filename"] as? String ?? "")" }
    #expect(
      found == [
        "photo a.jpg", "sidecar a.jpg.xmp", "sidecar a.xmp", "adjustmentData Adjustments.data",
        "adjustmentData a.aae", "fullSizePhoto a.jpg", "adjustmentBasePhoto a.jpg",
      ])
    var counts: [String: Int] = [:]
    for resource in list {
      let type = try #require(resource["type"] as? String)
      let answer = try daemon.get(asset + "/resources/\(type)/data?index=\(counts[type, default: 0])")
      counts[type, default: 0] += 1
      #expect(answer.status == 200, "\(resource)")
      guard let size = resource["size"] as? Int, let name = resource["filename"] as? String else { continue }
      #expect(answer.body.count == size && answer["Content-Disposition"]?.contains(name) == true, "\(resource)")
    }
    for (type, count) in counts {
      let answer = try daemon.get(asset + "/resources/\(type)/data?index=\(count)")
      #expect(answer.status == 404 && answer.json["parameter"] as? String == "index", "\(type)")
    }
    let invalid = try daemon.get(asset + "/resources/sidecar/data?index=x")
    #expect(invalid.status == 400 && invalid.json["parameter"] as? String == "index")
  }

  @Test("the places of an XMP sidecar are removed unless they are asked for; the rest stays")
  func places() throws {
    let target = try Self.asset("a/IMG_1.jpg") + "/resources/sidecar/data"
    let whole = try Self.shared.get(target + "?includeLocation=true")
    #expect(whole.status == 200 && String(decoding: whole.body, as: UTF8.self) == Self.xmp)
    let removed = try Self.shared.get(target)
    let text = String(decoding: removed.body, as: UTF8.self)
    #expect(removed.status == 200 && removed["Content-Type"] == "application/rdf+xml")
    #expect(!text.contains(Self.place) && text.contains("xmp:Label=\"kept\"") && text.utf8.count == Self.xmp.utf8.count)
    #expect(removed["ETag"] != whole["ETag"])
    // A file that is no XMP is served without its content.
    let other = try Self.shared.get(Self.asset("b/other.jpg") + "/resources/sidecar/data")
    #expect(other.status == 200 && other.body.allSatisfy { $0 == UInt8(ascii: " ") })
  }

  @Test("places are removed from a sidecar that was written in place and got its old time back")
  func writtenInPlace() throws {
    let daemon = try TestDaemon {
      try $0.put(Self.picture, "a.jpg")
      try $0.put(Array(Self.xmp.utf8), "a.xmp")
    }
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/resources/sidecar/data"
    func text() throws -> String { String(decoding: try daemon.get(target).body, as: UTF8.self) }
    #expect(try !text().contains(Self.place))
    // The place is at other bytes of a file of the same size.
    let label = " xmp:Label=\"kept\""
    let changed = Self.xmp.replacing(label, with: "").replacing(" exif:GPSLatitude", with: label + " exif:GPSLatitude")
    let bytes = Array(changed.utf8)
    #expect(bytes.count == Self.xmp.utf8.count && changed != Self.xmp)
    try daemon.rewrite("a.xmp", bytes)
    let after = try text()
    #expect(!after.contains(Self.place) && after.contains("kept"))
  }

  @Test("a sidecar that was written in place and got its old time back has another entity tag after a scan")
  func tagOfWrittenInPlace() throws {
    // The change is between the first and the last bytes, which the fingerprint covers.
    let xmp = Self.xmp.replacing("kept", with: "kept" + String(repeating: "-", count: 20_000))
    let middle = try #require(Array(xmp.utf8).firstRange(of: Array("kept".utf8))).lowerBound + 10_000
    let daemon = try TestDaemon {
      try $0.put(Self.picture, "a.jpg")
      try $0.put(Array(xmp.utf8), "a.xmp")
    }
    let asset = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    let target = asset + "/resources/sidecar/data"
    let tag = try #require(try daemon.get(target)["ETag"])
    let picture = try daemon.get(asset + "/data")["ETag"]
    #expect(try daemon.get(target, ["If-None-Match: \(tag)"]).status == 304)
    try daemon.rewrite("a.xmp", Array("changed".utf8), at: middle)
    try daemon.requestScan()
    try daemon.until("the scan has found the change") {
      let answer = try daemon.get(target, ["If-None-Match: \(tag)"])
      return answer.status == 200 && String(decoding: answer.body, as: UTF8.self).contains("-changed-")
    }
    #expect(try daemon.get(asset + "/data")["ETag"] == picture)
  }

  @Test("a sidecar that was written in place and got its old time back has another entity tag before a scan too")
  func tagBeforeScan() throws {
    let daemon = try TestDaemon(unwatched: {
      try $0.put(Self.picture, "a.jpg")
      try $0.put(Array(Self.xmp.utf8), "a.xmp")
    })
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/resources/sidecar/data"
    let tag = try #require(try daemon.get(target)["ETag"])
    #expect(try daemon.get(target, ["If-None-Match: \(tag)"]).status == 304)
    let label = try #require(Array(Self.xmp.utf8).firstRange(of: Array("kept".utf8))).lowerBound
    try daemon.rewrite("a.xmp", Array("left".utf8), at: label)
    let answer = try daemon.get(target, ["If-None-Match: \(tag)"])
    #expect(answer.status == 200 && answer["ETag"] != tag)
    #expect(String(decoding: answer.body, as: UTF8.self).contains("left"))
    let rest = try daemon.get(target, ["Range: bytes=10-", "If-Range: \(tag)"])
    #expect(rest.status == 200 && rest["ETag"] == answer["ETag"])
  }

  @Test("adjustment data are served as they are, unless they hold something else")
  func adjustmentData() throws {
    let answer = try Self.shared.get(Self.asset("a/IMG_2.jpg") + "/resources/adjustmentData/data")
    #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self) == Self.adjustments)
    let refused = try Self.shared.get(Self.asset("b/other.jpg") + "/resources/adjustmentData/data")
    #expect(refused.status == 403 && refused.json["type"] as? String == "/problems/location-scope-needed")
  }

  @Test("a sidecar is not immutable with the version of the pixels, and a changed one is served again")
  func versions() throws {
    let daemon = try TestDaemon {
      try $0.put(Self.picture, "a.jpg")
      try $0.put(Array(Self.xmp.utf8), "a.xmp")
    }
    let asset = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    let version = try #require(try daemon.get(asset).json["contentVersion"] as? String)
    let data = try daemon.get("\(asset)/data?v=\(version)")
    let first = try daemon.get("\(asset)/resources/sidecar/data?v=\(version)")
    #expect(data["Cache-Control"]?.contains("immutable") == true)
    #expect(first.status == 200 && first["Cache-Control"]?.contains("immutable") == false)
    let changed = Self.xmp.replacing("kept", with: "another label")
    try Data(changed.utf8).write(to: URL(filePath: daemon.library + "/a.xmp"))
    try daemon.requestScan()
    try daemon.until("the scan has found the change") {
      let answer = try daemon.get("\(asset)/resources/sidecar/data?includeLocation=true")
      return answer.status == 200 && String(decoding: answer.body, as: UTF8.self) == changed
    }
  }

  @Test("an archive of all resources has the sidecars, as they are served")
  func archived() throws {
    let assets = try ["a/IMG_1.jpg", "a/IMG_2.jpg"].map { try Self.shared.identifier($0) }
    let target = "/v1/archive?assets=\(assets.joined(separator: ","))&resources=all"
    let entries = try ArchiveTests.entries(Self.shared.get(target).body)
    #expect(entries.map(\.name) == ["IMG_1.jpg", "IMG_1.jpg.xmp", "IMG_2.jpg", "IMG_2.XMP", "IMG_2.AAE"])
    let sidecar = try Self.shared.get(Self.asset("a/IMG_1.jpg") + "/resources/sidecar/data").body
    let isEqual = entries[1].bytes == sidecar
    #expect(isEqual)
  }
}
