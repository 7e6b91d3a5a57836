import Cryptography
import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A form with a digest keeps its files open until all of it has arrived, so the number of such files is limited.
@Suite("Forms with a digest", .blocking)
struct HeldFilesTests {
  /// `UploadLimits.heldFiles`.
  private static let limit = 256
  private static let type = "multipart/form-data; boundary=xyz"

  /// A form of files that are no pictures.
  private static func form(_ count: Int) -> [UInt8] {
    TestDaemon.form((0..<count).map { (name: "\($0).jpg", bytes: Array("no picture".utf8)) })
  }

  private static func digest(_ bytes: [UInt8]) -> String {
    "Content-Digest: sha-256=:\(Data(Digest.sha256(bytes)).base64EncodedString()):"
  }

  @Test("one form has at most as many files; each further one is refused, and without a digest none is")
  func oneForm() throws {
    let daemon = try TestDaemon(arguments: ["--set", "upload.filesPerRequest=1000"])
    let form = Self.form(Self.limit + 2)
    for fields in [[Self.digest(form)], []] {
      let answer = try daemon.upload(form, type: Self.type, fields)
      let results = try #require(answer.json["results"] as? [[String: Any]])
      let statuses = results.map { $0["status"] as? Int ?? 0 }
      #expect(statuses.count == Self.limit + 2 && !statuses[..<Self.limit].contains(413))
      #expect(statuses[Self.limit...].allSatisfy { ($0 == 413) == !fields.isEmpty }, "\(statuses)")
    }
  }

  @Test("all forms together keep at most as many files open; one more gets 503 until they end")
  func allForms() throws {
    let daemon = try TestDaemon(arguments: ["--set", "upload.filesPerRequest=1000"])
    let (many, one) = (Self.form(Self.limit), Self.form(1))
    let socket = try daemon.connection()
    // All files, but not the end of the form.
    let head =
      "POST /v1/assets HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(Self.type)\r\n"
      + "\(Self.digest(many))\r\nContent-Length: \(many.count)\r\n\r\n"
    let bytes = Array(head.utf8) + many.dropLast(2)
    try #require(send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    func isRefused() throws -> Bool {
      let answer = try daemon.upload(one, type: Self.type, [Self.digest(one)])
      guard answer.status == 503 else { return false }
      #expect(answer.json["type"] as? String == "/problems/overloaded" && answer["Retry-After"] != nil)
      return true
    }
    try daemon.until("the files are open") {
      // Where files can't be unnamed, their folder is open too.
      try daemon.openLibraryFiles.count { !$0.hasSuffix("/.photod-uploads") } >= Self.limit
    }
    #expect(try isRefused())
    #expect(try daemon.upload(one, type: Self.type).status != 503, "a form without a digest stores each file at once")
    close(socket)
    try daemon.until("the files are closed") { try !isRefused() }
  }
}
