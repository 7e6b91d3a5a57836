import Cryptography
import Foundation
import Testing

@Suite("Digests of uploads", .blocking)
struct UploadDigestTests {
  /// `Content-Digest` of bytes, after another algorithm.
  private static func digest(_ bytes: [UInt8], _ name: String = "Content-Digest") -> String {
    "\(name): sha-512=:AAAA:, sha-256=:\(Data(Digest.sha256(bytes)).base64EncodedString()):"
  }

  @Test("a body that does not match its digest is refused, and nothing of it is kept")
  func digests() throws {
    let daemon = try TestDaemon()
    let picture = UploadTests.picture(6, size: 200_000)
    let (right, wrong) = (Self.digest(picture), Self.digest([1]))
    func isMismatch(_ answer: TestDaemon.Response) -> Bool {
      answer.status == 400 && answer.json["type"] as? String == "/problems/digest-mismatch"
    }
    #expect(isMismatch(try daemon.upload(picture, "?filename=a.jpg", [wrong])))
    #expect(isMismatch(try daemon.upload(picture, "?filename=a.jpg", [Self.digest([1], "Repr-Digest")])))
    for field in ["sha-256", "sha-256=:AAAA:", "sha-256=\"x\"", "sha-512=:AAAA:,"] {
      let malformed = try daemon.upload(picture, "?filename=a.jpg", ["Content-Digest: \(field)"])
      #expect(malformed.status == 400 && malformed.json["parameter"] as? String == "Content-Digest", "\(field)")
    }
    // The last of several members counts, in two fields or in one.
    let value = right.split(separator: " ", maxSplits: 1)[1]
    let both = "\(wrong), \(value)"
    #expect(isMismatch(try daemon.upload(picture, "?filename=a.jpg", [right, wrong])))
    #expect(isMismatch(try daemon.upload(picture, "?filename=a.jpg", [both, wrong])))
    #expect(TestDaemon.files(in: daemon.library).isEmpty)
    let whole = Self.digest(picture, "Repr-Digest")
    #expect(try daemon.upload(picture, "?filename=a.jpg", [right, whole]).status == 201)
    #expect(try daemon.upload(picture, "?filename=a.jpg", [wrong, right]).status == 200)
    #expect(try daemon.upload(picture, "?filename=a.jpg", [both]).status == 200)

    let made = try daemon.stage(picture, "?filename=b.jpg", ["Upload-Complete: ?1", wrong])
    let location = try #require(made["Location"])
    #expect(isMismatch(made) && made["Upload-Offset"] == "0")
    let start = Array(picture[..<1000])
    #expect(try daemon.append(start, to: location, at: 0, [Self.digest(start)])["Upload-Offset"] == "1000")
    let rest = Array(picture[1000...])
    let refused = try daemon.append(rest, to: location, at: 1000, ["Upload-Complete: ?1", wrong])
    #expect(isMismatch(refused) && refused["Upload-Offset"] == "1000")
    #expect(try daemon.offset(location) == 1000)
    let last = try daemon.append(rest, to: location, at: 1000, ["Upload-Complete: ?1", Self.digest(rest)])
    #expect(last.status == 204 && last["Upload-Complete"] == "?1")
    let asset = try daemon.post("/v1/assets", #"{"upload": "\#(location.split(separator: "/").last ?? "")"}"#)
    #expect(asset.status == 200, "the same content as the first: \(asset.json)")
  }

  @Test("a form that does not match its digest is refused, and none of its files is stored")
  func formDigests() throws {
    let daemon = try TestDaemon(arguments: ["--set", "upload.filesPerRequest=2"])
    let type = "multipart/form-data; boundary=xyz"
    let names = ["a.jpg", "b.jpg", "c.jpg"]
    let form = TestDaemon.form(names.enumerated().map { ($1, UploadTests.picture($0)) })
    let refused = try daemon.upload(form, type: type, [Self.digest([1])])
    #expect(refused.status == 400 && refused.json["type"] as? String == "/problems/digest-mismatch")
    #expect(refused.json["results"] == nil && TestDaemon.files(in: daemon.library).isEmpty)
    // Malformed after two complete files.
    let broken = Array(form.dropLast(9)) + Array("--xyy--\r\n".utf8)
    let malformed = try daemon.upload(broken, type: type, [Self.digest(broken)])
    #expect(malformed.status == 400 && malformed.json["type"] as? String == "/problems/malformed-request")
    #expect(malformed.json["results"] == nil && TestDaemon.files(in: daemon.library).isEmpty)
    #expect(try daemon.get("/v1/assets?count=true").json["count"] as? Int == 0)
    let stored = try daemon.upload(form, type: type, [Self.digest(form), Self.digest(form, "Repr-Digest")])
    let results = try #require(stored.json["results"] as? [[String: Any]])
    #expect(stored.status == 201 && results.compactMap { $0["filename"] as? String } == names)
    #expect(results.map { $0["status"] as? Int } == [201, 201, 413], "the third one is over the limit")
  }
}
