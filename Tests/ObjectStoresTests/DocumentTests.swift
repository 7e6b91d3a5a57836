import Foundation
import Testing

@testable import ObjectStores

@Suite struct DocumentTests {
  private func list(_ inside: String) -> S3List? {
    S3List(Array("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"a\">\(inside)</ListBucketResult>".utf8))
  }

  @Test func `A list has keys, sizes, entity tags, times and a token`() throws {
    let found = try required(
      list(
        """
        <IsTruncated>true</IsTruncated><NextContinuationToken>a+/=</NextContinuationToken>
        <Contents><Key>a%20b%2Bc+d</Key><LastModified>2013-05-24T00:00:01.000Z</LastModified><ETag>&quot;x&quot;</ETag>
        <Size>12</Size><Owner><ID>1</ID></Owner></Contents><Contents><Key>b</Key></Contents>
        """))
    #expect(found.isTruncated)
    #expect(found.token == Array("a+/=".utf8))
    #expect(found.entries.map(\.key) == [Array("a b+c d".utf8), Array("b".utf8)])
    #expect(found.entries[0].size == 12)
    #expect(found.entries[0].entityTag == "\"x\"")
    #expect(found.entries[0].modified == 1_369_353_601)
    #expect(found.entries[1].size == nil)
  }

  @Test(arguments: [
    ("nothing", ""), ("HTML", "<html><body>Log in</body></html>"), ("not complete", "<ListBucketResult>"),
    ("cut off without a token", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
    ("an error", "<Error><Code>SlowDown</Code></Error>"),
    ("a document type", "<!DOCTYPE a [<!ENTITY b \"c\">]><ListBucketResult></ListBucketResult>"),
    (
      "too deep",
      "<ListBucketResult>" + String(repeating: "<a>", count: 9) + String(repeating: "</a>", count: 9)
        + "</ListBucketResult>"
    ),
    ("a long text", "<ListBucketResult><a>" + String(repeating: "b", count: 9000) + "</a></ListBucketResult>"),
    ("a wrong key", "<ListBucketResult><Contents><Key>a%2</Key></Contents></ListBucketResult>"),
  ]) func `What is no list is refused`(_ name: String, _ text: String) {
    #expect(S3List(Array(text.utf8)) == nil, "\(name)")
  }

  @Test func `No beginning of a list is a list`() {
    let whole = Array("<ListBucketResult><Contents><Key>a%20b</Key><Size>1</Size></Contents></ListBucketResult>".utf8)
    #expect(S3List(whole) != nil)
    for count in 0..<whole.count { #expect(S3List(Array(whole[..<count])) == nil, "\(count)") }
  }

  @Test func `The code of an error is read even if its end is missing`() {
    #expect(S3ErrorCode.read(Array("<Error><Code>SlowDown</Code><Message>Please".utf8)) == "SlowDown")
    #expect(S3ErrorCode.read(Array("<html>".utf8)) == nil)
  }

  @Test func `A manifest is sorted, and rows that are no object are skipped`() throws {
    let text = """
      [{"path": "b.jpg", "size": 2, "etag": "x"}, {"path": "a/é.jpg", "size": 0, "etag": "\\"y\\""},
       {"path": "../c", "size": 1, "etag": "z"}, {"path": "d", "size": -1, "etag": "z"},
       {"path": "e", "size": 1, "etag": "W/\\"z\\""}, {"path": "b.jpg", "size": 3, "etag": "w"},
       {"path": ".hidden/a", "size": 1, "etag": "z"}]
      """
    let page = try Manifest.page(Array(text.utf8))
    #expect(page.entries.map(\.key) == ["a/é.jpg", "b.jpg"])
    #expect(page.entries.map(\.identity.size) == [0, 2])
    #expect(page.entries[1].identity.version == .entityTag("\"x\""))
    #expect(page.skipped == 4)
    // Those with a bad size or a weak entity tag are there.
    #expect(page.unidentified == ["d", "e"])
    #expect(page.next == nil)
  }

  @Test(arguments: [
    #""path": "q.jpg""#, #""path": "q.jpg", "size": 5"#, #""path": "q.jpg", "etag": "x""#,
    #""path": "q.jpg", "size": null, "etag": "x""#, #""path": "q.jpg", "size": 5, "etag": null"#,
    #""path": "q.jpg", "size": 5.5, "etag": "x""#, #""path": "q.jpg", "size": 1e30, "etag": "x""#,
    #""path": "q.jpg", "size": 9223372036854775808, "etag": "x""#, #""path": "q.jpg", "size": "5", "etag": "x""#,
    #""path": "q.jpg", "size": 5, "etag": 7"#, #""path": "q.jpg", "size": [5], "etag": {"a": "x"}"#,
  ]) func `A row without a usable size or entity tag names its object, and the other rows are read`(
    _ members: String
  ) throws {
    let text = #"[{"path": "a.jpg", "size": 1, "etag": "x"}, {\#(members)}, {"path": "z.jpg", "size": 2, "etag": "y"}]"#
    let page = try Manifest.page(Array(text.utf8))
    #expect(page.entries.map(\.key) == ["a.jpg", "z.jpg"])
    #expect(page.unidentified == ["q.jpg"] && page.skipped == 1)
  }

  @Test(arguments: ["", "{}", "[{}]", "[{\"path\": 1}]", "<html>", "[{\"size\": 1, \"etag\": \"x\"}]"])
  func `What is no manifest is refused`(_ text: String) {
    #expect(throws: ObjectStoreError.malformed(.unreadableDocument)) { try Manifest.page(Array(text.utf8)) }
  }

  @Test func `A checksum is read from Repr-Digest`() {
    let digest = "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):"
    #expect(ReprDigest.sha256(digest) == Array(repeating: 7, count: 32))
    #expect(ReprDigest.sha256("sha-512=:AAAA:, \(digest)") == Array(repeating: 7, count: 32))
    #expect(ReprDigest.sha256("sha-256=:AAAA:") == nil)
    #expect(ReprDigest.sha256(nil) == nil)
  }

  @Test(
    arguments: [
      ("Fri, 24 May 2013 00:00:01 GMT", 1_369_353_601), ("Fri, 24 May 2013 00:00:01 CET", nil), ("yesterday", nil),
      ("Fri, 24 Foo 2013 00:00:01 GMT", nil), ("Fri, 24 May 2013 25:00:01 GMT", nil),
    ] as [(String, Int64?)]) func `Dates of HTTP are read`(_ text: String, _ seconds: Int64?)
  {
    #expect(HTTPTime.seconds(text) == seconds)
  }

  @Test func `Credentials come from the environment or a private file`() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("credentials-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    func write(_ text: String, mode: Int = 0o600) throws {
      try Data(text.utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }
    let text = """
      # AWS's form
      [other]
      aws_access_key_id = wrong
      [default]
      aws_access_key_id = AKIA
      aws_secret_access_key=a/b+c=
      aws_session_token = t
      """
    try write(text)
    let found = try S3Credentials(file: file.path)
    #expect((found.accessKeyID, found.secretAccessKey, found.sessionToken ?? "") == ("AKIA", "a/b+c=", "t"))
    try write(text, mode: 0o644)
    #expect(throws: S3Credentials.Problem.readableByOthers) { try S3Credentials(file: file.path) }
    #expect(throws: S3Credentials.Problem.unreadable) { try S3Credentials(file: file.path + "x") }
    #expect(throws: S3Credentials.Problem.missing) { try S3Credentials(environment: ["AWS_ACCESS_KEY_ID": ""]) }
    #expect(throws: S3Credentials.Problem.incomplete) { try S3Credentials(environment: ["AWS_ACCESS_KEY_ID": "a"]) }
    #expect(throws: S3Credentials.Problem.malformed) {
      try S3Credentials(environment: ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b\r\nX: y"])
    }
  }

  @Test(
    arguments: [
      ("photos", "", "https://e.org", true, "https://e.org/photos"),
      ("photos", "", "https://e.org:9000/s3/", true, "https://e.org:9000/s3/photos"),
      ("photos", "", "https://e.org", false, "https://photos.e.org/"),
      ("photos", "", nil, false, "https://photos.s3.eu-west-1.amazonaws.com/"),
      ("photos", "", "http://10.0.0.1", false, nil), ("Photos", "", nil, true, nil), ("a/b", "", nil, true, nil),
      ("..", "", nil, true, nil), ("photos", "a/../b", nil, true, nil),
      ("photos", "/a//b/", "https://e.org", true, "https://e.org/photos"),
    ] as [(String, String, String?, Bool, String?)]) func `A bucket has an address in either style`(
      _ name: String, _ prefix: String, _ endpoint: String?, _ usesPathStyle: Bool, _ address: String?
    )
  {
    let bucket = S3Bucket(
      name: name, prefix: prefix, region: "eu-west-1", endpoint: endpoint, usesPathStyle: usesPathStyle)
    #expect(bucket.map { $0.address.text + ($0.address.path.isEmpty ? "/" : "") } == address)
  }
}
