import HTTPCore
import HTTPServer
import JSONText

// Problems of HTTP messages: routing, malformed messages, conditions and ranges.

extension Problem {
  static let noSuchResource = Problem(
    404, "not-found", "No such resource", detail: "GET /openapi.json lists all resources.")

  /// - Parameter allow: the supported methods, as in `Allow`.
  static func methodNotAllowed(allow: String) -> Problem {
    Problem(
      405, "method-not-allowed", "Method not allowed", detail: "This resource supports \(allow).",
      fields: ["Allow": allow])
  }

  /// - Parameter detail: the rule that the parameter breaks, as a sentence.
  static func invalidParameter(_ detail: String, parameter: String? = nil) -> Problem {
    Problem(400, "invalid-parameter", "Invalid parameter", detail: detail, parameter: parameter)
  }

  static let missingUpload = Problem(
    400, "malformed-request", "Bad Request",
    detail: "The request has no body. Send the file itself as the body, or several files as multipart/form-data.")

  /// - Parameter detail: what the resource has, and what the request excludes.
  static func notAcceptable(_ detail: String) -> Problem {
    Problem(406, "not-acceptable", "Not acceptable", detail: detail)
  }

  /// `Accept-Encoding` lists what a body may have (RFC 9110 §12.5.3).
  static let contentCodingUnsupported = Problem(
    415, "content-coding-unsupported", "Unsupported content coding",
    detail: "Send the body without a content coding such as gzip, and without Content-Encoding.",
    fields: ["Accept-Encoding": "identity"])

  static let preconditionFailed = Problem(
    412, "precondition-failed", "Precondition failed",
    detail: "The resource does not match the request's conditions. Get its current version.")

  static func rangeNotSatisfiable(size: Int) -> Problem {
    Problem(
      416, "range-not-satisfiable", "Range not satisfiable",
      detail: "The representation has \(size) bytes, and the requested ranges contain none of them.")
  }

  /// The response was lost in the daemon.
  static let unanswered = Problem(
    500, "internal-error", "Internal error",
    detail: "The daemon did not produce a response. This is a bug in photod.")

  /// A queue, or memory that requests share, is full.
  static let overloaded = Problem(
    503, "overloaded", "Too many requests are waiting", detail: "Retry after a moment.", fields: ["Retry-After": "1"])

  static let outOfDescriptors = Problem(
    503, "overloaded", "Too many files are open",
    detail: "The daemon has no file descriptor left for this request. Retry after a moment.",
    fields: ["Retry-After": "1"])

  static let responseBufferFull = Problem(
    503, "overloaded", "Too many responses are pending",
    detail: "Other clients read their responses too slowly, and their buffers are full. Retry after a moment.",
    fields: ["Retry-After": "1"])

  init(_ error: ParseError) {
    if case .overloaded = error {
      self.init(
        503, "overloaded", "Too many requests are being received", detail: error.explanation,
        fields: ["Retry-After": "1"])
      return
    }
    let setting = Self.setting(limiting: error).map { " The limit is the setting \($0)." } ?? ""
    self.init(error.status.code, "malformed-request", error.status.reasonPhrase, detail: error.explanation + setting)
  }

  /// The setting whose limit a message exceeds; `nil` for other errors.
  private static func setting(limiting error: ParseError) -> String? {
    switch error {
    case .requestLineTooLong: "http.requestLineBytes"
    case .headerTooLarge: "http.headerBytes"
    case .tooManyFields: "http.headerFields"
    case .bodyTooLarge: "http.bodyBytes"
    default: nil
    }
  }

  /// The body of a request is not JSON, or repeats a member.
  init(_ error: JSONSyntaxError) {
    var parameter: String?
    if case .repeatedMember(let name) = error.reason { parameter = name }
    self.init(
      400, "malformed-request", "Bad Request", detail: "The body is not valid JSON. \(error)", parameter: parameter)
  }

  init(_ error: MultipartError) {
    self.init(400, "malformed-request", "Bad Request", detail: error.explanation)
  }

  /// The problem for a body that did not arrive completely.
  init(_ failure: BodyFailure) {
    switch failure {
    case .malformed(let error): self.init(error)
    case .timedOut: self.init(ParseError.timedOut)
    // The connection is closed, or another problem was the reason to cancel, so this problem is never sent.
    case .closed, .cancelled: self.init(ParseError.timedOut)
    }
  }
}
