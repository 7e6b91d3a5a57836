import Foundation
import PhotoFixtures
import Testing

/// A response that a separate thread waits for.
private struct Answer {
  private let stream: AsyncThrowingStream<TestDaemon.Response, any Error>

  init(_ ask: @escaping @Sendable () throws -> TestDaemon.Response) {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: TestDaemon.Response.self)
    self.stream = stream
    Thread.detachNewThread {
      continuation.yield(with: Result { try ask() })
      continuation.finish()
    }
  }

  func value() async throws -> TestDaemon.Response {
    for try await answer in stream { return answer }
    throw CancellationError()
  }
}

/// Requests that have names: listed, asked about, cancelled from another connection.
@Suite("Pending requests", .blocking)
struct RequestTests {
  /// One render at a time, each of a part of a second.
  private static func daemon(_ arguments: [String] = []) throws -> TestDaemon {
    try TestDaemon(
      { files in
        let pixels = Scene(seed: 9, grain: 8).pixels(width: 2400, height: 1800)
        try files.put(JPEGFile { $0.isProgressive = true }.encoded(pixels), "a.jpg")
      }, arguments: ["--set", "render.workers=1"] + arguments)
  }

  private static let busy = 30

  /// Keeps the one worker busy for longer than a test takes: with renders that share nothing.
  private func occupy(_ daemon: TestDaemon, _ image: String) throws {
    for i in 0..<Self.busy {
      Thread.detachNewThread {
        _ = try? daemon.send(
          "GET \(image)?targetSize=max&requestID=busy-\(i) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Cache-Control: no-cache\r\n\r\n")
      }
    }
    try daemon.until("half of the renders are known") { try requests(daemon).count >= Self.busy / 2 }
  }

  private func release(_ daemon: TestDaemon) throws {
    for i in 0..<Self.busy { _ = try daemon.get("/v1/requests/busy-\(i)", method: "DELETE") }
  }

  private func requests(_ daemon: TestDaemon) throws -> [[String: Any]] {
    try #require(try daemon.get("/v1/requests").json["requests"] as? [[String: Any]])
  }

  @Test("a pending request is listed, its identifier can't be used twice, and DELETE ends it")
  func cancelled() async throws {
    let daemon = try Self.daemon()
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image"
    try occupy(daemon, image)
    let victim = Answer { try daemon.get("\(image)?targetSize=300x300&requestID=victim") }
    try daemon.until("the request is queued") {
      try requests(daemon).contains {
        $0["requestID"] as? String == "victim" && $0["stage"] as? String == "queued"
      }
    }
    let listed = try #require(try requests(daemon).first { $0["requestID"] as? String == "victim" })
    #expect(listed["priority"] as? String == "normal")
    #expect(listed["parameters"] as? [String: String] == ["targetSize": "300x300", "requestID": "victim"])
    let again = try daemon.get("\(image)?targetSize=310x310&requestID=victim")
    #expect(again.status == 409 && again.json["type"] as? String == "/problems/request-id-in-use")
    #expect(try daemon.get("/v1/requests/victim", method: "DELETE").status == 204)
    #expect(try daemon.get("/v1/requests/victim").json["stage"] as? String == "cancelled")
    let late = try daemon.get("/v1/requests/victim", method: "DELETE")
    #expect(late.status == 404 && (late.json["detail"] as? String)?.hasPrefix("The request has ended.") == true)
    let answer = try await victim.value()
    #expect(answer.status == 409 && answer.json["type"] as? String == "/problems/request-cancelled")
    try release(daemon)
  }

  @Test(
    "after a cancellation that follows a degraded frame, the last part reports it, or repeats the frame for an <img>",
    arguments: ["mixed", "replace"])
  func cancelledLater(_ form: String) async throws {
    let daemon = try Self.daemon()
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image"
    try occupy(daemon, image)
    let victim = Answer {
      try daemon.get("\(image)?deliveryMode=opportunistic&targetSize=max&quality=50&multipart=\(form)&requestID=victim")
    }
    // Cancels the other requests one by one until the degraded frame has arrived, and then this one.
    var ended = 0
    try daemon.until("the degraded frame has arrived") {
      let frames = try daemon.get("/v1/requests/victim").json["frames"] as? [Any]
      if frames?.isEmpty == false { return true }
      if ended < Self.busy {
        _ = try daemon.get("/v1/requests/busy-\(ended)", method: "DELETE")
        ended += 1
      }
      return false
    }
    let ending = try daemon.get("/v1/requests/victim", method: "DELETE").status
    let parts = try Multipart(try await victim.value()).parts
    #expect(parts.count == 2 && parts[0].fields["image-result"]?.contains("degraded=?1") == true)
    // It may have just ended.
    if ending == 204, form == "replace" {
      #expect(!parts[1].body.isEmpty && parts[1].body == parts[0].body)
    } else if ending == 204 {
      #expect(parts[1].fields["content-type"] == "application/problem+json")
      #expect(parts[1].fields["image-result"] == "request-id=\"victim\", status=409, cancelled=?1")
    }
  }

  @Test("an administrator lists and cancels a request of another caller, which lists only its own")
  func administered() async throws {
    let daemon = try Self.daemon()
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image"
    try occupy(daemon, image)
    // With a forwarding field, the caller is another one and no administrator.
    let other = ["X-Forwarded-For: 203.0.113.9"]
    let victim = Answer { try daemon.get("\(image)?targetSize=320x320&requestID=victim", other) }
    func names(_ fields: [String] = []) throws -> [String] {
      let listed = try daemon.get("/v1/requests", fields).json["requests"] as? [[String: Any]] ?? []
      return listed.compactMap { $0["requestID"] as? String }
    }
    try daemon.until("the request is listed") { try names().contains("victim") }
    #expect(try names(other) == ["victim"])
    #expect(try daemon.get("/v1/requests/busy-\(Self.busy - 1)", other, method: "DELETE").status == 404)
    #expect(try daemon.get("/v1/requests/victim", method: "DELETE").status == 204)
    #expect(try await victim.value().status == 409)
    try release(daemon)
  }

  @Test("DELETE of a request for many images cancels all that are not ready, and only for its owner")
  func cancelledBatch() async throws {
    let daemon = try Self.daemon()
    let identifier = try daemon.identifier("a.jpg")
    try occupy(daemon, "/v1/assets/\(identifier)/image")
    // More than are requested at a time.
    let assets = [String](repeating: "\"\(identifier)\"", count: 20).joined(separator: ", ")
    let batch = Answer {
      try daemon.post("/v1/images", "{\"assets\": [\(assets)], \"targetSize\": \"333x333\"}")
    }
    var items: [String] = []
    try daemon.until("sixteen images are requested") {
      items = try requests(daemon).filter { ($0["parameters"] as? [String: String])?["targetSize"] == "333x333" }
        .compactMap { $0["requestID"] as? String }
      return items.count == 16
    }
    let id = try #require(items.first.map { String($0.prefix { $0 != "." }) })
    // With a forwarding field, the caller is another one and no administrator.
    let other = ["X-Forwarded-For: 203.0.113.9"]
    #expect(try daemon.get("/v1/requests/\(id)", other, method: "DELETE").status == 404)
    #expect(try daemon.get("/v1/requests/\(id)", method: "DELETE").status == 204)
    let answer = try await batch.value()
    #expect(answer.status == 200 && answer.result("request-id") == "\"\(id)\"")
    let parts = try Multipart(answer).parts
    #expect(parts.count == 20)
    #expect(parts.allSatisfy { $0.fields["image-result"] == "status=409, cancelled=?1" })
    #expect(try daemon.get("/v1/requests/\(id)", method: "DELETE").status == 404)
    try release(daemon)
  }

  @Test("a request identifier is not part of a cache key: a cached frame is answered with the new identifier")
  func named() throws {
    let daemon = try Self.daemon()
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=200x200"
    let first = try daemon.get(image)
    let named = try daemon.get(image + "&requestID=mine")
    #expect(named.body == first.body && named["ETag"] == first["ETag"])
    #expect(named.result("source") == "memory" && named.result("request-id") == "\"mine\"")
    let again = try daemon.get(image)
    #expect(again.result("source") == "memory" && again.result("request-id") != "\"mine\"")
  }

  @Test("a request for the original's own bytes is listed while the original is decoded, and can be cancelled")
  func cancelledFile() async throws {
    let daemon = try Self.daemon(["--set", "cache.backgroundDerivatives=false"])
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image"
    try occupy(daemon, image)
    let victim = Answer { try daemon.get("\(image)?requestID=victim") }
    try daemon.until("the request is queued") {
      try requests(daemon).contains {
        $0["requestID"] as? String == "victim" && $0["stage"] as? String == "queued"
      }
    }
    #expect(try daemon.get("/v1/requests/victim", method: "DELETE").status == 204)
    let answer = try await victim.value()
    #expect(answer.status == 409 && answer.json["type"] as? String == "/problems/request-cancelled")
    try release(daemon)
    let file = try daemon.get("\(image)?requestID=victim")
    #expect(file.status == 200 && file["ETag"] != nil && file.result("source") == "original")
  }

  @Test("a closed connection cancels its request")
  func gone() throws {
    let daemon = try Self.daemon()
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image"
    try occupy(daemon, image)
    let text = "GET \(image)?targetSize=210x210&requestID=gone HTTP/1.1\r\nHost: localhost\r\n\r\n"
    _ = try daemon.send(text, clientShutdown: .abruptly)
    try daemon.until("the request is cancelled") {
      try daemon.get("/v1/requests/gone").json["stage"] as? String == "cancelled"
    }
    try release(daemon)
  }
}
