// The problems that clients get. This folder is the only place where an error of another module becomes a status and a
// text:
//
//     Problem+Messages   malformed messages, routing, conditions, ranges
//     Problem+Access     credentials and scopes
//     Problem+Library    the catalogue, fetch results, caching managers, library files
//     Problem+Changes    change tokens and change lists
//     Problem+Uploads    staged uploads
//     Problem+Originals  files of assets, archives
//     Problem+Images     images that can't be rendered
//
// A handler throws a `Problem`; `PhotoAPI` sends it. Causes go to the log, not to the client. A rule that only one
// handler has, such as the syntax of a parameter, stays with the handler.

import FoundationEssentials
import HTTPCore
import Primitives

/// An error as clients see it (RFC 9457).
package struct Problem: Error, Sendable, Hashable {
  package var status: Int
  /// The last part of the type's path: `asset-not-found` for `/problems/asset-not-found`. Stable.
  package var kind: String
  var title: String
  /// The cause and the remedy, in a sentence or two.
  package var detail: String
  /// The request parameter at fault: of the query, of the path, or a member of the body.
  var parameter: String?
  /// The index of the list entry at fault, counted from 0.
  var index: Int?
  /// Extra response fields, such as `Allow` and `Retry-After`.
  package var fields: [String: String] = [:]

  package init(
    _ status: Int, _ kind: String, _ title: String, detail: String, parameter: String? = nil,
    fields: [String: String] = [:]
  ) {
    self.status = status
    self.kind = kind
    self.title = title
    self.detail = detail
    self.parameter = parameter
    self.fields = fields
  }

  /// The same problem, with another parameter at fault.
  func naming(_ parameter: String) -> Problem {
    var problem = self
    problem.parameter = parameter
    return problem
  }

  /// Whether this machine or the remote store has failed, so that the log gets the cause.
  var isServerFailure: Bool { status == 500 || status == 502 || status == 504 || status == 507 }

  static let mediaType = "application/problem+json"

  /// The JSON object.
  var body: [UInt8] { JSONBody.encode(ProblemJSON(self)) }

  var response: HTTPResponse {
    response(body: body)
  }

  /// The same response with another body, which holds more members.
  func response(body: [UInt8]) -> HTTPResponse {
    var all = [("Content-Type", Self.mediaType), ("Cache-Control", "no-store")]
    all += fields.sortedByKey.map { ($0.key, $0.value) }
    return HTTPResponse(HTTPStatus(status), all, body: body)
  }
}

/// A problem's JSON object (RFC 9457 §3).
struct ProblemJSON: Encodable {
  let type: String
  let title: String
  let status: Int
  let detail: String
  let parameter: String?
  let index: Int?

  init(_ problem: Problem) {
    type = "/problems/\(problem.kind)"
    title = problem.title
    status = problem.status
    detail = problem.detail
    parameter = problem.parameter
    index = problem.index
  }
}
