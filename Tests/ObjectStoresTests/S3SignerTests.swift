import Testing

@testable import ObjectStores

/// The worked examples of "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk"
/// in the API reference of Amazon S3: all are of 24 May 2013, 00:00 UTC, and the same key.
@Suite struct S3SignerTests {
  private static let credentials = S3Credentials(
    accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
  private static let time: Int64 = 1_369_353_600

  private func authorization(
    _ method: TransferRequest.Method, _ path: String, query: [(name: String, value: String)] = [],
    _ fields: [(name: String, value: String)] = [], body: String = "", token: String? = nil
  ) throws -> String {
    var address = try required(RemoteAddress("https://examplebucket.s3.amazonaws.com"))
    address.path = path
    address.query = S3Signer.query(query)
    let credentials = S3Credentials(
      accessKeyID: Self.credentials.accessKeyID, secretAccessKey: Self.credentials.secretAccessKey, sessionToken: token)
    let signed = S3Signer(credentials: credentials, region: "us-east-1").sign(
      method, address, fields, payloadHash: S3Signer.payloadHash(Array(body.utf8)), time: Self.time)
    return try required(signed.first { $0.name == "Authorization" }?.value)
  }

  private func expected(_ names: String, _ signature: String) -> String {
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=\(names),"
      + "Signature=\(signature)"
  }

  @Test func `GET Object`() throws {
    #expect(
      try authorization(.get, "/test.txt", [("Range", "bytes=0-9")])
        == expected(
          "host;range;x-amz-content-sha256;x-amz-date",
          "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"))
  }

  @Test func `PUT Object`() throws {
    let path = "/" + PercentEncoding.encode("test$file.text".utf8, keepsSlashes: true)
    let fields = [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")]
    #expect(
      try authorization(.put, path, fields, body: "Welcome to Amazon S3.")
        == expected(
          "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
          "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
  }

  @Test func `GET Bucket Lifecycle`() throws {
    #expect(
      try authorization(.get, "/", query: [("lifecycle", "")])
        == expected(
          "host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
  }

  @Test func `GET Bucket (List Objects)`() throws {
    #expect(
      try authorization(.get, "/", query: [("prefix", "J"), ("max-keys", "2")])
        == expected(
          "host;x-amz-content-sha256;x-amz-date", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
  }

  @Test func `A session token is signed, and a field that proxies change is not`() throws {
    let text = try authorization(.get, "/a", [("Accept-Encoding", "identity"), ("If-Match", "\"a\"")], token: "token")
    #expect(text.contains("SignedHeaders=host;if-match;x-amz-content-sha256;x-amz-date;x-amz-security-token,"))
  }

  @Test func `Credentials show themselves nowhere`() {
    let credentials = S3Credentials(accessKeyID: "AKIAEXAMPLE", secretAccessKey: "hush", sessionToken: "quiet")
    var dumped = ""
    dump(credentials, to: &dumped)
    dump(S3Signer(credentials: credentials, region: "a"), to: &dumped)
    for text in [
      dumped, "\(credentials)", String(reflecting: credentials), "\(S3Signer(credentials: credentials, region: "a"))",
    ] {
      #expect(!text.contains("hush") && !text.contains("quiet") && !text.contains("AKIA"))
    }
  }
}
