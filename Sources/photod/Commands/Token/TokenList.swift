import AccessControl
import ArgumentParser
import Foundation
import PhotoModel
import Primitives

struct TokenList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List all tokens, also expired and revoked ones. Never prints their secrets.")

  @OptionGroup var common: CommonOptions

  @Flag(help: "Print JSON.")
  var json = false

  func run() async throws {
    let database = try TokenCommand.database(common)
    let tokens = try TokenCommand.reportingErrors { () throws(AccessError) in try database.tokens() }
    let now = SystemTime.now
    if json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      print(String(decoding: try encoder.encode(tokens.map { Entry($0, at: now) }), as: UTF8.self))
    } else {
      print(Self.table(tokens, at: now))
    }
  }

  private static func table(_ tokens: [AccessToken], at now: Int64) -> String {
    let heads = ["IDENTIFIER", "NAME", "SCOPES", "LIMITED TO", "CREATED", "EXPIRES", "LAST USED", "STATUS"]
    let rows =
      [heads]
      + tokens.map { token in
        [
          token.identifier, token.name, scopes(token).joined(separator: ","),
          token.collections.map { $0.map(\.rawValue).sorted().joined(separator: ",") } ?? "-",
          time(token.created), time(token.expires), time(token.lastUsed), token.status(at: now).rawValue,
        ]
      }
    let widths = heads.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined(separator: "  ")
        .replacing(#/ +$/#, with: "")
    }.joined(separator: "\n")
  }

  fileprivate static func scopes(_ token: AccessToken) -> [String] {
    Scope.allCases.filter(token.scopes.contains).map(\.rawValue)
  }

  private static func time(_ seconds: Int64?) -> String {
    seconds.map { Timestamp(milliseconds: $0 * 1000).rfc3339 } ?? "-"
  }

  private struct Entry: Encodable {
    let identifier: String
    let name: String
    let scopes: [String]
    let collections: [String]?
    let created: String
    let expires: String?
    let revoked: String?
    let lastUsed: String?
    let status: String

    init(_ token: AccessToken, at now: Int64) {
      func text(_ seconds: Int64?) -> String? { seconds.map { Timestamp(milliseconds: $0 * 1000).rfc3339 } }
      identifier = token.identifier
      name = token.name
      scopes = TokenList.scopes(token)
      collections = token.collections.map { $0.map(\.rawValue).sorted() }
      created = Timestamp(milliseconds: token.created * 1000).rfc3339
      (expires, revoked, lastUsed) = (text(token.expires), text(token.revoked), text(token.lastUsed))
      status = token.status(at: now).rawValue
    }
  }
}
