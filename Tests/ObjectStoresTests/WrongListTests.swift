import StoreFixtures
import Testing

@testable import ObjectStores

/// Lists of stores, or of caches in front of them, that ignore what they were asked for.
@Suite struct WrongListTests {
  private static func document(_ keys: [String], token: String? = nil) -> String {
    let entries = keys.map {
      "<Contents><Key>\($0)</Key><ETag>&quot;x&quot;</ETag><Size>1</Size></Contents>"
    }
    let next = token.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? ""
    return "<ListBucketResult><IsTruncated>\(token != nil)</IsTruncated>\(next)\(entries.joined())</ListBucketResult>"
  }

  @Test(arguments: [
    ["a.jpg"], ["lib/.trash/1/a.jpg", "lib/b.jpg"], ["lib/.trash/2/a.jpg"], ["lib/.trash/1"], ["lib/.trash/10/a.jpg"],
    ["Lib/.trash/1/a.jpg"],
  ]) func `A list with objects of other folders is refused as a whole`(_ keys: [String]) throws {
    let document = Self.document(keys)
    let server = ScriptedServer { _, _ in [.answer(200, [:], document)] }
    defer { server.stop() }
    let bucket = try StorePeer.bucket(endpoint: server.address, usesPathStyle: true, prefix: "lib")
    #expect(throws: ObjectStoreError.malformed(.wrongList)) { try bucket.waitForPage(below: ".trash/1", from: nil) }
  }

  @Test func `A list with objects outside of the library's prefix is refused as a whole`() throws {
    let document = Self.document(["lib/a.jpg", "library/b.jpg"])
    let server = ScriptedServer { _, _ in [.answer(200, [:], document)] }
    defer { server.stop() }
    let bucket = try StorePeer.bucket(endpoint: server.address, usesPathStyle: true, prefix: "lib")
    #expect(throws: ObjectStoreError.malformed(.wrongList)) { try bucket.waitForPage(from: nil) }
  }

  struct EndlessList: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let requests: Int
    /// The keys and the token of each page, over and over.
    let pages: [(keys: [String], token: String)]
  }

  static let endlessLists = [
    EndlessList(testDescription: "the same page", requests: 2, pages: [(["lib/a.jpg"], "t")]),
    EndlessList(testDescription: "the same page, hidden", requests: 2, pages: [(["lib/.trash/1/a.jpg"], "t")]),
    EndlessList(
      testDescription: "the same hidden page, with empty ones", requests: 3,
      pages: [(["lib/.trash/1/a.jpg"], "t"), ([], "u")]),
    EndlessList(
      testDescription: "two pages in turn", requests: 3,
      pages: [(["lib/.trash/1/a.jpg"], "t"), (["lib/.trash/1/b.jpg"], "u")]),
    EndlessList(testDescription: "names that are no keys", requests: 2, pages: [(["lib/../a.jpg"], "t")]),
    EndlessList(
      testDescription: "empty pages", requests: S3ObjectStore.maximumEmptyPages + 1, pages: [([], "t"), ([], "u")]),
  ]

  @Test(arguments: endlessLists) func `A list that does not advance ends with an error`(_ list: EndlessList) throws {
    let server = ScriptedServer { _, number in
      let page = list.pages[number % list.pages.count]
      return [.answer(200, [:], Self.document(page.keys, token: page.token))]
    }
    defer { server.stop() }
    let bucket = try StorePeer.bucket(endpoint: server.address, usesPathStyle: true, prefix: "lib")
    #expect(throws: ObjectStoreError.malformed(.wrongList)) {
      var position: ObjectPage.Position?
      repeat { position = try bucket.waitForPage(from: position).next } while position != nil
    }
    #expect(server.requests.count == list.requests)
  }

  @Test func `A list may have empty pages and pages of hidden objects`() throws {
    let pages: [(keys: [String], token: String?)] = [
      ([], "1"), (["lib/.trash/a.jpg"], "1"), ([], "2"), ([], "2"), (["lib/.trash/b.jpg"], "3"), (["lib/c.jpg"], nil),
    ]
    let server = ScriptedServer { _, number in
      let page = pages[min(number, pages.count - 1)]
      return [.answer(200, [:], Self.document(page.keys, token: page.token))]
    }
    defer { server.stop() }
    let bucket = try StorePeer.bucket(endpoint: server.address, usesPathStyle: true, prefix: "lib")
    var keys: [ObjectKey] = []
    var position: ObjectPage.Position?
    repeat {
      let page = try bucket.waitForPage(from: position)
      keys += page.entries.map(\.key)
      position = page.next
    } while position != nil
    #expect(keys == ["c.jpg"])
    #expect(server.requests.count == pages.count)
  }
}
