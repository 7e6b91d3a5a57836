/// A response status (RFC 9110 §15).
package struct HTTPStatus: Sendable, Hashable, ExpressibleByIntegerLiteral {
  package let code: Int

  package init(integerLiteral code: Int) { self.code = code }
  package init(_ code: Int) { self.code = code }

  package static let ok: HTTPStatus = 200
  package static let notModified: HTTPStatus = 304
  package static let internalServerError: HTTPStatus = 500

  /// Whether a response with this status has no body (RFC 9112 §6.3).
  package var forbidsBody: Bool { code < 200 || code == 204 || code == 304 }

  package var reasonPhrase: String {
    switch code {
    case 100: "Continue"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 303: "See Other"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    case 507: "Insufficient Storage"
    default: "Status"
    }
  }
}
