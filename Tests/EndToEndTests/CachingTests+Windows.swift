import Foundation
import PhotoFixtures
import Testing

/// Preheat windows through HTTP.
extension CachingTests {
  @Test(
    "a window covers a range of a fetch result, a collection or a list",
    arguments: ["fetchResult", "collection", "assets"])
  func window(_ kind: String) throws {
    let id = try Self.manager()
    let handle = try Self.shared.post("/v1/fetchResults", #"{"sortDescriptors": "originalFilename"}"#)
    let result = try #require(handle.json["id"] as? String)
    let identifiers = try (0..<40).map { try Self.shared.identifier(String(format: "p%02d.jpg", $0)) }
    let library = try #require(
      (try Self.shared.get("/v1/collections?type=smartAlbum&subtype=smartAlbumUserLibrary").json["collections"]
        as? [[String: Any]])?.first?["localIdentifier"] as? String)
    let list =
      switch kind {
      case "fetchResult": #""fetchResult": "\#(result)""#
      case "collection": #""collection": "\#(library)""#
      default: #""assets": \#(Self.list(identifiers))"#
      }
    let path = "/v1/cachingManagers/\(id)/window"
    let rest = #""targetSize": "30x30", "options": {"quality": 60}"#
    let put = try Self.shared.post(path, "{\(list), \"visible\": [10, 19], \"margin\": 4, \(rest)}", method: "PUT")
    #expect(put.status == 200 && put.json["start"] as? Int == 6 && put.json["end"] as? Int == 23)
    #expect(put.json["quality"] as? String == "high" && put.json["leftOut"] as? Int == 0)
    #expect((put.json["ready"] as? Int ?? 0) + (put.json["pending"] as? Int ?? 0) == 18)
    #expect(try Self.settled(id)["ready"] as? Int == 18)
    if kind != "collection" {
      let image = "/v1/assets/\(identifiers[6])/image?targetSize=30x30&quality=60"
      #expect(try Self.shared.get(image).result("source") == "memory")
    }
    let again = try Self.shared.post(path, "{\(list), \"visible\": [10, 19], \"margin\": 4, \(rest)}", method: "PUT")
    #expect(again.json["ready"] as? Int == 18)
    let window = try #require(try Self.shared.get("/v1/cachingManagers/\(id)").json["window"] as? [String: Any])
    #expect(window["start"] as? Int == 6 && window["ready"] as? Int == 18)
  }

  @Test(
    "a prepared image is a hit for every equivalent request",
    arguments: [
      "contentMode=aspectFill&targetSize=44x44", "deliveryMode=opportunistic", "deliveryMode=fastFormat",
      "deliveryMode=opportunistic&allowSecondaryDegradedImage=true&multipart=replace", "quality=82", "format=jpeg",
      "resizeMode=exact&deliveryMode=highQualityFormat&version=current&format=auto&colorSpace=preserve",
      "normalizedCropRect=0,0,1,1", "networkAccessAllowed=true&requestID=mine", "v=",
    ])
  func hits(_ query: String) throws {
    let id = try Self.manager()
    let identifier = try Self.shared.identifier("p30.jpg")
    _ = try Self.shared.post(
      "/v1/cachingManagers/\(id)/startCaching",
      #"{"assets": ["\#(identifier)"], "targetSize": "44x44", "contentMode": "aspectFill"}"#)
    #expect(try Self.settled(id)["ready"] as? Int == 1)
    let version = try #require(try Self.shared.get("/v1/assets/\(identifier)").json["contentVersion"] as? String)
    let asked = query == "v=" ? query + version : query
    let size = asked.contains("targetSize") ? "" : "targetSize=44x44&contentMode=aspectFill&"
    let answer = try Self.shared.get("/v1/assets/\(identifier)/image?\(size)\(asked)")
    #expect(answer.status == 200)
    #expect(
      ((answer["Image-Result"] ?? "") + String(decoding: answer.body, as: UTF8.self)).contains("source=memory"),
      "\(asked)")
  }

  @Test("an empty list starts, stops and shows nothing")
  func nothing() throws {
    let id = try Self.manager()
    for (name, member) in [("startCaching", "started"), ("stopCaching", "stopped")] {
      let answer = try Self.shared.post("/v1/cachingManagers/\(id)/\(name)", #"{"assets": []}"#)
      #expect(answer.status == 200 && answer.json[member] as? Int == 0)
      #expect(try Self.shared.post("/v1/cachingManagers/\(id)/\(name)", "{}").json["parameter"] as? String == "assets")
    }
    let window = try Self.shared.post(
      "/v1/cachingManagers/\(id)/window", #"{"assets": [], "visible": [0, 9]}"#, method: "PUT")
    #expect(window.status == 200 && window.json["start"] as? Int == 0 && window.json["end"] as? Int == -1)
    let identifier = try Self.shared.identifier("p00.jpg")
    let beyond = try Self.shared.post(
      "/v1/cachingManagers/\(id)/window",
      #"{"assets": ["\#(identifier)"], "visible": [500, 509], "targetSize": "20x20"}"#, method: "PUT")
    #expect(beyond.status == 200)
  }

  @Test("a window over an album follows the visible range, and ends when the album is deleted")
  func album() throws {
    let daemon = try Self.daemon(["--set", "scan.intervalSeconds=0"])
    let identifiers = try (0..<40).map { try daemon.identifier(String(format: "p%02d.jpg", $0)) }
    func perform(_ change: String) throws -> [String: Any] {
      let answer = try daemon.post("/v1/changes", #"{"changes": [\#(change)]}"#)
      #expect(answer.status == 200, "\(answer.json)")
      return answer.json
    }
    let made = try perform(#"{"type": "createAlbum", "title": "A", "placeholder": "$a"}"#)
    let album = try #require((made["created"] as? [String: String])?["$a"])
    let members = Self.list(identifiers[..<30])
    _ = try perform(#"{"type": "addAssets", "collection": "\#(album)", "assets": \#(members)}"#)
    func put(_ first: Int, _ last: Int) throws -> [String: Any] {
      try daemon.post(
        "/v1/cachingManagers/default/window",
        #"{"collection": "\#(album)", "visible": [\#(first), \#(last)], "margin": 0, "targetSize": "30x30"}"#,
        method: "PUT"
      ).json
    }
    /// Waits until the window begins at that position; returns it and the number of prepared frames.
    func window(from start: Int) throws -> [Int] {
      var found: [Int] = []
      try daemon.until("the window begins at \(start)") {
        let state = try Self.settled("default", daemon)
        guard let window = state["window"] as? [String: Any], window["start"] as? Int == start,
          window["leftOut"] as? Int == 0
        else { return false }
        found = [window["end"] as? Int ?? -2, window["ready"] as? Int ?? -2, state["prepared"] as? Int ?? -2]
        return true
      }
      return found
    }
    _ = try put(10, 19)
    #expect(try window(from: 10) == [19, 10, 10])
    // Visible assets stay visible and are not rendered again.
    let more = Self.list(identifiers[30..<33])
    _ = try perform(#"{"type": "insertAssets", "collection": "\#(album)", "assets": \#(more), "index": 0}"#)
    #expect(try window(from: 13) == [22, 10, 10])
    // The removed assets make room for the ones after them.
    let gone = Self.list(identifiers[8..<12])
    _ = try perform(#"{"type": "removeAssets", "collection": "\#(album)", "assets": \#(gone)}"#)
    #expect(try window(from: 11) == [20, 10, 12])
    for index in 12..<22 {
      let image = try daemon.get("/v1/assets/\(identifiers[index])/image?targetSize=30x30")
      #expect(image.result("source") == "memory", "\(index)")
    }
    // The client reports its range again, which refers to the current list.
    _ = try perform(#"{"type": "insertAssets", "collection": "\#(album)", "assets": \#(gone), "index": 0}"#)
    #expect(try put(0, 3)["start"] as? Int == 0)
    #expect(try window(from: 0)[0] == 3)
    for index in 8..<12 {
      let image = try daemon.get("/v1/assets/\(identifiers[index])/image?targetSize=30x30")
      #expect(image.result("source") == "memory", "\(index)")
    }
    _ = try perform(#"{"type": "deleteCollection", "collection": "\#(album)"}"#)
    try daemon.until("the window has ended") {
      let state = try Self.settled("default", daemon)
      return state["window"] is NSNull && state["pinned"] as? Int == 0
    }
    #expect(try put(0, 3)["status"] as? Int == 404)
  }

  @Test("a window over a year stays while all assets of the year are deleted, and follows them when they are restored")
  func year() throws {
    let daemon = try Self.daemon(["--set", "scan.intervalSeconds=0"])
    let identifiers = try (0..<40).map { try daemon.identifier(String(format: "p%02d.jpg", $0)) }
    let years = try daemon.get("/v1/collections?type=folder&subtype=momentListYear").json["collections"]
    let year = try #require((years as? [[String: Any]])?.first?["localIdentifier"] as? String)
    func perform(_ type: String) throws {
      let entries = identifiers.map { #"{"type": "\#(type)", "asset": "\#($0)"}"# }
      let answer = try daemon.post("/v1/changes", "{\"changes\": [\(entries.joined(separator: ","))]}")
      #expect(answer.status == 200, "\(answer.json)")
    }
    let put = try daemon.post(
      "/v1/cachingManagers/default/window",
      #"{"collection": "\#(year)", "visible": [0, 9], "margin": 5, "targetSize": "30x30"}"#, method: "PUT")
    #expect(put.status == 200, "\(put.json)")
    #expect((try Self.settled("default", daemon)["pinned"] as? Int ?? 0) >= 10)
    try perform("deleteAsset")
    try daemon.until("the window is empty") { try Self.settled("default", daemon)["pinned"] as? Int == 0 }
    #expect(try daemon.get("/v1/cachingManagers/default").json["window"] is [String: Any])
    try perform("restoreAsset")
    try daemon.until("the window has restored assets") {
      (try Self.settled("default", daemon)["pinned"] as? Int ?? 0) > 0
    }
  }

  @Test("a window over a fetch result keeps its place, drops deleted assets, and ends with the fetch result")
  func handle() throws {
    let daemon = try Self.daemon(["--set", "scan.intervalSeconds=0"])
    let made = try daemon.post("/v1/fetchResults", #"{"sortDescriptors": "originalFilename"}"#)
    let handle = try #require(made.json["id"] as? String)
    let put = try daemon.post(
      "/v1/cachingManagers/default/window",
      #"{"fetchResult": "\#(handle)", "visible": [10, 19], "margin": 0, "targetSize": "30x30"}"#, method: "PUT")
    #expect(put.status == 200)
    #expect(try Self.settled("default", daemon)["ready"] as? Int == 10)
    for name in ["p02.jpg", "p12.jpg"] { try FileManager.default.removeItem(atPath: daemon.library + "/" + name) }
    try daemon.requestScan()
    try daemon.until("the deleted asset is released") { try Self.settled("default", daemon)["ready"] as? Int == 9 }
    let state = try Self.settled("default", daemon)
    let window = try #require(state["window"] as? [String: Any])
    #expect(window["start"] as? Int == 10 && window["end"] as? Int == 19 && window["leftOut"] as? Int == 1)
    #expect(state["prepared"] as? Int == 10)
    #expect(try daemon.get("/v1/fetchResults/\(handle)", method: "DELETE").status == 204)
    try daemon.until("nothing is pinned") {
      try daemon.get("/v1/cachingManagers/default").json["pinned"] as? Int == 0
    }
    #expect(try daemon.get("/v1/cachingManagers/default").json["window"] is NSNull)
  }

  @Test("a window prepares a changed picture again, and releases a deleted one")
  func changes() throws {
    let daemon = try Self.daemon(["--set", "scan.intervalSeconds=0"])
    let identifiers = try (0..<40).map { try daemon.identifier(String(format: "p%02d.jpg", $0)) }
    let body = #"{"assets": \#(Self.list(identifiers)), "visible": [0, 9], "margin": 0, "targetSize": "30x30"}"#
    _ = try daemon.post("/v1/cachingManagers/default/window", body, method: "PUT")
    #expect(try Self.settled("default", daemon)["prepared"] as? Int == 10)
    try TestDaemon.Files(root: daemon.library).put(
      JPEGFile { _ in }.encoded(Scene(seed: 99).pixels(width: 96, height: 72)), "p01.jpg")
    try FileManager.default.removeItem(atPath: daemon.library + "/p02.jpg")
    try daemon.requestScan()
    try daemon.until("the changed picture is prepared and the deleted one is released") {
      let state = try Self.settled("default", daemon)
      return state["prepared"] as? Int == 11 && state["ready"] as? Int == 9
    }
    let image = try daemon.get("/v1/assets/\(identifiers[1])/image?targetSize=30x30")
    #expect(image.result("source") == "memory")
  }
}
