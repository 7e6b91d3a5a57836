import Foundation
import Testing

/// A caller of fetch results: without credentials, or with a token.
struct FetchResultClient {
  let daemon: TestDaemon
  var fields: [String] = []

  func perform(_ entries: [String]) throws -> [String: Any] {
    let body = "{\"changes\": [\(entries.joined(separator: ","))]}"
    let answer = try daemon.post("/v1/changes", body, fields)
    try #require(answer.status == 200, "\(answer.json) \(body)")
    return answer.json
  }

  func fetch(_ body: String = #"{"sortDescriptors": "originalFilename"}"#) throws -> String {
    let answer = try daemon.post("/v1/fetchResults", body, fields)
    return try #require(answer.json["id"] as? String, "\(answer.json)")
  }

  func listen(_ fetchResult: String, _ more: [String] = []) throws -> EventStream {
    try EventStream(daemon, "?fetchResult=\(fetchResult)", fields + more)
  }

  func members(_ fetchResult: String) throws -> [DisplayedAsset] {
    let answer = try daemon.get("/v1/fetchResults/\(fetchResult)/assets?range=0-999", fields)
    let assets = try #require(answer.json["assets"] as? [[String: Any]], "\(answer.json)")
    return assets.map {
      DisplayedAsset($0["localIdentifier"] as? String ?? "", $0["revision"] as? String ?? "deleted")
    }
  }

  func end(_ fetchResult: String) throws -> Int {
    try daemon.ask("DELETE", "/v1/fetchResults/\(fetchResult)", fields).status
  }
}

/// An asset as a client shows it.
struct DisplayedAsset: Equatable {
  var identifier: String
  var revision: String

  init(_ identifier: String, _ revision: String) { (self.identifier, self.revision) = (identifier, revision) }

  static let unknown = DisplayedAsset("", "")
}

/// The list that a client shows, updated from events by the documented rules alone.
struct FetchResultScreen {
  let client: FetchResultClient
  var list: [DisplayedAsset]
  var handle: String

  init(_ client: FetchResultClient, _ handle: String) throws {
    self.client = client
    self.handle = handle
    list = try client.members(handle)
  }

  mutating func apply(_ event: EventStream.Event) throws {
    try #require(event.name == "change", "\(event)")
    let json = event.json
    let after = try #require(json["fetchResultAfterChanges"] as? [String: Any])
    handle = try #require(after["id"] as? String)
    let token = try #require(after["changeToken"] as? String)
    #expect(event.id == "\(token).\(handle)")
    let members = try client.members(handle)
    #expect(members.count == after["count"] as? Int)
    guard json["hasIncrementalChanges"] as? Bool == true else {
      list = members
      return
    }
    let removed = try #require(json["removedIndexes"] as? [Int])
    let inserted = try #require(json["insertedIndexes"] as? [Int])
    let changed = try #require(json["changedIndexes"] as? [Int])
    let moves = try #require(json["moves"] as? [[String: Int]])
    #expect(removed.count + inserted.count + changed.count + moves.count > 0, "an empty delta is not sent")
    list = list.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
    for index in inserted { list.insert(.unknown, at: index) }
    for index in changed { list[index].revision = "" }
    var rest = list.enumerated().filter { item in !moves.contains { $0["from"] == item.offset } }.map(\.element)[...]
    list = try members.indices.map { index in
      let from = moves.first { $0["to"] == index }?["from"]
      let other = from == nil ? rest.popFirst() : nil
      return try #require(from.map { list[$0] } ?? other)
    }
    // Reads inserted and changed assets; the others are unchanged.
    for (index, item) in list.enumerated() {
      if item == .unknown { list[index] = members[index] }
      if item.revision.isEmpty { list[index].revision = members[index].revision }
    }
    #expect(list.map(\.identifier) == members.map(\.identifier))
  }
}
