import Foundation
import PhotoFixtures
import Testing

/// `namesNeedScope`: who is in a picture is hidden from callers without the scope `people`.
@Suite("Names of people", .blocking)
struct NameScopeTests {
  private static let name = "Quaxandra"

  private static let packet = """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description rdf:about="" xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/"
     xmlns:stArea="http://ns.adobe.com/xmp/sType/Area#" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
     xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:mediapro="http://ns.iview-multimedia.com/mediapro/1.0/"
     xmlns:acdsee-rs="http://ns.acdsee.com/regions/" xmlns:prism="http://prismstandard.org/namespaces/basic/2.1/"
     xmlns:getty="http://xmp.gettyimages.com/gift/1.0/" prism:person="\(name)">
    <dc:subject><rdf:Bag><rdf:li>harbour</rdf:li></rdf:Bag></dc:subject>
    <Iptc4xmpExt:PersonInImage><rdf:Bag><rdf:li>\(name)</rdf:li></rdf:Bag></Iptc4xmpExt:PersonInImage>
    <mediapro:People><rdf:Bag><rdf:li>\(name)</rdf:li></rdf:Bag></mediapro:People>
    <getty:Personality><rdf:Bag><rdf:li>\(name)</rdf:li></rdf:Bag></getty:Personality>
    <acdsee-rs:Regions rdf:parseType="Resource"><acdsee-rs:RegionList><rdf:Bag><rdf:li rdf:parseType="Resource">
    <acdsee-rs:Name>\(name)</acdsee-rs:Name></rdf:li></rdf:Bag></acdsee-rs:RegionList></acdsee-rs:Regions>
    <mwg-rs:Regions rdf:parseType="Resource"><mwg-rs:RegionList><rdf:Bag><rdf:li>
    <rdf:Description mwg-rs:Type="Face" mwg-rs:Name="\(name)"><mwg-rs:Area stArea:x="0.5" stArea:y="0.5" stArea:w="0.1"
     stArea:h="0.1" stArea:unit="normalized"/></rdf:Description>
    </rdf:li></rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions></rdf:Description></rdf:RDF></x:xmpmeta>
    """

  private static func daemon(namesNeedScope: Bool) throws -> TestDaemon {
    let gray = Pixels(width: 60, height: 40, channels: 3, bytes: [UInt8](repeating: 128, count: 7200))
    return try TestDaemon(
      { try $0.put(JPEGFile { $0.segments = [.xmp(packet)] }.encoded(gray), "a.jpg") },
      launcher: "PHOTOD_NAMES_NEED_SCOPE=\(namesNeedScope) exec \"$@\"")
  }

  @Test("need the scope people where the library says so, in every resource that has them")
  func scope() throws {
    let daemon = try Self.daemon(namesNeedScope: true)
    let asset = try daemon.identifier("a.jpg")
    let path = "/v1/assets/\(asset)"
    let with = TestDaemon.bearer(try daemon.makeToken("read,people,location,write"))
    let without = TestDaemon.bearer(try daemon.makeToken("read,location,write"))
    func names(_ target: String, _ caller: String) throws -> Bool {
      let answer = try daemon.get(target, [caller])
      try #require(answer.status == 200, "\(target): \(answer.status)")
      return String(decoding: answer.body, as: UTF8.self).contains(Self.name)
    }
    for target in [path, "/v1/assets", "\(path)/metadata"] {
      #expect(try names(target, with), "\(target)")
      #expect(try !names(target, without), "\(target)")
    }
    for (caller, count) in [(with, 1), (without, 0)] {
      let people = (try daemon.get(path, [caller])).json["people"] as? [String]
      #expect(people == [String](repeating: Self.name, count: count))
      let found = try daemon.get("/v1/assets?count=true&search=\(Self.name.lowercased())", [caller])
      #expect(found.json["count"] as? Int == count)
      #expect((try daemon.get("/v1/assets?search=harbour", [caller]).json["assets"] as? [Any])?.count == 1)
    }
    // Whole files hold names; what is sent otherwise has neither names nor places, for every caller.
    let original = try daemon.get("\(path)/data", [without])
    #expect(original.status == 200 && !String(decoding: original.body, as: UTF8.self).contains(Self.name))
    #expect(String(decoding: original.body, as: UTF8.self).contains("harbour"))
    #expect(try names("\(path)/data?includeLocation=true", with))
    let refused = try daemon.get("\(path)/data?includeLocation=true", [without])
    #expect(refused.status == 403 && refused.json["type"] as? String == "/problems/insufficient-scope")
    #expect(try daemon.get("/v1/archive?includeLocation=true&assets=\(asset)", [without]).status == 403)
    #expect(
      try daemon.get("\(path)/data", [without])["ETag"]
        != daemon.get("\(path)/data?includeLocation=true", [with])["ETag"])
    let full = try daemon.get("\(path)/image?preset=fullResolutionImage&format=jpeg", [with])
    #expect(full.status == 200 && !String(decoding: full.body, as: UTF8.self).contains(Self.name))
    // A picture at full size can be the file: its other texts stay, except with a signed URL, which grants a picture.
    let picture = "\(path)/image?targetSize=max&format=jpeg"
    let region = "/iiif/3/\(asset)/full/max/0/default.jpg"
    for (target, caller) in [(picture, with), (picture, without), (region, with), (region, without)] {
      #expect(try !names(target, caller), "\(target)")
      #expect(String(decoding: try daemon.get(target, [caller]).body, as: UTF8.self).contains("harbour"), "\(target)")
    }
    let signed = try daemon.get(CredentialTests.sign(daemon, daemon.makeToken(), picture))
    #expect(signed.status == 200 && !String(decoding: signed.body, as: UTF8.self).contains("harbour"))
    // Setting regions would remove names that the caller can't see.
    let change =
      #"{"changes": [{"type": "updateAsset", "asset": "\#(asset)", "regions": []}]}"#
    #expect(try daemon.post("/v1/changes", change, [without]).status == 403)
    #expect(try daemon.post("/v1/changes", change, [with]).status == 200)
  }

  @Test("are not in the response to an upload, whether the file joins a picture or is one")
  func uploads() throws {
    let daemon = try Self.daemon(namesNeedScope: true)
    let with = TestDaemon.bearer(try daemon.makeToken("read,people,location,write"))
    let without = TestDaemon.bearer(try daemon.makeToken("read,location,write"))
    func picture(width: Int) -> [UInt8] {
      JPEGFile {
        $0.segments = [.xmp(Self.packet)]
        $0.exif = EXIFBlock {
          $0.dateTimeOriginal = "2024:05:06 07:08:09"
          $0.offsetTimeOriginal = "+00:00"
        }
      }.encoded(Pixels.orientationCard(width: width, height: 32))
    }
    func movie(_ ticks: Int) -> [UInt8] {
      MovieFile {
        // 2024-05-06T07:08:09Z, in seconds since 1904.
        $0.created = 3_797_824_089
        $0.duration = ticks
      }.bytes
    }
    let first = try daemon.upload(picture(width: 48), "?filename=IMG_1.jpg", [with])
    #expect(first.status == 201 && first.json["people"] as? [String] == [Self.name], "\(first.json)")
    let second = try daemon.upload(picture(width: 56), "?filename=IMG_2.jpg", [with])
    let staged = try daemon.stage(movie(1200), "?filename=IMG_2.mov", [without, "Upload-Complete: ?1"])
    let upload = try #require(staged.json["upload"] as? String, "\(staged.json)")
    let answers = [
      try daemon.upload(movie(1800), "?filename=IMG_1.mov", type: "video/quicktime", [without]),
      try daemon.post("/v1/assets", #"{"upload": "\#(upload)"}"#, [without]),
      try daemon.upload(picture(width: 64), "?filename=IMG_3.jpg", [without]),
    ]
    for answer in answers {
      #expect(answer.status == 201 && answer.json["people"] as? [String] == [], "\(answer.json)")
      #expect(!String(decoding: answer.body, as: UTF8.self).contains(Self.name))
    }
    let pictures = [first, second].map { $0.json["localIdentifier"] as? String }
    let joined = answers[..<2].map { $0.json["localIdentifier"] as? String }
    #expect(joined == pictures, "they are live photos")
  }

  @Test("are shown to every reader by default")
  func byDefault() throws {
    let daemon = try Self.daemon(namesNeedScope: false)
    let path = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    let caller = TestDaemon.bearer(try daemon.makeToken("read"))
    for target in [path, "\(path)/metadata", "\(path)/data"] {
      #expect(String(decoding: try daemon.get(target, [caller]).body, as: UTF8.self).contains(Self.name), "\(target)")
    }
    let found = try daemon.get("/v1/assets?search=\(Self.name.lowercased())", [caller])
    #expect((found.json["assets"] as? [Any])?.count == 1)
  }

  @Test("an anonymous caller can't sign URLs", arguments: [false, true])
  func anonymousSignature(_ namesNeedScope: Bool) throws {
    let daemon = try TestDaemon(
      { try $0.put(JPEGFile().encoded(Pixels.orientationCard(width: 60, height: 40)), "a.jpg") },
      arguments: ["--allow-anonymous"], launcher: "PHOTOD_NAMES_NEED_SCOPE=\(namesNeedScope) exec \"$@\"")
    let body = #"{"path": "/v1/assets/\#(try daemon.identifier("a.jpg"))/image?targetSize=20x20"}"#
    // A forwarded request does not come from this machine.
    let refused = try daemon.post("/v1/signedURLs", body, ["X-Forwarded-For: 192.0.2.1"])
    #expect(refused.status == 403 && refused.json["type"] as? String == "/problems/forbidden", "\(refused.json)")
    #expect(try daemon.post("/v1/signedURLs", body).status == 201)
  }
}
