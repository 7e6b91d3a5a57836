// An entry of the endpoint table: a method of a resource, what it requires, its handler and its description. Dispatch,
// access checks, CORS, `Allow` and the OpenAPI document are derived from these entries. A new route is an entry in one
// of the files Endpoint+*.swift, and its handler; schemas of new bodies go into CEmbeddedFiles/components.json.

import HTTPCore
import HTTPServer
import PhotoModel

package final class Endpoint: Sendable {
  /// Never HEAD or OPTIONS: each GET also answers HEAD, and every resource answers OPTIONS.
  package let method: HTTPMethod
  package let path: PathTemplate
  /// The unique name of the operation in the OpenAPI document.
  package let operationID: String
  package let requirement: Requirement
  /// Whether the endpoint changes neither the library nor anyone's access; it may change objects that its own caller
  /// created, such as fetch results. Pages of read-only origins may use it.
  package let isReading: Bool
  /// How a signed URL opens the resource. `nil`: not at all.
  let signedAccess: SignedAccess?
  /// Whether pages of every origin may read the responses that a caller without a credential gets. Only if the daemon
  /// serves such callers (`allowAnonymous`).
  let allowsAllOrigins: Bool
  let operation: APIOperation
  let handler: Handler

  init(
    _ method: HTTPMethod, _ path: PathTemplate, _ operationID: String, needs requirement: Requirement,
    isReading: Bool = true, signedAccess: SignedAccess? = nil, allowsAllOrigins: Bool = false,
    _ operation: APIOperation, handler: Handler
  ) {
    self.method = method
    self.path = path
    self.operationID = operationID
    self.requirement = requirement
    self.isReading = isReading
    self.signedAccess = signedAccess
    self.allowsAllOrigins = allowsAllOrigins
    self.operation = operation
    self.handler = handler
  }

  /// Whether the request's body is streamed to the handler.
  var streamsBody: Bool {
    if case .upload = handler { true } else { false }
  }
}

/// The right that a caller needs to use an endpoint.
package enum Requirement: Sendable, Hashable {
  /// Nothing: also open without a credential.
  case open
  /// An authenticated caller, with any scopes.
  case authenticated
  /// At least one of these scopes.
  case scopes(Set<Scope>)

  /// At least one of these scopes. Not inlined: making a set is half a kilobyte of code, and the table has many.
  @inline(never)
  static func scope(_ some: Scope...) -> Requirement { .scopes(Set(some)) }
}

/// How a signed URL opens a resource.
package enum SignedAccess: Sendable {
  /// The resource is an image. A signature for this image opens it, and so does one for an album.
  case image
  /// The resource is an album or its list of assets. Only a signature for this album opens it.
  case album
  /// The resource belongs to an asset. A signature for an album opens it if the album contains the asset.
  case albumAsset
}

extension Endpoint {
  /// How an endpoint responds. A problem that a handler throws is the response.
  enum Handler: Sendable {
    typealias Answer = @Sendable (PhotoAPI, RoutedRequest) throws(Problem) -> HTTPResponse

    /// Responds on the connection's queue, so it must not block.
    case immediate(Answer)
    /// Responds on the lookup queue.
    case lookup(Answer)
    /// Responds on the queue for work that may read every asset, before a deadline that includes the wait in the queue.
    case fetch(@Sendable (PhotoAPI, RoutedRequest, ContinuousClock.Instant) throws(Problem) -> HTTPResponse)
    /// Responds on the serial queue that executes change lists.
    case change(Answer)
    /// Begins on the connection's queue, chooses its own queues, and sends the response itself.
    case custom(@Sendable (PhotoAPI, RoutedRequest) throws(Problem) -> Void)
    /// Receives the body as a stream, and sends the response itself. `nil`: the request has no body.
    case upload(@Sendable (PhotoAPI, RoutedRequest, StreamedBody?) throws(Problem) -> Void)

    /// Whether it may run a long query of the library for its caller.
    var queriesLibrary: Bool {
      switch self {
      case .lookup, .fetch, .custom: true
      case .immediate, .change, .upload: false
      }
    }
  }
}
