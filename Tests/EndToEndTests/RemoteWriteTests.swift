import Foundation
import StoreFixtures
import Testing

/// What the catalogue of a daemon and its bucket have.
struct BucketState: Equatable, CustomStringConvertible {
  /// Paths of the listed assets.
  let assets: [String]
  /// File names of the assets in the trash.
  let trash: [String]
  /// Paths of the objects that scans list.
  let objects: [String]
  /// Names of the objects in the trash.
  let trashedObjects: [String]

  init(_ daemon: TestDaemon, _ remote: RemoteFixture) throws {
    let listed = try daemon.get("/v1/assets?limit=100").json["assets"] as? [[String: Any]] ?? []
    assets = listed.compactMap { $0["relativePath"] as? String }.sorted()
    let deleted = try daemon.get("/v1/trash").json["assets"] as? [[String: Any]] ?? []
    trash = deleted.compactMap { $0["originalFilename"] as? String }.sorted()
    let keys = remote.server.keys.map { String($0.dropFirst("album/".count)) }
    objects = keys.filter { !$0.hasPrefix(".") }.sorted()
    trashedObjects = keys.filter { $0.hasPrefix(".photod-trash/") }.map { ($0 as NSString).lastPathComponent }.sorted()
  }

  var isConsistent: Bool { assets == objects && trash == trashedObjects }
  var description: String { "assets \(assets), trash \(trash), objects \(objects), in the trash \(trashedObjects)" }
}

extension TestDaemon {
  func scanAgain() throws {
    let before = try scans()
    try requestScan()
    try until("the scan is complete") { try scans() > before }
  }

  private func scans() throws -> Double {
    try (metric("photod_library_scans_total{result=\"completed\"}") ?? 0)
      + (metric("photod_library_scans_total{result=\"failed\"}") ?? 0)
  }

  func change(_ entries: String) throws -> Response { try post("/v1/changes", "{\"changes\": [\(entries)]}") }
}

@Suite("Writing to a bucket", .blocking)
struct RemoteWriteTests {
  private static let picture = RemoteFixture.picture(70)
  private static let accessDenied = ScriptedServer.Step.answer(403, [:], "<Error><Code>AccessDenied</Code></Error>")

  /// Stages a complete upload, and returns its identifier.
  private static func staged(_ bytes: [UInt8], _ name: String, _ daemon: TestDaemon) throws -> String {
    let staged = try daemon.exchange(
      "POST /v1/uploads?filename=\(name) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nUpload-Complete: ?1\r\n"
        + "Content-Length: \(bytes.count)\r\n\r\n", bytes)
    return try #require(staged.json["upload"] as? String)
  }

  @Test func `An upload becomes an object, then an asset that is here and that a scan does not change`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let daemon = try remote.daemon(["--set", "upload.template={name}"])
    let answer = try daemon.upload(Self.picture, "?filename=new.jpg")
    #expect(answer.status == 201 && answer.json["relativePath"] as? String == "new.jpg", "\(answer.json)")
    #expect(remote.server.bytes(of: "album/new.jpg") == Self.picture)
    let put = try #require(remote.server.requests.first { $0.method == "PUT" })
    #expect(put.fields["if-none-match"] == "*" && put.fields["x-amz-checksum-sha256"] != nil)
    // The bytes stay in the data folder.
    #expect(try daemon.asset("new.jpg")["isInCloud"] as? Bool == false)
    #expect(try daemon.image("new.jpg", "targetSize=300x300").status == 200)
    let version = try daemon.asset("new.jpg")["contentVersion"] as? String
    let reads = remote.server.requests.count { $0.method == "GET" && $0.path.hasSuffix("new.jpg") }
    try daemon.scanAgain()
    #expect(try daemon.asset("new.jpg")["contentVersion"] as? String == version)
    #expect(remote.server.requests.count { $0.method == "GET" && $0.path.hasSuffix("new.jpg") } == reads)
    // The same content is not stored again, not even that of an object which another program has written.
    for (bytes, name) in [(Self.picture, "new.jpg"), (RemoteFixture.picture(1), "a.jpg")] {
      let again = try daemon.upload(bytes, "?filename=again.jpg")
      #expect(again.status == 200 && again.json["relativePath"] as? String == name)
    }
    // A name that is taken gets a number; nothing is replaced.
    let other = try daemon.upload(RemoteFixture.picture(71), "?filename=new.jpg")
    #expect(other.status == 201 && other.json["relativePath"] as? String == "new-2.jpg")
    #expect(try BucketState(daemon, remote).isConsistent)
    #expect(remote.server.bytes(of: "album/new.jpg") == Self.picture)
  }

  @Test func `A deletion moves to the trash and back, and the asset stays the same`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for number in 0..<2 { remote.set("\(number).jpg", RemoteFixture.picture(number)) }
    let daemon = try remote.daemon()
    let (asset, version) = (try daemon.identifier("0.jpg"), try daemon.asset("0.jpg")["contentVersion"] as? String)
    #expect(try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#).status == 200)
    let deleted = try BucketState(daemon, remote)
    #expect(deleted.assets == ["1.jpg"] && deleted.trash == ["0.jpg"] && deleted.isConsistent, "\(deleted)")
    try daemon.scanAgain()
    #expect(try BucketState(daemon, remote) == deleted)
    #expect(try daemon.change(#"{"type": "restoreAsset", "asset": "\#(asset)"}"#).status == 200)
    let restored = try BucketState(daemon, remote)
    #expect(restored.assets == ["0.jpg", "1.jpg"] && restored.trash == [] && restored.isConsistent, "\(restored)")
    try daemon.scanAgain()
    #expect(try daemon.asset("0.jpg")["localIdentifier"] as? String == asset)
    #expect(try daemon.asset("0.jpg")["contentVersion"] as? String == version)
    #expect(try daemon.image("0.jpg", "targetSize=300x300&networkAccessAllowed=true").status == 200)
  }

  @Test func `What is purged is gone, and an object without a record stays as long as others`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for number in 0..<2 { remote.set("\(number).jpg", RemoteFixture.picture(number)) }
    do {
      let daemon = try remote.daemon()
      let asset = try daemon.identifier("0.jpg")
      #expect(try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#).status == 200)
    }
    let trashed = try #require(remote.server.keys.first { $0.hasPrefix("album/.photod-trash/") })
    let folder = ((trashed as NSString).deletingLastPathComponent as NSString).deletingLastPathComponent
    let (mine, others) = (folder + "/none/orphan.jpg", "album/.photod-trash/0123456789abcdef/none/other.jpg")
    for key in [mine, others] { remote.server.set(key, [1, 2, 3]) }
    let daemon = try remote.serve(["--set", "trash.retentionDays=0"])
    try daemon.until("the trash is empty") { remote.server.bytes(of: trashed) == nil }
    try daemon.scanAgain()
    try daemon.until("the object without a record is gone") { remote.server.bytes(of: mine) == nil }
    #expect(remote.server.bytes(of: others) != nil, "that of another catalogue stays")
    #expect(try BucketState(daemon, remote).assets == ["1.jpg"])
  }

  @Test func `A staged upload and a file that another program has put become assets`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    let daemon = try remote.daemon(["--set", "upload.template={name}"])
    let upload = try Self.staged(Self.picture, "s.jpg", daemon)
    remote.set("late.jpg", RemoteFixture.picture(72))
    let answer = try daemon.change(
      #"{"type": "createAsset", "upload": "\#(upload)", "placeholder": "$s"}, {"type": "createAsset", "path": "late.jpg"}"#
    )
    #expect(answer.status == 200, "\(answer.json)")
    let state = try BucketState(daemon, remote)
    #expect(state.assets == ["late.jpg", "s.jpg"] && state.isConsistent, "\(state)")
    #expect(try daemon.get("/v1/uploads/\(upload)").status == 404)
    #expect(try daemon.change(#"{"type": "createAsset", "path": "none.jpg"}"#).status == 404)
  }

  @Test func `An object that a failed list has put stays without an asset, and the next attempt uses it`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    let daemon = try remote.daemon(["--set", "upload.template={name}"])
    let uploads = [
      try Self.staged(Self.picture, "s.jpg", daemon), try Self.staged(RemoteFixture.picture(71), "t.jpg", daemon),
    ]
    let list =
      #"{"type": "createAsset", "upload": "\#(uploads[0])", "placeholder": "$s"}, "#
      + #"{"type": "createAsset", "upload": "\#(uploads[1])", "placeholder": "$t"}"#
    remote.server.misbehave { $0.method == "PUT" && $0.path.hasSuffix("/t.jpg") ? [Self.accessDenied] : nil }
    #expect(try daemon.change(list).status == 502)
    let failed = try BucketState(daemon, remote)
    #expect(failed.assets == [] && failed.objects == ["s.jpg"], "\(failed)")
    remote.server.misbehave(nil)
    #expect(try daemon.change(list).status == 200)
    let state = try BucketState(daemon, remote)
    #expect(state.assets == ["s.jpg", "t.jpg"] && state.isConsistent, "\(state)")
  }

  @Test func `An object that a failed upload has put stays, and uploads to all daemons of the bucket use it`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    let other = try RemoteFixture(sharing: remote)
    let first = try remote.daemon(["--set", "upload.template={name}"])
    let second = try other.daemon(["--set", "upload.template={name}"])
    let server = remote.server
    // The object is put, but the daemon does not learn what it put.
    server.misbehave { [weak server] request in
      request.method == "HEAD" && server?.bytes(of: "album/new.jpg") != nil ? [.answer(403)] : nil
    }
    #expect(try first.upload(Self.picture, "?filename=new.jpg").status == 502)
    #expect(try BucketState(first, remote).objects == ["new.jpg"])
    server.misbehave(nil)
    for daemon in [second, first] {
      let answer = try daemon.upload(Self.picture, "?filename=new.jpg")
      #expect(answer.status == 201 && answer.json["relativePath"] as? String == "new.jpg", "\(answer.json)")
      let state = try BucketState(daemon, remote)
      #expect(state.assets == ["new.jpg"] && state.isConsistent, "\(state)")
    }
  }

  @Test(arguments: ["HEAD", "PUT"])
  func `Two uploads of one photograph under one name at the same time make one object`(_ method: String) throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    let daemon = try remote.daemon(["--set", "upload.template={name}"])
    let server = remote.server
    let gate = Gate()
    let isOfUpload: @Sendable (ScriptedServer.Request) -> Bool = {
      $0.method == method && $0.path.hasSuffix("/new.jpg")
    }
    // The store handles this request of the first upload after the second upload.
    server.misbehave { [weak server] request in
      if let server, isOfUpload(request), server.requests.count(where: isOfUpload) == 1 { gate.wait() }
      return nil
    }
    let responses = WaitingResponses()
    responses.begin(1) { try daemon.upload(Self.picture, "?filename=new.jpg") }
    try daemon.until("the first upload is at the store") { server.requests.contains(where: isOfUpload) }
    let second = try daemon.upload(Self.picture, "?filename=new.jpg")
    #expect(second.status == 201, "\(second.json)")
    gate.open()
    let first = try #require(try responses.wait().first)
    #expect(first.status == 200, "\(first.json)")
    #expect(first.json["localIdentifier"] as? String == second.json["localIdentifier"] as? String)
    let state = try BucketState(daemon, remote)
    #expect(state.assets == ["new.jpg"] && state.isConsistent, "\(state)")
  }

  @Test func `A store that fails changes nothing, says what failed, and the next attempt works`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for number in 0..<2 { remote.set("\(number).jpg", RemoteFixture.picture(number)) }
    let daemon = try remote.daemon(["--set", "upload.template={name}"])
    let before = try BucketState(daemon, remote)
    let asset = try daemon.identifier("0.jpg")
    func fail(_ isFailing: @escaping @Sendable (ScriptedServer.Request) -> Bool) {
      remote.server.misbehave { isFailing($0) ? [Self.accessDenied] : nil }
    }
    // The upload itself, and the question what was uploaded.
    fail { $0.method == "PUT" }
    let refused = try daemon.upload(Self.picture, "?filename=new.jpg")
    #expect(refused.status == 502 && refused.problem == "/problems/library-store-failed", "\(refused.json)")
    #expect(try BucketState(daemon, remote) == before)
    #expect(remote.log.contains("the store refuses access"))
    // The copy to the trash.
    fail { $0.fields["x-amz-copy-source"] != nil }
    #expect(try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#).status == 502)
    #expect(try BucketState(daemon, remote) == before)
    // The deletion after the copy: the copy is removed by the next change of files, or with the next scan.
    fail { $0.method == "DELETE" }
    #expect(try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#).status == 502)
    #expect(try BucketState(daemon, remote).assets == before.assets)
    #expect(remote.server.bytes(of: "album/0.jpg") != nil)
    remote.server.misbehave(nil)
    try daemon.scanAgain()
    try daemon.until("the copy is removed") { try BucketState(daemon, remote) == before }
    #expect(try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#).status == 200)
    // The copy back.
    fail { $0.fields["x-amz-copy-source"] != nil }
    #expect(try daemon.change(#"{"type": "restoreAsset", "asset": "\#(asset)"}"#).status == 502)
    remote.server.misbehave(nil)
    #expect(try daemon.change(#"{"type": "restoreAsset", "asset": "\#(asset)"}"#).status == 200)
    #expect(try daemon.upload(Self.picture, "?filename=new.jpg").status == 201)
    let after = try BucketState(daemon, remote)
    #expect(after.assets == ["0.jpg", "1.jpg", "new.jpg"] && after.isConsistent, "\(after)")
  }

  @Test(arguments: [false, true])
  func `A restoration that fails after its copy is reverted, whatever scans come before that`(_ restarts: Bool) throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for number in 0..<2 { remote.set("\(number).jpg", RemoteFixture.picture(number)) }
    var daemon = try remote.daemon()
    let asset = try daemon.identifier("0.jpg")
    let favorite = #"{"type": "updateAsset", "asset": "\#(asset)", "isFavorite": true}"#
    #expect(try daemon.change(favorite).status == 200)
    #expect(try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#).status == 200)
    let deleted = try BucketState(daemon, remote)
    remote.server.misbehave { $0.method == "DELETE" ? [Self.accessDenied] : nil }
    #expect(try daemon.change(#"{"type": "restoreAsset", "asset": "\#(asset)"}"#).status == 502)
    // The object is in both places, and the asset in the trash.
    let failed = try BucketState(daemon, remote)
    #expect(failed.assets == ["1.jpg"] && failed.trash == ["0.jpg"], "\(failed)")
    #expect(failed.objects == ["0.jpg", "1.jpg"] && failed.trashedObjects == ["0.jpg"], "\(failed)")
    if restarts {
      _ = daemon.terminate()
      daemon = try remote.serve()
    }
    try daemon.scanAgain()
    #expect(try BucketState(daemon, remote) == failed)
    remote.server.misbehave(nil)
    try daemon.scanAgain()
    #expect(try BucketState(daemon, remote).assets == ["1.jpg"])
    try daemon.until("the restoration is reverted") { try BucketState(daemon, remote) == deleted }
    #expect(try daemon.change(#"{"type": "restoreAsset", "asset": "\#(asset)"}"#).status == 200)
    let restored = try BucketState(daemon, remote)
    #expect(restored.assets == ["0.jpg", "1.jpg"] && restored.isConsistent, "\(restored)")
    #expect(try daemon.identifier("0.jpg") == asset)
    #expect(try daemon.asset("0.jpg")["isFavorite"] as? Bool == true)
  }

  @Test func `Deletions that fail after the first of them take no photograph out of the library`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for number in 0..<4 { remote.set("\(number).jpg", RemoteFixture.picture(number)) }
    let daemon = try remote.daemon()
    let before = try BucketState(daemon, remote)
    let assets = [try daemon.identifier("0.jpg"), try daemon.identifier("1.jpg")]
    let server = remote.server
    // The first one moves to the trash. Then the store refuses all writes.
    server.misbehave { [weak server] request in
      guard let server, request.method == "PUT" || request.method == "DELETE" else { return nil }
      let isFirst = request.path.hasSuffix("/0.jpg") && server.bytes(of: "album/0.jpg") != nil
      return isFirst ? nil : [Self.accessDenied]
    }
    let deletions = assets.map { #"{"type": "deleteAsset", "asset": "\#($0)"}"# }
    #expect(try daemon.change(deletions.joined(separator: ", ")).status == 502)
    let failed = try BucketState(daemon, remote)
    #expect(failed.assets == before.assets && failed.objects == ["1.jpg", "2.jpg", "3.jpg"], "\(failed)")
    try daemon.scanAgain()
    #expect(try BucketState(daemon, remote) == failed)
    server.misbehave(nil)
    try daemon.scanAgain()
    #expect(try BucketState(daemon, remote).assets == before.assets)
    try daemon.until("the deletions are reverted") { try BucketState(daemon, remote) == before }
    #expect(try daemon.identifier("0.jpg") == assets[0])
  }

  @Test(arguments: ["<CopyObjectResult>", "", "  <Error><Code>InternalError</Code></Error>"])
  func `An original is not deleted before its copy is there, whatever the store answers`(_ body: String) throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for number in 0..<2 { remote.set("\(number).jpg", RemoteFixture.picture(number)) }
    let daemon = try remote.daemon()
    let before = try BucketState(daemon, remote)
    let asset = try daemon.identifier("0.jpg")
    // 200, and no copy.
    remote.server.misbehave { $0.fields["x-amz-copy-source"] != nil ? [.answer(200, [:], body)] : nil }
    #expect(try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#).status == 502)
    #expect(try BucketState(daemon, remote) == before)
    remote.server.misbehave(nil)
    #expect(try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#).status == 200)
    remote.server.misbehave { $0.fields["x-amz-copy-source"] != nil ? [.answer(200, [:], body)] : nil }
    #expect(try daemon.change(#"{"type": "restoreAsset", "asset": "\#(asset)"}"#).status == 502)
    remote.server.misbehave(nil)
    #expect(try daemon.change(#"{"type": "restoreAsset", "asset": "\#(asset)"}"#).status == 200)
    #expect(try BucketState(daemon, remote).assets == before.assets)
  }

  @Test func `A put whose answer was lost is recognised`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    let daemon = try remote.daemon(["--set", "upload.template={name}"])
    let server = remote.server
    server.misbehave { [weak server] request in
      guard let server, request.method == "PUT", server.bytes(of: "album/new.jpg") == nil else { return nil }
      _ = server.usual(request)
      return [.close]
    }
    let answer = try daemon.upload(Self.picture, "?filename=new.jpg")
    #expect(answer.status == 201 && answer.json["relativePath"] as? String == "new.jpg", "\(answer.json)")
    #expect(try BucketState(daemon, remote).isConsistent)
  }

  @Test func `A file beyond what the store takes is refused before it is sent`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    let daemon = try remote.daemon(["--set", "upload.fileBytes=8589934592"])
    let answer = try daemon.exchange(
      "POST /v1/uploads?filename=a.mov HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nUpload-Length: 5368709121\r\n"
        + "Content-Length: 0\r\n\r\n", [])
    #expect(answer.status == 413 && answer.problem == "/problems/file-too-large", "\(answer.json)")
  }

  @Test func `A library on a web server, and a bucket with readOnly, refuse changes of files`() throws {
    for (kind, arguments) in [(RemoteFixture.Kind.origin, []), (.bucket, ["--set", "readOnly=true"])] {
      let remote = try RemoteFixture(kind)
      defer { remote.stop() }
      remote.set("a.jpg", RemoteFixture.picture(1))
      let daemon = try remote.daemon(arguments)
      let asset = try daemon.identifier("a.jpg")
      for answer in [
        try daemon.upload(Self.picture, "?filename=new.jpg"),
        try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#),
      ] {
        #expect(answer.status == 409 && answer.problem == "/problems/library-read-only")
      }
      #expect(!remote.server.requests.contains { !["GET", "HEAD"].contains($0.method) })
    }
  }
}
