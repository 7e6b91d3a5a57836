import Foundation
import PhotoFixtures
import Testing

/// Caching managers and their windows through HTTP.
@Suite("Caching managers over HTTP", .blocking)
struct CachingTests {
  static func daemon(_ arguments: [String] = []) throws -> TestDaemon {
    try TestDaemon(
      { files in
        for i in 0..<40 {
          try files.put(
            JPEGFile { _ in }.encoded(Scene(seed: i, grain: 6).pixels(width: 96, height: 72)),
            String(format: "p%02d.jpg", i))
        }
      }, arguments: arguments)
  }

  static let shared: TestDaemon = {
    do { return try daemon() } catch { fatalError("no daemon: \(error)") }
  }()

  static func manager(_ daemon: TestDaemon = shared, _ body: String = "{}") throws -> String {
    let made = try daemon.post("/v1/cachingManagers", body)
    #expect(made.status == 201)
    let id = try #require(made.json["id"] as? String)
    #expect(made["Location"] == "/v1/cachingManagers/\(id)")
    return id
  }

  static func list(_ identifiers: some Sequence<String>) -> String {
    "[" + identifiers.map { "\"\($0)\"" }.joined(separator: ",") + "]"
  }

  /// The state of a manager when nothing is pending.
  static func settled(_ id: String, _ daemon: TestDaemon = shared) throws -> [String: Any] {
    var state: [String: Any] = [:]
    try daemon.until("the manager has nothing left to prepare") {
      state = try daemon.get("/v1/cachingManagers/\(id)").json
      return state["pending"] as? Int == 0
    }
    return state
  }

  static func metric(_ name: String, _ daemon: TestDaemon = shared) throws -> Double? {
    let text = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
    return text.split(separator: "\n").first { $0.hasPrefix(name + " ") }.flatMap {
      Double($0.dropFirst(name.count + 1))
    }
  }

  @Test("a prepared image is a memory hit at the first request, counts as used, and is released when stopped")
  func start() throws {
    let id = try Self.manager()
    let identifiers = try (0..<3).map { try Self.shared.identifier(String(format: "p%02d.jpg", $0)) }
    let body =
      #"{"assets": \#(Self.list(identifiers + ["nobody"])), "targetSize": "40x40", "contentMode": "aspectFill"}"#
    let started = try Self.shared.post("/v1/cachingManagers/\(id)/startCaching", body)
    #expect(started.status == 200 && started.json["started"] as? Int == 3)
    #expect(
      started.json["missing"] as? [String] == ["nobody"] && (started.json["leftOut"] as? [String])?.isEmpty == true)
    var state = try Self.settled(id)
    #expect(state["ready"] as? Int == 3 && state["pinned"] as? Int == 3 && state["prepared"] as? Int == 3)
    #expect(state["hitRate"] is NSNull && (state["bytes"] as? Int ?? 0) > 0)
    let image = "/v1/assets/\(identifiers[0])/image?targetSize=40x40&contentMode=aspectFill"
    #expect(try Self.shared.get(image).result("source") == "memory")
    // The second one is a prepared response.
    #expect(try Self.shared.get(image).result("source") == "memory")
    let stop = try Self.shared.post(
      "/v1/cachingManagers/\(id)/stopCaching", #"{"assets": \#(Self.list(identifiers)), "targetSize": "40x40"}"#)
    #expect(stop.json["stopped"] as? Int == 0, "another content mode is a separate entry")
    let all = try Self.shared.post("/v1/cachingManagers/\(id)/stopCachingAllImages", "{}")
    #expect(all.status == 200 && all.json["pinned"] as? Int == 0)
    state = try Self.settled(id)
    #expect(state["used"] as? Int == 1 && state["wasted"] as? Int == 2 && state["hitRate"] as? Double == 0.33)
    #expect(try Self.shared.get("/v1/cachingManagers/\(id)", method: "DELETE").status == 204)
    #expect(try Self.shared.get("/v1/cachingManagers/\(id)").status == 404)
    #expect(try Self.metric("photod_preheat_wasted_total").map { $0 >= 2 } == true)
  }

  @Test("stopping takes the same options as starting, in any equivalent form")
  func options() throws {
    let id = try Self.manager()
    let identifier = try Self.shared.identifier("p31.jpg")
    func call(_ name: String, _ options: String) throws -> [String: Any] {
      let body = #"{"assets": ["\#(identifier)"], "targetSize": "44x44", "options": \#(options)}"#
      let answer = try Self.shared.post("/v1/cachingManagers/\(id)/\(name)", body)
      #expect(answer.status == 200, "\(options): \(answer.json)")
      return answer.json
    }
    for (started, stopped, count) in [
      ("{}", #"{"quality": 82}"#, 1), (#"{"normalizedCropRect": "0,0,1,1"}"#, "{}", 1),
      (#"{"deliveryMode": "opportunistic", "allowSecondaryDegradedImage": true}"#, "{}", 1),
      (#"{"format": "png", "quality": 10}"#, #"{"format": "png"}"#, 1), ("{}", #"{"quality": 81}"#, 0),
      ("{}", #"{"resizeMode": "fast"}"#, 0), ("{}", #"{"format": "png"}"#, 0),
    ] {
      #expect(try call("startCaching", started)["started"] as? Int == 1)
      #expect(try call("stopCaching", stopped)["stopped"] as? Int == count, "\(started), \(stopped)")
      _ = try Self.shared.post("/v1/cachingManagers/\(id)/stopCachingAllImages", "{}")
    }
  }

  @Test("every caller has its own manager named default")
  func standard() throws {
    let daemon = try Self.daemon()
    let identifier = try daemon.identifier("p00.jpg")
    #expect(try daemon.get("/v1/cachingManagers/default").json["pinned"] as? Int == 0)
    _ = try daemon.post(
      "/v1/cachingManagers/default/startCaching", #"{"assets": ["\#(identifier)"], "targetSize": "20x20"}"#)
    #expect(try Self.settled("default", daemon)["ready"] as? Int == 1)
    // Another caller has a different default manager.
    let others = try daemon.get("/v1/cachingManagers/default", ["Via: 1.1 x"])
    #expect(others.status == 200 && others.json["pinned"] as? Int == 0)
    let stopped = try daemon.post("/v1/cachingManagers/default/stopCachingAllImages", "{}", ["Via: 1.1 x"])
    #expect(stopped.status == 200)
    let all = try #require(try daemon.get("/v1/cachingManagers").json["cachingManagers"] as? [[String: Any]])
    #expect(all.count == 2 && all[0]["id"] as? String == "default" && all[1]["id"] as? String != "default")
    #expect(try daemon.get("/v1/cachingManagers/default", method: "DELETE").status == 204)
    #expect(try daemon.get("/v1/cachingManagers/default").json["pinned"] as? Int == 0)
    #expect(try Self.metric("photod_frame_cache_pinned_bytes", daemon) == 0)
  }

  @Test("a client's own default manager is reached by every request that names the client, in the query or the body")
  func clients() throws {
    let daemon = try Self.daemon(["--set", "caching.managersPerCaller=2"])
    let identifier = try daemon.identifier("p00.jpg")
    let path = "/v1/cachingManagers/default"
    let started = #""assets": ["\#(identifier)"], "targetSize": "20x20""#
    /// How many frames the client's manager keeps.
    func pinned(_ client: String?) throws -> Int? {
      let state = try daemon.get(path + (client.map { "?client=\($0)" } ?? "")).json
      #expect(state["id"] as? String == "default" && state["client"] as? String == client)
      return state["pinned"] as? Int
    }
    for (name, members, method) in [
      ("/startCaching", started, "POST"), ("/window", started + #", "visible": [0, 0]"#, "PUT"),
    ] {
      #expect(try daemon.post(path + name, #"{"client": "a.B_1-", \#(members)}"#, method: method).status == 200)
      #expect(try pinned("a.B_1-") == 1 && pinned("tab") == 0 && pinned(nil) == 0)
      #expect(try daemon.post(path + name + "?client=tab", "{\(members)}", method: method).status == 200)
      #expect(try pinned("tab") == 1 && pinned(nil) == 0)
      #expect(try daemon.post(path + "/stopCachingAllImages", #"{"client": "a.B_1-"}"#).json["pinned"] as? Int == 0)
      #expect(try pinned("tab") == 1)
      #expect(try daemon.post(path + "/stopCachingAllImages?client=tab", "{}").json["client"] as? String == "tab")
      #expect(try pinned("tab") == 0)
    }
    _ = try daemon.post(path + "/startCaching?client=tab", "{\(started)}")
    #expect(try daemon.post(path + "/stopCaching", "{\(started)}").json["stopped"] as? Int == 0)
    #expect(try daemon.post(path + "/stopCaching", #"{"client": "tab", \#(started)}"#).json["stopped"] as? Int == 1)
    // Reading makes no manager: a page of another site can send a GET with any name.
    for name in ["third", "fourth", "fifth"] { #expect(try pinned(name) == 0) }
    #expect((try daemon.get("/v1/cachingManagers?client=sixth").json["cachingManagers"] as? [Any])?.count == 3)
    let third = try daemon.post(path + "/startCaching?client=third", "{\(started)}")
    #expect(third.status == 429 && third["Retry-After"] != nil)
    #expect(try daemon.get(path + "?client=tab", method: "DELETE").status == 204)
    #expect(try daemon.post(path + "/startCaching?client=third", "{\(started)}").status == 200)
    let all = try #require(
      try daemon.get("/v1/cachingManagers?client=third").json["cachingManagers"] as? [[String: Any]])
    #expect(all.map { $0["client"] as? String } == [nil, "a.B_1-", "third"])
    // Without effect for a manager that was created.
    #expect(try daemon.get(path + "?client=third", method: "DELETE").status == 204)
    let id = try Self.manager(daemon)
    #expect(try daemon.get("/v1/cachingManagers/\(id)?client=tab").json["client"] is NSNull)
    for (query, body) in [
      ("", #"{"client": ""}"#), ("", #"{"client": "a b"}"#), ("", #"{"client": 1}"#), ("?client=", "{}"),
      ("?client=a", #"{"client": "a"}"#), ("?client=" + String(repeating: "a", count: 65), "{}"),
      ("?client=%C3%A4", "{}"),
    ] {
      let refused = try daemon.post(path + "/stopCachingAllImages" + query, body)
      #expect(refused.status == 400 && refused.json["parameter"] as? String == "client", "\(query) \(body)")
    }
  }

  @Test("the quality and the lease of a manager can be changed")
  func change() throws {
    let daemon = try Self.daemon([
      "--set", "caching.maximumLeaseSeconds=600", "--set", "cache.backgroundDerivatives=false",
    ])
    let id = try Self.manager(daemon, #"{"allowsCachingHighQualityImages": false}"#)
    let identifier = try daemon.identifier("p00.jpg")
    _ = try daemon.post(
      "/v1/cachingManagers/\(id)/startCaching", #"{"assets": ["\#(identifier)"], "targetSize": "20x20"}"#)
    #expect(try Self.settled(id, daemon)["leftOut"] as? Int == 1)
    func patch(_ id: String, _ body: String) throws -> TestDaemon.Response {
      try daemon.post("/v1/cachingManagers/\(id)", body, method: "PATCH")
    }
    let changed = try patch(id, #"{"allowsCachingHighQualityImages": true, "leaseSeconds": 600}"#)
    #expect(changed.status == 200 && changed.json["leaseSeconds"] as? Int == 600)
    #expect(changed.json["allowsCachingHighQualityImages"] as? Bool == true)
    #expect(try Self.settled(id, daemon)["ready"] as? Int == 1)
    // Absent members are unchanged.
    let same = try patch(id, "{}")
    #expect(same.json["leaseSeconds"] as? Int == 600 && same.json["allowsCachingHighQualityImages"] as? Bool == true)
    let tab = try patch("default", #"{"client": "tab", "allowsCachingHighQualityImages": false}"#)
    #expect(tab.json["client"] as? String == "tab" && tab.json["leaseSeconds"] as? Int == 300)
    #expect(try daemon.get("/v1/cachingManagers/default").json["allowsCachingHighQualityImages"] as? Bool == true)
    for (id, body, status, parameter) in [
      (id, #"{"leaseSeconds": 601}"#, 400, "leaseSeconds"), (id, #"{"leaseSeconds": 0}"#, 400, "leaseSeconds"),
      (id, #"{"allowsCachingHighQualityImages": 1}"#, 400, "allowsCachingHighQualityImages"),
      (id, #"{"margin": 1}"#, 400, "margin"), ("nobody", "{}", 404, "cachingManager"),
    ] {
      let refused = try patch(id, body)
      #expect(refused.status == status && refused.json["parameter"] as? String == parameter, "\(id) \(body)")
    }
  }

  @Test("exceeded limits are answered with 429, and the assets that were left out are named")
  func limits() throws {
    let daemon = try Self.daemon(["--set", "caching.managersPerCaller=2", "--set", "caching.assetsPerManager=3"])
    let ids = try (0..<2).map { _ in try Self.manager(daemon) }
    let third = try daemon.post("/v1/cachingManagers", "{}")
    #expect(third.status == 429 && third["Retry-After"] != nil)
    let assets = try (0..<5).map { try daemon.identifier(String(format: "p%02d.jpg", $0)) }
    let all = #"{"assets": \#(Self.list(assets)), "targetSize": "20x20""#
    let path = "/v1/cachingManagers/\(ids[1])"
    let some = try daemon.post(path + "/startCaching", all + "}")
    #expect(some.status == 200 && some.json["started"] as? Int == 3)
    #expect(some.json["leftOut"] as? [String] == Array(assets[3...]), "more assets than a manager takes are no error")
    #expect(try daemon.post(path + "/window", all + #", "visible": [0, 4]}"#, method: "PUT").status == 200)
    let stopped = try daemon.post(path + "/stopCaching", all + "}")
    #expect(stopped.status == 200 && stopped.json["stopped"] as? Int == 3)
    let tooMany = #"{"assets": \#(Self.list(repeatElement("a", count: 100_001)))}"#
    let refused = try daemon.post(path + "/startCaching", tooMany)
    #expect(refused.status == 400 && refused.json["parameter"] as? String == "assets")
    for (part, leftOut) in [(assets[..<2], []), (assets[2...], Array(assets[3...]))] {
      let started = try daemon.post(
        "/v1/cachingManagers/\(ids[0])/startCaching", #"{"assets": \#(Self.list(part)), "targetSize": "20x20"}"#)
      #expect(started.status == 200 && started.json["leftOut"] as? [String] == leftOut)
    }
    let lease = try daemon.post("/v1/cachingManagers", #"{"leaseSeconds": 86401}"#)
    #expect(lease.status == 400 && lease.json["parameter"] as? String == "leaseSeconds")
    let deletion = try daemon.get("/v1/cachingManagers/\(ids[1])", method: "DELETE")
    #expect(deletion.status == 204)
    let day = try daemon.post("/v1/cachingManagers", #"{"leaseSeconds": 86400}"#)
    #expect(day.status == 201 && day.json["leaseSeconds"] as? Int == 86_400)
  }

  @Test("a caller that can have no further manager reads those that it has, and finds the one to delete")
  func readingAtTheLimit() throws {
    let daemon = try Self.daemon(["--set", "caching.managers=1"])
    func listed() throws -> [String?] {
      let answer = try daemon.get("/v1/cachingManagers")
      #expect(answer.status == 200)
      let all = try #require(answer.json["cachingManagers"] as? [[String: Any]])
      return all.map { $0["id"] as? String }
    }
    // Neither request takes the only place.
    #expect(try daemon.get("/v1/cachingManagers/default").status == 200)
    #expect(try listed() == ["default"])
    let id = try Self.manager(daemon)
    for query in ["", "?client=tab"] {
      let standard = try daemon.get("/v1/cachingManagers/default" + query)
      #expect(standard.status == 200 && standard.json["pinned"] as? Int == 0, "\(query)")
    }
    #expect(try daemon.post("/v1/cachingManagers", "{}").status == 429)
    #expect(try daemon.post("/v1/cachingManagers/default", "{}", method: "PATCH").status == 429)
    #expect(try listed() == ["default", id])
    #expect(try daemon.get("/v1/cachingManagers/\(id)", method: "DELETE").status == 204)
    #expect(try listed() == ["default"])
    _ = try Self.manager(daemon)
  }

  @Test(
    "an invalid parameter is refused by name",
    arguments: [
      (#"{"visible": [0, 1]}"#, "fetchResult", 400), (#"{"assets": ["a"]}"#, "visible", 400),
      (#"{"assets": ["a"], "collection": "b", "visible": [0, 1]}"#, "fetchResult", 400),
      (#"{"assets": ["a"], "visible": [1, 0]}"#, "visible", 400),
      (#"{"assets": ["a"], "visible": [-1, 0]}"#, "visible", 400),
      (#"{"assets": ["a"], "visible": [0, 1000]}"#, "visible", 400),
      (#"{"assets": ["a"], "visible": [9223372036854775807, 9223372036854775807]}"#, "visible", 400),
      (#"{"assets": ["a"], "visible": [0, 1], "margin": -1}"#, "margin", 400),
      (#"{"assets": ["a"], "visible": [0, 1], "options": {"size": 1}}"#, "size", 400),
      (#"{"assets": ["a"], "visible": [0, 1], "quality": 7}"#, "quality", 400),
      (#"{"fetchResult": "x", "visible": [0, 1]}"#, "fetchResult", 404),
      (#"{"collection": "x", "visible": [0, 1]}"#, "collection", 404),
    ])
  func refused(_ body: String, _ parameter: String, _ status: Int) throws {
    let answer = try Self.shared.post("/v1/cachingManagers/default/window", body, method: "PUT")
    #expect(answer.status == status && answer.json["parameter"] as? String == parameter, "\(body)")
  }

  @Test("an unknown manager is 404")
  func unknown() throws {
    for (method, path) in [
      ("GET", ""), ("DELETE", ""), ("PATCH", ""), ("POST", "/startCaching"), ("POST", "/stopCaching"),
      ("POST", "/stopCachingAllImages"),
      ("PUT", "/window"),
    ] {
      let body = #"{"assets": ["a"]\#(path == "/window" ? #", "visible": [0, 1]"# : "")}"#
      let answer = try Self.shared.post(
        "/v1/cachingManagers/nobody\(path)", path == "/stopCachingAllImages" || path.isEmpty ? "{}" : body,
        method: method)
      #expect(
        answer.status == 404 && answer.json["type"] as? String == "/problems/caching-manager-not-found", "\(path)")
    }
  }
}
