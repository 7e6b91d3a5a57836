/// An endpoint's part of the OpenAPI document. Method, path, path parameters and the problems that follow from the
/// endpoint's requirement and body are added by ``OpenAPIDocument``.
struct APIOperation: Sendable {
  /// A security scheme of CEmbeddedFiles/components.json.
  enum SecurityScheme: String, Sendable {
    case none, token, session, signedURL
  }

  let summary: String
  let description: String?
  /// If empty, a request with any parameter but a signature's is refused before the handler.
  let query: [QueryParameter]
  /// The request body, as an entry of CEmbeddedFiles/components.json. `nil`: a body is ignored.
  let body: String?
  /// The accepted credentials. `nil`: all that the document lists.
  let credentials: [SecurityScheme]?
  /// Whether the response has no end.
  let isEndless: Bool
  let responses: [APIResponse]
  /// The statuses of further problems.
  let problems: [Int]
  /// The response for `problems`, as an entry of CEmbeddedFiles/components.json.
  let problemComponent: String?

  init(
    _ summary: String, description: String? = nil, query: [QueryParameter] = [], body: String? = nil,
    credentials: [SecurityScheme]? = nil, isEndless: Bool = false, responses: [APIResponse], problems: [Int] = [],
    problemComponent: String? = nil
  ) {
    self.summary = summary
    self.description = description
    self.query = query
    self.body = body
    self.credentials = credentials
    self.isEndless = isEndless
    self.responses = responses
    self.problems = problems
    self.problemComponent = problemComponent
  }
}
