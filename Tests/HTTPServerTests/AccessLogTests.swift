import Foundation
import HTTPServer
import Synchronization
import Telemetry
import Testing

@Suite("Access log, with real sockets and a manual clock")
struct AccessLogTests {
  @Test("each request has one log line with its fields, and no input can forge another line")
  func accessLog() async throws {
    let lines = Mutex<[UInt8]>([])
    let log = AccessLog(limitBytes: 1 << 20) { bytes in lines.withLock { $0 += bytes } }
    let server = try TestServer(proxies: ["127.0.0.1"], accessLog: log)
    var client: TestClient? = try TestClient(port: server.port)
    client?.send("GET /a?secret HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.1\" status=999\r\n\r\nnonsense\r\n\r\n")
    #expect(client?.readToEnd() != nil)
    // The request was rejected, so the connection would linger while the manual clock stands still.
    client = nil
    await server.drain()
    let text = lines.withLock { String(decoding: $0, as: UTF8.self) }
    let found = text.split(separator: "\n")
    try #require(found.count == 2)
    #expect(found[0].hasPrefix("time=1994-11-06T08:49:37Z level=info label=access msg=request id="))
    #expect(
      found[0].contains(
        " peer=127.0.0.1 forwardedFor=\"10.0.0.1\\\" status=999\" method=GET path=/a status=200 bytes=7 "))
    #expect(found[1].contains(" method=- path=- status=400 "))
    #expect(!text.contains("secret"))
  }

  @Test("the field that names the client behind a proxy is logged as sent: Forwarded, if there is one")
  func forwarded() async throws {
    let lines = Mutex<[UInt8]>([])
    let log = AccessLog(limitBytes: 1 << 20) { bytes in lines.withLock { $0 += bytes } }
    let server = try TestServer(proxies: ["127.0.0.1"], accessLog: log)
    let client = try TestClient(port: server.port)
    client.send("GET /a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.1\r\nForwarded: for=10.0.0.2\r\n\r\n")
    client.send("GET /b HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.3\r\n\r\n")
    client.send(bytes: Array("GET /c HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: é".utf8) + [0xFF])
    client.send("\r\nX-Forwarded-For: 10.0.0.4\r\nConnection: close\r\n\r\n")
    #expect(client.readToEnd() != nil)
    await server.drain()
    let text = lines.withLock { String(decoding: $0, as: UTF8.self) }
    let found = text.split(separator: "\n")
    try #require(found.count == 3)
    #expect(found[0].contains(" peer=127.0.0.1 forwarded=\"for=10.0.0.2\" method=GET ") && !text.contains("10.0.0.1"))
    #expect(found[1].contains(" peer=127.0.0.1 forwardedFor=10.0.0.3 method=GET "))
    #expect(found[2].contains(" peer=127.0.0.1 forwardedFor=\"\\xc3\\xa9\\xff, 10.0.0.4\" method=GET "))
  }

  @Test("a line of the access log has the caller's trace, also as JSON, and no invalid trace")
  func tracedAccessLog() async throws {
    let trace = "0af7651916cd43dd8448eb211c80319c"
    for format in [LogFormat.logfmt, .json] {
      let lines = Mutex<[UInt8]>([])
      let log = AccessLog(limitBytes: 1 << 20, format: format) { bytes in lines.withLock { $0 += bytes } }
      let server = try TestServer(proxies: ["127.0.0.1"], accessLog: log)
      let client = try TestClient(port: server.port)
      client.send("GET /a HTTP/1.1\r\nHost: a\r\nTraceparent: 00-\(trace)-b7ad6b7169203331-01\r\n\r\n")
      client.send(
        "GET /b HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: \"\\\r\nConnection: close\r\n"
          + "traceparent: 00-\(trace.uppercased())-b7ad6b7169203331-01\r\n\r\n")
      #expect(client.readToEnd() != nil)
      await server.drain()
      let text = lines.withLock { String(decoding: $0, as: UTF8.self) }
      let found = text.split(separator: "\n").map(String.init)
      try #require(found.count == 2, "\(text)")
      #expect(!found[1].contains("trace"))
      switch format {
      case .logfmt: #expect(found[0].contains(" traceID=\(trace) parentID=b7ad6b7169203331 peer="))
      case .json:
        let objects = try found.map {
          try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(objects[0]["traceID"] as? String == trace && objects[0]["parentID"] as? String == "b7ad6b7169203331")
        #expect(objects[0]["status"] as? Int == 200 && objects[0]["milliseconds"] is Double)
        #expect(objects[0]["label"] as? String == "access" && objects[0]["level"] as? String == "info")
        #expect(objects[1]["forwardedFor"] as? String == "\"\\")
      }
    }
  }

  @Test("a slow access log drops lines and reports how many, and no request waits for it")
  func slowLog() async throws {
    let gate = DispatchSemaphore(value: 0)
    let lines = Mutex<[UInt8]>([])
    let log = AccessLog(limitBytes: 70_000) { bytes in
      gate.wait()
      lines.withLock { $0 += bytes }
    }
    let server = try TestServer(accessLog: log)
    for _ in 0..<20 {
      let client = try TestClient(port: server.port)
      client.send(String(repeating: "GET /abcdefgh HTTP/1.1\r\nHost: a\r\n\r\n", count: 100))
      client.finishSending()
      #expect(client.readToEnd()?.components(separatedBy: "HTTP/1.1 200").count == 101)
      server.server.tick()
    }
    for _ in 0..<100 { gate.signal() }
    await server.drain()
    let text = lines.withLock { String(decoding: $0, as: UTF8.self) }
    let dropped = text.components(separatedBy: "dropped=").dropFirst().compactMap { Int($0.prefix { $0.isNumber }) }
    let written = text.components(separatedBy: "msg=request").count - 1
    #expect(written < 2000 && dropped.reduce(0, +) + written <= 2000 && !dropped.isEmpty)
  }
}
