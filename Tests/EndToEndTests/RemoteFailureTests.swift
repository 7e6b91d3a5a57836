import Foundation
import StoreFixtures
import Testing

@Suite("Failures of remote stores", .blocking)
struct RemoteFailureTests {
  private static let network = "&networkAccessAllowed=true"

  private static func refusal(_ code: String) -> ScriptedServer.Step {
    .answer(403, [:], "<Error><Code>\(code)</Code><Message>\(RemoteFixture.secret)</Message></Error>")
  }

  @Test func `A store that is down fails soon, and local pictures keep flowing`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for name in ["a", "b"] { remote.set("\(name).jpg", RemoteFixture.picture(Int(name.utf8.first!))) }
    let daemon = try remote.daemon()
    #expect(try daemon.image("a.jpg", "targetSize=50x50" + Self.network).status == 200)
    // The last that a scan asks for. Its failures would count as well.
    try daemon.until("the scan at the start has looked for expired files") {
      remote.server.requests.last { $0.query.contains("list-type") }?.query.contains("photod-trash") == true
    }
    remote.server.stop()
    let first = try daemon.image("b.jpg", "targetSize=50x50" + Self.network)
    #expect(first.status == 502 && first.problem == "/problems/original-fetch-failed", "\(first.json)")
    try daemon.until("the breaker is open") {
      let answer = try daemon.image("b.jpg", "targetSize=50x50" + Self.network)
      return answer.status == 503 && answer.problem == "/problems/original-store-unavailable"
        && (Int(answer["Retry-After"] ?? "") ?? 0) >= 1
    }
    let data = try daemon.get("/v1/assets/\(try daemon.identifier("b.jpg"))/data?networkAccessAllowed=true")
    #expect(data.status == 503 && data["Retry-After"] != nil)
    for side in 60..<80 { #expect(try daemon.image("a.jpg", "targetSize=\(side)x\(side)").status == 200) }
    let scan = try remote.scan()
    #expect(scan.status != 0 && scan.error.contains("the store can't be reached"), "\(scan.error)")
    #expect((try daemon.get("/v1/assets").json["assets"] as? [Any])?.count == 2)
    #expect(remote.log.contains("error=\"the store can't be reached\""), "\(remote.log)")
  }

  @Test func `A store that answers nothing times out at the request's deadline`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let daemon = try remote.daemon(["--set", "requests.deadlineSeconds=1"])
    let gate = Gate()
    defer { gate.open() }
    remote.server.misbehave { _ in [.wait(gate)] }
    let late = try daemon.image("a.jpg", "targetSize=50x50" + Self.network)
    #expect(late.status == 504 && late.problem == "/problems/original-fetch-timed-out", "\(late.json)")
    try daemon.until("the download has ended") {
      try daemon.metric("photod_downloads_ended_total{result=\"abandoned\"}") == 1
    }
  }

  @Test func `An original that takes longer than the deadline is there for a later request`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let daemon = try remote.daemon(["--set", "requests.deadlineSeconds=1"])
    let gate = Gate()
    defer { gate.open() }
    remote.hold(gate)
    let late = try daemon.image("a.jpg", "targetSize=50x50" + Self.network)
    #expect(late.status == 504 && late.problem == "/problems/original-fetch-timed-out", "\(late.json)")
    #expect(late["Retry-After"] == "5")
    gate.open()
    try daemon.until("the original is local") { try daemon.asset("a.jpg")["isInCloud"] as? Bool == false }
    let data = try daemon.get("/v1/assets/\(try daemon.identifier("a.jpg"))/data")
    #expect(data.status == 200)
    #expect(remote.downloads(of: "a.jpg") == 1)
  }

  @Test func `A data folder that can't be written is not reported as a failure of the store`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let daemon = try remote.daemon()
    try FileManager.default.removeItem(atPath: remote.folders.data + "/originals")
    let image = try daemon.image("a.jpg", "targetSize=50x50" + Self.network)
    #expect(image.status == 500 && image.problem == "/problems/original-store-failed", "\(image.json)")
    let data = try daemon.get("/v1/assets/\(try daemon.identifier("a.jpg"))/data?networkAccessAllowed=true")
    #expect(data.status == 500 && data.problem == "/problems/original-store-failed", "\(data.json)")
    #expect(remote.log.contains("the local store of originals: No such file or directory"), "\(remote.log)")
  }

  @Test func `A daemon whose scan waits for a store that answers nothing ends soon`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let gate = Gate()
    defer { gate.open() }
    remote.server.misbehave { _ in [.wait(gate)] }
    let daemon = try remote.serve(["--set", "logLevel=debug"])
    try daemon.until("the scan waits") { !remote.server.requests.isEmpty }
    let began = ContinuousClock.now
    #expect(daemon.terminate() == 0)
    // The time for one operation with the store is 30 seconds.
    #expect(ContinuousClock.now - began < .seconds(15))
    for line in ["scan failed", "scanned", "trash purge failed"] {
      #expect(!remote.log.contains(line), "\(remote.log)")
    }
  }

  @Test(arguments: [
    ("SignatureDoesNotMatch", "check the secret"), ("InvalidAccessKeyId", "does not know the access key"),
    ("ExpiredToken", "the session token has expired"), ("RequestTimeTooSkewed", "differ by more than 15 minutes"),
    ("AccessDenied", "the store refuses access"),
  ])
  func `A refusal names what to check, and no credential`(_ code: String, _ advice: String) throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let daemon = try remote.daemon()
    remote.server.misbehave { _ in [Self.refusal(code)] }
    let scan = try remote.scan()
    #expect(scan.status != 0 && scan.error.contains(advice), "\(scan.error)")
    // A HEAD has no body, so the code is known only from other requests.
    let answer = try daemon.image("a.jpg", "targetSize=50x50" + Self.network)
    #expect(answer.status == 502 && answer.problem == "/problems/original-fetch-failed")
    try daemon.requestScan()
    try daemon.until("the scan has failed") { remote.log.contains(advice) }
    let metrics = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
    for text in [scan.error, scan.output, remote.log, String(decoding: answer.raw, as: UTF8.self), metrics] {
      #expect(!text.contains(RemoteFixture.secret) && !text.contains(RemoteFixture.accessKey))
    }
  }

  @Test func `An original that was replaced, or has the wrong length, is not kept`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    remote.set("b.jpg", RemoteFixture.picture(2))
    let daemon = try remote.daemon()
    remote.set("a.jpg", RemoteFixture.picture(3))
    let replaced = try daemon.image("a.jpg", "targetSize=50x50" + Self.network)
    #expect(replaced.status == 503 && replaced.problem == "/problems/original-changed")
    let server = remote.server
    server.misbehave { [weak server] request in
      guard let server, request.method == "GET", request.fields["range"] == nil,
        case .send(let bytes) = server.usual(request)
      else { return nil }
      return [.send(Array(bytes.dropLast(1000))), .close]
    }
    // The read continues with a range, which works.
    #expect(try daemon.image("b.jpg", "targetSize=50x50" + Self.network).status == 200)
    #expect(remote.localOriginals.count == 1)
  }

  @Test func `Settings that can't work are refused at start with what to change`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    func run(_ library: String, _ more: [String], _ environment: [String: String]) throws -> String {
      let run = try TestDaemon.run(
        ["scan", "--library", library, "--data", remote.folders.data] + more, environment: environment)
      #expect(run.status != 0)
      return run.error
    }
    let none = ["AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""]
    #expect(try run(remote.library, remote.arguments, none).contains("set AWS_ACCESS_KEY_ID"))
    #expect(
      try run(remote.library, remote.arguments + ["--set", "remote.allowedHosts=other.example"], remote.environment)
        .contains("the host 127.0.0.1 of the library is not in remote.allowedHosts"))
    #expect(
      try run(remote.library, remote.arguments + ["--set", "remote.allowPrivateAddresses=false"], remote.environment)
        .contains("set remote.allowPrivateAddresses to true"))
    #expect(try run("s3://UPPER", remote.arguments, remote.environment).contains("is not a bucket"))
    let address = try run("https://me:password1@store.example/a", [], [:])
    #expect(address.contains("is not an address") && !address.contains("password1"))

    let file = remote.folders.base + "/credentials"
    let text =
      "[default]\naws_access_key_id = \(RemoteFixture.accessKey)\naws_secret_access_key = \(RemoteFixture.secret)\n"
    try Data(text.utf8).write(to: URL(filePath: file))
    let withFile = remote.arguments + ["--set", "s3.credentialsFile=\(file)"]
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    #expect(try run(remote.library, withFile, none).contains("chmod 600"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    try TestDaemon.succeed(
      ["scan", "--library", remote.library, "--data", remote.folders.data] + withFile, environment: none)
  }
}
