import Foundation
import PhotoFixtures
import Testing

@Suite("Smaller encodings of windows, over real sockets", .blocking, .enabled(if: EncodedFormatTests.isBuilt))
struct WindowUpgradeTests {
  private static let accept = "Accept: image/jxl,image/*,*/*;q=0.8"

  private static func daemon() throws -> TestDaemon {
    try TestDaemon(
      { files in
        for i in 0..<4 {
          let scene = Scene(seed: i + 1, grain: 2).pixels(width: 600, height: 400)
          try files.put(JPEGFile { _ in }.encoded(scene), "\(i).jpg")
        }
      }, arguments: ["--set", "render.upgradePercent=100"])
  }

  private func move(_ daemon: TestDaemon, _ names: [String], _ fields: [String]) throws -> TestDaemon.Response {
    let list = try names.map { "\"\(try daemon.identifier($0))\"" }.joined(separator: ", ")
    let body = #"{"assets": [\#(list)], "visible": [0, 99], "margin": 0, "targetSize": "300x300"}"#
    return try daemon.post("/v1/cachingManagers/default/window", body, method: "PUT", fields)
  }

  private func upgrades(_ daemon: TestDaemon) throws -> Int? {
    String(decoding: try daemon.get("/metrics").body, as: UTF8.self).split(separator: "\n")
      .first { $0.hasPrefix("photod_upgrades_total ") }.flatMap { Int($0.dropFirst("photod_upgrades_total ".count)) }
  }

  @Test("the first request for a frame of a window gets the encoding that its Accept lists")
  func listed() throws {
    let daemon = try Self.daemon()
    #expect(try move(daemon, ["0.jpg", "1.jpg"], [Self.accept]).status == 200)
    try daemon.until("both frames are encoded again") { try upgrades(daemon) == 2 }
    for name in ["0.jpg", "1.jpg"] {
      let target = "/v1/assets/\(try daemon.identifier(name))/image?targetSize=300x300"
      let smaller = try daemon.get(target, [Self.accept])
      #expect(smaller["Content-Type"] == "image/jxl" && smaller.result("upgraded") == "?1", "\(name)")
    }
    // Requests for the prepared frames, though other bytes were sent.
    let state = try daemon.get("/v1/cachingManagers/default").json
    #expect(state["prepared"] as? Int == 2 && state["used"] as? Int == 2 && state["wasted"] as? Int == 0)
    for name in ["0.jpg", "1.jpg"] {
      let target = "/v1/assets/\(try daemon.identifier(name))/image?targetSize=300x300"
      let other = try daemon.get(target, ["Accept: image/webp,*/*"])
      #expect(other["Content-Type"] == "image/jpeg" && other.result("source") == "memory", "\(name)")
    }
  }

  @Test("a window whose request lists no format takes that of the page's images")
  func learned() throws {
    let daemon = try Self.daemon()
    #expect(try move(daemon, ["0.jpg"], ["Accept: */*"]).status == 200)
    let first = try daemon.get(
      "/v1/assets/\(try daemon.identifier("3.jpg"))/image?targetSize=200x200", [Self.accept])
    #expect(first["Content-Type"] == "image/jpeg")
    #expect(try move(daemon, ["0.jpg", "1.jpg", "2.jpg"], ["Accept: */*"]).status == 200)
    try daemon.until("the frames are encoded again") { try upgrades(daemon) == 3 }
    let target = "/v1/assets/\(try daemon.identifier("2.jpg"))/image?targetSize=300x300"
    #expect(try daemon.get(target, [Self.accept])["Content-Type"] == "image/jxl")
  }
  @Test(
    "frames are prepared in the format that a request with the window's Accept gets first",
    arguments: [
      ("image/webp,image/*,*/*;q=0.8", "image/webp"), ("image/webp", "image/webp"), ("image/png", "image/png"),
      ("*/*", "image/png"),
    ])
  func alpha(_ accept: String, _ type: String) throws {
    let daemon = try TestDaemon { files in
      try files.put(PNGFile(.rgba(depth: 8)).encoded(Pixels.orientationCard(width: 80, height: 60)), "alpha.png")
      try files.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 80, height: 60)), "0.jpg")
    }
    let names = ["alpha.png", "0.jpg"]
    #expect(try move(daemon, names, ["Accept: \(accept)"]).status == 200)
    #expect(try CachingTests.settled("default", daemon)["prepared"] as? Int == 2)
    for name in names {
      let target = "/v1/assets/\(try daemon.identifier(name))/image?targetSize=300x300"
      let answer = try daemon.get(target, ["Accept: \(accept)"])
      #expect(answer.status == 200 && answer.result("source") == "memory", "\(name)")
      if name == "alpha.png" { #expect(answer["Content-Type"] == type) }
    }
    #expect(try CachingTests.settled("default", daemon)["used"] as? Int == 2)
  }
}
