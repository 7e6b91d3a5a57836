// `POST /v1/assets`: one image as the body, or several as multipart/form-data. The body arrives in pieces. Each piece
// is written on the upload queue before the next one is requested, so a slow disk slows down only this client.

import AssetLibrary
import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel
import Synchronization

/// Limits for uploads.
package struct UploadLimits: Sendable, Hashable {
  /// Maximum size of one file.
  package var fileBytes: Int64
  /// Maximum number of files in one request.
  package var files: Int
  /// Maximum number of concurrent upload requests.
  package var concurrent: Int

  package init(fileBytes: Int64 = 4 << 30, files: Int = 100, concurrent: Int = 16) {
    self.fileBytes = fileBytes
    self.files = files
    self.concurrent = concurrent
  }
}

final class UploadRoute: Sendable {
  let files: LibraryFiles
  let limits: UploadLimits
  let queue: WorkQueue
  let logger: Logger
  private let activeUploads = Atomic<Int>(0)

  /// - Parameter queue: queue that writes files. It runs as many jobs at once as there may be concurrent uploads.
  init(files: LibraryFiles, limits: UploadLimits, queue: WorkQueue, logger: Logger) {
    self.files = files
    self.limits = limits
    self.queue = queue
    self.logger = logger
  }

  /// Whether a request is an upload, whose body is streamed.
  static func streamsBody(_ head: RequestHead) -> Bool {
    head.method == .post && Route(head.parsedTarget.segments) == .assets
  }

  /// Receives a body that the principal may send.
  func receive(
    _ head: RequestHead, _ target: RequestTarget, _ body: StreamedBody, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    var query = try QueryReader(target)
    let name = query.text("filename")
    try query.finish()
    let type = head.value(of: .contentType) ?? "application/octet-stream"
    var fields = FieldParameters(head.value(of: .contentDisposition) ?? "")
    let disposition = fields.takeExtendedValue("filename") ?? fields.take("filename")
    let form: UploadReceiver.Form
    do throws(MultipartError) {
      if let boundary = try MultipartParser.boundary(of: type) {
        form = .multipart(try MultipartParser(boundary: boundary))
      } else {
        form = .single(name: name ?? disposition)
      }
    } catch {
      throw Problem(400, "malformed-request", "Bad Request", detail: error.explanation)
    }
    if type.lowercased().hasPrefix("multipart/"), case .single = form {
      throw Problem(
        415, "media-type-unsupported", "Unsupported media type",
        detail: "Send several files as multipart/form-data, or one file as the body itself.")
    }
    if let length = body.length, case .single = form, Int64(length) > limits.fileBytes { throw tooLarge }
    guard activeUploads.add(1, ordering: .relaxed).newValue <= limits.concurrent else {
      activeUploads.subtract(1, ordering: .relaxed)
      throw Problem(
        503, "overloaded", "Too many uploads at once",
        detail: "The limit upload.concurrentRequests is reached. Retry after a moment.",
        fields: ["Retry-After": "5"])
    }
    UploadReceiver(self, form, body, principal, reply).begin()
  }

  var tooLarge: Problem {
    Problem(
      413, "file-too-large", "The file is too large",
      detail: "A file may have at most \(limits.fileBytes) bytes (upload.fileBytes).")
  }

  fileprivate func uploadEnded() { activeUploads.subtract(1, ordering: .relaxed) }
}

extension UploadRoute {
  /// One upload request. Its steps run one after the other, so the lock is never contended; the compiler needs it for
  /// `Sendable`.
  fileprivate final class UploadReceiver: Sendable {
    enum Form: Sendable {
      case single(name: String?)
      case multipart(MultipartParser)
    }

    private struct State: Sendable {
      var form: Form
      /// The file that is being received.
      var file: IncomingFile?
      var name: String?
      /// A part with an empty filename: browsers send it when no file was selected.
      var isEmptyPart = false
      var results: [FileResult] = []
    }

    private let route: UploadRoute
    private let body: StreamedBody
    private let principal: Principal
    private let reply: Reply
    private let state: Mutex<State>
    private let hasEnded = Atomic<Bool>(false)

    init(_ route: UploadRoute, _ form: Form, _ body: StreamedBody, _ principal: Principal, _ reply: Reply) {
      self.route = route
      self.body = body
      self.principal = principal
      self.reply = reply
      state = Mutex(State(form: form))
    }

    deinit { end() }

    /// Frees this request's place among the concurrent uploads.
    private func end() {
      if !hasEnded.exchange(true, ordering: .relaxed) { route.uploadEnded() }
    }

    func begin() {
      step { state throws(Problem) in
        // Before the body is requested, so that a library that can't take the file rejects it at once.
        if case .single(let name) = state.form { try self.beginFile(named: name, length: self.body.length, &state) }
        return nil
      }
    }

    private func next() {
      body.read { [self] read in
        step { state throws(Problem) in
          switch read {
          case .piece(let piece): return try self.take(piece, &state)
          case .end: return try self.end(&state)
          case .failed(let failure): throw Problem(failure)
          }
        }
      }
    }

    /// Runs a step on the queue. Sends the response if the step gives one; otherwise reads the next piece of the body.
    private func step(_ body: @escaping @Sendable (inout State) throws(Problem) -> HTTPResponse?) {
      let isAccepted = route.queue.submit { [self] in
        let response = state.withLock { state -> HTTPResponse? in
          do throws(Problem) {
            return try body(&state)
          } catch {
            // Discards the unfinished file.
            state.file = nil
            return failure(error, state)
          }
        }
        guard let response else { return next() }
        // Before the response: the client may send its next upload as soon as it has the response.
        end()
        reply.send(response)
      }
      if !isAccepted { reply.send(Problem(ImageServiceError.queueFull).response) }
    }

    // MARK: Steps

    private func beginFile(named name: String?, length: Int?, _ state: inout State) throws(Problem) {
      state.name = name
      state.file = try mappingFileErrors { () throws(LibraryFilesError) in
        try route.files.receive(length: length.map(Int64.init))
      }
    }

    private func take(_ piece: [UInt8], _ state: inout State) throws(Problem) -> HTTPResponse? {
      guard case .multipart(var parser) = state.form else {
        try write(piece, &state)
        return nil
      }
      // Leave `parser` as the only reference, so that changing it copies nothing.
      state.form = .single(name: nil)
      defer { state.form = .multipart(parser) }
      parser.append(piece)
      while true {
        switch try mappingParserErrors({ () throws(MultipartError) in try parser.next() }) {
        case .needsInput: return nil
        case .part(let part): try beginPart(part, &state)
        case .piece(let piece): try write(piece, &state)
        case .partEnded: endPart(&state)
        case .ended: break
        }
      }
    }

    private func mappingParserErrors<Value>(_ body: () throws(MultipartError) -> Value) throws(Problem) -> Value {
      do throws(MultipartError) {
        return try body()
      } catch {
        throw Problem(400, "malformed-request", "Bad Request", detail: error.explanation)
      }
    }

    private func beginPart(_ part: MultipartPart, _ state: inout State) throws(Problem) {
      guard let name = part.filename else {
        throw Problem(
          400, "invalid-parameter", "Invalid parameter",
          detail: "Every part must be a file with a filename. The part \((part.name ?? "").prefix(64)) has none.",
          parameter: part.name.map { String($0.prefix(64)) })
      }
      if state.results.count == route.limits.files {
        throw Problem(
          413, "too-many-files", "Too many files",
          detail: "One request may have at most \(route.limits.files) files (upload.filesPerRequest).")
      }
      state.isEmptyPart = name.isEmpty
      try beginFile(named: name, length: nil, &state)
    }

    private func endPart(_ state: inout State) {
      guard let file = state.file.take() else { return }
      if state.isEmptyPart && file.size == 0 { return }
      do throws(Problem) {
        state.results.append(FileResult(state.name, try add(file, named: state.name), for: principal))
      } catch {
        // The other files may still succeed.
        state.results.append(FileResult(state.name, error))
      }
    }

    private func end(_ state: inout State) throws(Problem) -> HTTPResponse? {
      switch state.form {
      case .single(let name):
        guard let file = state.file.take() else { return nil }
        let upload = try add(file, named: name)
        let fields = [
          ("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store"), ("Location", upload.location),
        ]
        return HTTPResponse(
          HTTPStatus(upload.isNew ? 201 : 200), fields,
          body: JSONBody.encode(UploadedAssetJSON(upload.asset, for: principal)))
      case .multipart(let parser):
        try mappingParserErrors { () throws(MultipartError) in try parser.finish() }
        if state.results.isEmpty {
          throw Problem(400, "malformed-request", "Bad Request", detail: "The body contains no file.")
        }
        // If every file failed, the response is the first problem.
        let problems = state.results.compactMap(\.problem)
        if problems.count == state.results.count, let first = problems.first { throw first }
        let isAnyNew = state.results.contains { $0.status == 201 }
        return HTTPResponse(
          HTTPStatus(isAnyNew ? 201 : 200), [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")],
          body: JSONBody.encode(ResultsJSON(results: state.results)))
      }
    }

    private func write(_ piece: [UInt8], _ state: inout State) throws(Problem) {
      guard let file = state.file else { return }
      if file.size + Int64(piece.count) > route.limits.fileBytes { throw route.tooLarge }
      try mappingFileErrors { () throws(LibraryFilesError) in try file.write(piece) }
    }

    private func add(_ file: IncomingFile, named name: String?) throws(Problem) -> AssetLibrary.Upload {
      if file.size == 0 {
        throw Problem(422, "image-unreadable", "The file can't be read", detail: "The file is empty.")
      }
      return try mappingFileErrors { () throws(LibraryFilesError) in
        try route.files.add(file, named: name, for: principal)
      }
    }

    private func mappingFileErrors<Value>(_ body: () throws(LibraryFilesError) -> Value) throws(Problem) -> Value {
      do throws(LibraryFilesError) {
        return try body()
      } catch {
        let problem = Problem(error)
        if problem.status >= 500 { route.logger.error("upload failed", metadata: ["error": "\(error)"]) }
        throw problem
      }
    }

    /// The response for a problem in mid-request: the problem, with the results of the files before it, which stay
    /// stored.
    private func failure(_ problem: Problem, _ state: State) -> HTTPResponse {
      if state.results.isEmpty { return problem.response }
      return problem.response(body: JSONBody.encode(FailureJSON(problem: ProblemJSON(problem), results: state.results)))
    }
  }

  /// The result of one file.
  fileprivate struct FileResult: Encodable, Sendable {
    let filename: String?
    let status: Int
    private let asset: UploadedAssetJSON?
    let problem: Problem?

    init(_ filename: String?, _ upload: AssetLibrary.Upload, for principal: Principal) {
      self.filename = filename
      status = upload.isNew ? 201 : 200
      asset = UploadedAssetJSON(upload.asset, for: principal)
      problem = nil
    }

    init(_ filename: String?, _ problem: Problem) {
      self.filename = filename
      status = problem.status
      asset = nil
      self.problem = problem
    }

    private enum Key: String, CodingKey { case filename, status, asset, problem }

    func encode(to encoder: any Encoder) throws {
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(filename, forKey: .filename)
      try object.encode(status, forKey: .status)
      try object.encodeIfPresent(asset, forKey: .asset)
      try object.encodeIfPresent(problem.map { ProblemJSON($0) }, forKey: .problem)
    }
  }

  fileprivate struct ResultsJSON: Encodable {
    let results: [FileResult]
  }

  fileprivate struct FailureJSON: Encodable {
    let problem: ProblemJSON
    let results: [FileResult]

    private enum Key: String, CodingKey { case results }

    func encode(to encoder: any Encoder) throws {
      try problem.encode(to: encoder)
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(results, forKey: .results)
    }
  }
}

/// The asset in the response to an upload. A sender without read access gets only its identifier and version, because
/// the path would show which other paths exist.
private enum UploadedAssetJSON: Encodable, Sendable {
  case whole(Asset)
  case name(Asset)

  init(_ asset: Asset, for principal: Principal) { self = principal.may(.read) ? .whole(asset) : .name(asset) }

  private enum Key: String, CodingKey { case localIdentifier, contentVersion }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .whole(let asset): try AssetJSON(asset).encode(to: encoder)
    case .name(let asset):
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(asset.localIdentifier.rawValue, forKey: .localIdentifier)
      try object.encode(asset.contentVersion.rawValue, forKey: .contentVersion)
    }
  }
}

extension AssetLibrary.Upload {
  fileprivate var location: String { "/v1/assets/\(asset.localIdentifier.rawValue)" }
}

extension Problem {
  /// The problem for a body that did not arrive completely.
  init(_ failure: BodyFailure) {
    switch failure {
    case .malformed(let error): self.init(error)
    case .timedOut: self.init(ParseError.timedOut)
    // The connection is closed, so this problem is never sent.
    case .closed: self.init(ParseError.timedOut)
    }
  }
}
