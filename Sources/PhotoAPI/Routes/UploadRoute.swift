// `POST /v1/assets`: an image as the body, or several as multipart/form-data. The body comes in pieces; each is written on
// the upload queue before the next is asked for, so that a slow disk slows its sender, and nobody else.

import AssetLibrary
import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel
import Synchronization

/// What one sender may send.
package struct UploadLimits: Sendable, Hashable {
  /// A file.
  package var fileBytes: Int64
  /// Files in one request.
  package var files: Int
  /// Requests at once.
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
  private let underWay = Atomic<Int>(0)

  /// - Parameter queue: where files are written; it takes as many at once as there may be.
  init(files: LibraryFiles, limits: UploadLimits, queue: WorkQueue, logger: Logger) {
    self.files = files
    self.limits = limits
    self.queue = queue
    self.logger = logger
  }

  /// Whether a request's body is for here.
  static func takes(_ head: RequestHead) -> Bool {
    head.method == .post && Route(head.parsedTarget.segments) == .assets
  }

  /// Takes a body that the principal may send.
  func receive(
    _ head: RequestHead, _ target: RequestTarget, _ body: StreamedBody, _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    var query = try QueryReader(target)
    let name = query.text("filename")
    try query.finish()
    let type = head.value(of: .contentType) ?? "application/octet-stream"
    var fields = FieldParameters(head.value(of: .contentDisposition) ?? "")
    let disposition = fields.takeExtended("filename") ?? fields.take("filename")
    let form: Upload.Form
    do throws(MultipartError) {
      if let boundary = try MultipartParser.boundary(of: type) {
        form = .several(try MultipartParser(boundary: boundary))
      } else {
        form = .one(name: name ?? disposition)
      }
    } catch {
      throw Problem(400, "malformed-request", "Bad Request", detail: error.explanation)
    }
    if type.lowercased().hasPrefix("multipart/"), case .one = form {
      throw Problem(
        415, "media-type-unsupported", "Unsupported media type",
        detail: "Several files come as multipart/form-data, one as the body itself.")
    }
    if let length = body.length, case .one = form, Int64(length) > limits.fileBytes { throw tooLarge }
    guard underWay.add(1, ordering: .relaxed).newValue <= limits.concurrent else {
      underWay.subtract(1, ordering: .relaxed)
      throw Problem(
        503, "overloaded", "Too many uploads at once",
        detail: "upload.concurrent are under way; ask again in a moment.",
        fields: ["Retry-After": "5"])
    }
    Upload(self, form, body, principal, reply).begin()
  }

  var tooLarge: Problem {
    Problem(
      413, "file-too-large", "The file is too large",
      detail: "A file may have up to \(limits.fileBytes) bytes (upload.bytes).")
  }

  fileprivate func ended() { underWay.subtract(1, ordering: .relaxed) }
}

extension UploadRoute {
  /// One request. Its steps follow each other; the lock is there for the compiler, and nobody ever waits for it.
  fileprivate final class Upload: Sendable {
    enum Form: Sendable {
      case one(name: String?)
      case several(MultipartParser)
    }

    private struct State: Sendable {
      var form: Form
      /// Under way.
      var file: IncomingFile?
      var name: String?
      /// A part without a file, as browsers send it where nobody chose one.
      var isEmptyPart = false
      var results: [Result] = []
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

    /// Its place is another's.
    private func end() {
      if !hasEnded.exchange(true, ordering: .relaxed) { route.ended() }
    }

    func begin() {
      step { state throws(Problem) in
        // Before the body is asked for: a library that can't take it says so now.
        if case .one(let name) = state.form { try self.beginFile(named: name, length: self.body.length, &state) }
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

    /// Runs a step on the queue, and answers with what it gives; else asks for more of the body.
    private func step(_ body: @escaping @Sendable (inout State) throws(Problem) -> HTTPResponse?) {
      let isAccepted = route.queue.submit { [self] in
        let response = state.withLock { state -> HTTPResponse? in
          do throws(Problem) {
            return try body(&state)
          } catch {
            // What was not finished is gone with this.
            state.file = nil
            return failure(error, state)
          }
        }
        guard let response else { return next() }
        // Before the answer, which may bring the next one.
        end()
        reply.send(response)
      }
      if !isAccepted { reply.send(Problem(ImageServiceError.queueFull).response) }
    }

    // MARK: Steps

    private func beginFile(named name: String?, length: Int?, _ state: inout State) throws(Problem) {
      state.name = name
      state.file = try calling { () throws(LibraryFilesError) in try route.files.receive(length: length.map(Int64.init))
      }
    }

    private func take(_ piece: [UInt8], _ state: inout State) throws(Problem) -> HTTPResponse? {
      guard case .several(var parser) = state.form else {
        try write(piece, &state)
        return nil
      }
      // Not copied while it is changed.
      state.form = .one(name: nil)
      defer { state.form = .several(parser) }
      parser.append(piece)
      while true {
        switch try parsed({ () throws(MultipartError) in try parser.next() }) {
        case .needsInput: return nil
        case .part(let part): try beginPart(part, &state)
        case .piece(let piece): try write(piece, &state)
        case .partEnded: endPart(&state)
        case .ended: break
        }
      }
    }

    private func parsed<Value>(_ body: () throws(MultipartError) -> Value) throws(Problem) -> Value {
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
          detail: "Every part is a file, with a filename; \((part.name ?? "one").prefix(64)) is none.",
          parameter: part.name.map { String($0.prefix(64)) })
      }
      if state.results.count == route.limits.files {
        throw Problem(
          413, "too-many-files", "Too many files",
          detail: "One request holds up to \(route.limits.files) files (upload.files).")
      }
      state.isEmptyPart = name.isEmpty
      try beginFile(named: name, length: nil, &state)
    }

    private func endPart(_ state: inout State) {
      guard let file = state.file.take() else { return }
      if state.isEmptyPart && file.size == 0 { return }
      do throws(Problem) {
        state.results.append(Result(state.name, try add(file, named: state.name)))
      } catch {
        // The others may be better.
        state.results.append(Result(state.name, error))
      }
    }

    private func end(_ state: inout State) throws(Problem) -> HTTPResponse? {
      switch state.form {
      case .one(let name):
        guard let file = state.file.take() else { return nil }
        let upload = try add(file, named: name)
        let fields = [
          ("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store"), ("Location", upload.location),
        ]
        return HTTPResponse(
          HTTPStatus(upload.isNew ? 201 : 200), fields, body: JSONBody.encode(AssetJSON(upload.asset)))
      case .several(let parser):
        try parsed { () throws(MultipartError) in try parser.finish() }
        if state.results.isEmpty {
          throw Problem(400, "malformed-request", "Bad Request", detail: "There is no file in the body.")
        }
        // Where nothing came of any of them, the first says why.
        let problems = state.results.compactMap(\.problem)
        if problems.count == state.results.count, let first = problems.first { throw first }
        let isAnyNew = state.results.contains { $0.status == 201 }
        return HTTPResponse(
          HTTPStatus(isAnyNew ? 201 : 200), [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")],
          body: JSONBody.encode(Results(results: state.results)))
      }
    }

    private func write(_ piece: [UInt8], _ state: inout State) throws(Problem) {
      guard let file = state.file else { return }
      if file.size + Int64(piece.count) > route.limits.fileBytes { throw route.tooLarge }
      try calling { () throws(LibraryFilesError) in try file.write(piece) }
    }

    private func add(_ file: IncomingFile, named name: String?) throws(Problem) -> AssetLibrary.Upload {
      if file.size == 0 {
        throw Problem(422, "image-unreadable", "The file can't be read", detail: "There is nothing in it.")
      }
      return try calling { () throws(LibraryFilesError) in
        try route.files.add(file, named: name, for: principal)
      }
    }

    private func calling<Value>(_ body: () throws(LibraryFilesError) -> Value) throws(Problem) -> Value {
      do throws(LibraryFilesError) {
        return try body()
      } catch {
        let problem = Problem(error)
        if problem.status >= 500 { route.logger.error("an upload failed", metadata: ["error": "\(error)"]) }
        throw problem
      }
    }

    /// A problem, and what came of the files before it: those are there.
    private func failure(_ problem: Problem, _ state: State) -> HTTPResponse {
      if state.results.isEmpty { return problem.response }
      return problem.response(body: JSONBody.encode(Failure(problem: ProblemJSON(problem), results: state.results)))
    }
  }

  /// What came of one file.
  fileprivate struct Result: Encodable, Sendable {
    let filename: String?
    let status: Int
    private let asset: Asset?
    let problem: Problem?

    init(_ filename: String?, _ upload: AssetLibrary.Upload) {
      self.filename = filename
      status = upload.isNew ? 201 : 200
      asset = upload.asset
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
      try object.encodeIfPresent(asset.map { AssetJSON($0) }, forKey: .asset)
      try object.encodeIfPresent(problem.map { ProblemJSON($0) }, forKey: .problem)
    }
  }

  fileprivate struct Results: Encodable {
    let results: [Result]
  }

  fileprivate struct Failure: Encodable {
    let problem: ProblemJSON
    let results: [Result]

    private enum Key: String, CodingKey { case results }

    func encode(to encoder: any Encoder) throws {
      try problem.encode(to: encoder)
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(results, forKey: .results)
    }
  }
}

extension AssetLibrary.Upload {
  fileprivate var location: String { "/v1/assets/\(asset.localIdentifier.rawValue)" }
}

extension Problem {
  /// Why a body did not come.
  init(_ failure: BodyFailure) {
    switch failure {
    case .malformed(let error): self.init(error)
    case .timedOut: self.init(ParseError.timedOut)
    // Nobody is there to be told.
    case .closed: self.init(ParseError.timedOut)
    }
  }
}
