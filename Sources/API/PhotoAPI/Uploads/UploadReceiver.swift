// Receives the files of one upload request. The body arrives in pieces. Each piece is written on the upload queue
// before the next one is requested, so a slow disk slows down only this client.

import HTTPCore
import HTTPServer
import LibraryCatalogue
import LibraryFiles
import Logging
import PhotoModel
import Synchronization

/// One upload request. Its steps run one after the other, so the lock is never contended; the compiler needs it for
/// `Sendable`.
final class UploadReceiver: Sendable {
  /// A file of a form that has arrived, or the reason why it does not become an asset.
  private enum ReceivedPart: Sendable {
    case file(IncomingFile, name: String?)
    case refused(Problem, name: String?)
  }

  private struct State: Sendable {
    var form: UploadForm
    /// `nil`: the sender announced none.
    var digest: BodyDigest?
    /// The parts of a form with a digest: nothing is stored before the whole body matches it.
    var heldParts: [(part: ReceivedPart, permit: PermitPool.Permit?)] = []
    /// The file that is being received, and its permit if its form has a digest.
    var file: IncomingFile?
    var heldFilePermit: PermitPool.Permit?
    var name: String?
    /// A part with an empty filename and no bytes so far: browsers send it when no file was selected.
    var isEmptyPart = false
    /// Why the file that is being received does not become an asset. Its bytes are discarded.
    var partProblem: Problem?
    /// Discarded bytes: of the current part, if it is a form field, and of all files that did not become assets.
    var fieldBytes: Int64 = 0
    var refusedBytes: Int64 = 0
    var results: [UploadResult] = []

    var fileCount: Int { results.count + heldParts.count }
  }

  private let route: UploadRoute
  private let body: StreamedBody
  private let principal: Principal
  private let head: RequestHead
  private let reply: Reply
  private let state: Mutex<State>
  /// This request's place among the concurrent uploads. `nil` after its end.
  private let permit: Mutex<PermitPool.Permit?>
  private let hasAdded = Atomic<Bool>(false)

  init(
    _ route: UploadRoute, _ permit: PermitPool.Permit, _ form: UploadForm, _ body: StreamedBody,
    _ digest: BodyDigest?, _ principal: Principal, _ routed: RoutedRequest
  ) {
    self.route = route
    self.permit = Mutex(permit)
    self.body = body
    self.principal = principal
    head = routed.request.head
    reply = routed.reply
    state = Mutex(State(form: form, digest: digest))
  }

  /// Frees this request's place among the concurrent uploads.
  private func end() { _ = permit.withLock { $0.take() } }

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
        case .piece(let piece): return try self.pieceReceived(piece, &state)
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
          // Discards the unfinished file, and those that are not stored.
          state.file = nil
          state.heldFilePermit = nil
          state.heldParts = []
          return state.results.response(to: error)
        }
      }
      guard let response else { return next() }
      // Before the response: the client may send its next upload as soon as it has the response.
      end()
      if hasAdded.load(ordering: .relaxed) { route.onAssetsAdded() }
      reply.send(response)
    }
    if !isAccepted { reply.send(Problem.overloaded.response) }
  }

  // MARK: Steps

  private func beginFile(named name: String?, length: Int?, _ state: inout State) throws(Problem) {
    state.name = name
    state.file = try mappingFileErrors { () throws(LibraryFilesError) in
      try route.files.receive(length: length.map(Int64.init))
    }
  }

  private func pieceReceived(_ piece: [UInt8], _ state: inout State) throws(Problem) -> HTTPResponse? {
    state.digest?.update(piece)
    if case .json(let name, let bytes) = state.form {
      if bytes.isEmpty, piece.first != UInt8(ascii: "{") {
        // The content decides what a file is, not its Content-Type.
        state.form = .single(name: name)
        try beginFile(named: name, length: body.length, &state)
        try write(piece, &state)
        return nil
      }
      guard bytes.count + piece.count <= UploadRoute.jsonBytes else {
        throw Problem(
          413, "file-too-large", "The body is too large",
          detail: "A JSON object that names a staged upload has at most \(UploadRoute.jsonBytes) bytes.")
      }
      state.form = .json(name: name, bytes: bytes + piece)
      return nil
    }
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
      case .part(let part): try endingForm(&state) { state throws(Problem) in try beginPart(part, &state) }
      case .piece(let piece): try endingForm(&state) { state throws(Problem) in try writePart(piece, &state) }
      case .partEnded: endPart(&state)
      case .ended: break
      }
    }
  }

  private func mappingParserErrors<Value>(_ body: () throws(MultipartError) -> Value) throws(Problem) -> Value {
    do throws(MultipartError) { return try body() } catch { throw Problem(error) }
  }

  /// Runs a step that stores bytes of a file. An error in it, such as a full disk, would also fail the later files, so
  /// it ends the form. It is the result of the file, unless the form has a digest: then none of its files is stored,
  /// and none has a result.
  private func endingForm(
    _ state: inout State, _ store: (inout State) throws(Problem) -> Void
  ) throws(Problem) {
    do throws(Problem) {
      try store(&state)
    } catch {
      if state.digest == nil { state.results.append(UploadResult(state.name, error)) }
      throw error
    }
  }

  private func beginPart(_ part: MultipartPart, _ state: inout State) throws(Problem) {
    state.file = nil
    state.heldFilePermit = nil
    state.partProblem = nil
    state.isEmptyPart = false
    state.fieldBytes = 0
    state.name = nil
    // A form field, such as a text, is ignored: it must not fail the files of the form.
    guard let name = part.filename else { return }
    state.isEmptyPart = name.isEmpty
    let limit = state.digest == nil ? route.limits.files : min(route.limits.files, route.limits.heldFiles)
    guard state.fileCount < limit else {
      state.name = name
      // Files beyond the limit have results too, but their number is bounded.
      if state.fileCount >= 2 * limit { throw .tooManyFiles(limit: limit) }
      state.partProblem = .tooManyFiles(limit: limit)
      return
    }
    if state.digest != nil { state.heldFilePermit = try route.holdFile() }
    try beginFile(named: name, length: nil, &state)
  }

  /// A file that is too large does not fail the other files of the form.
  private func writePart(_ piece: [UInt8], _ state: inout State) throws(Problem) {
    state.isEmptyPart = false
    if let file = state.file, isTooLarge(file, with: piece) {
      state.file = nil
      state.partProblem = .fileTooLarge(limit: route.limits.fileBytes)
    }
    try write(piece, &state)
  }

  private func endPart(_ state: inout State) {
    let (received, permit) = (state.file.take(), state.heldFilePermit.take())
    if state.isEmptyPart { return }
    let part: ReceivedPart
    if let problem = state.partProblem.take() {
      part = .refused(problem, name: state.name)
    } else if let received {
      part = .file(received, name: state.name)
    } else {
      return
    }
    if state.digest == nil {
      store(part, &state)
    } else {
      state.heldParts.append((part, received == nil ? nil : permit))
    }
  }

  private func store(_ part: ReceivedPart, _ state: inout State) {
    switch part {
    case .refused(let problem, let name): state.results.append(UploadResult(name, problem))
    case .file(let file, let name):
      do throws(Problem) {
        let upload = try add(file, named: name)
        state.results.append(UploadResult(name, upload, route.tokens, for: principal))
      } catch {
        // The other files may still succeed.
        state.results.append(UploadResult(name, error))
      }
    }
  }

  private func end(_ state: inout State) throws(Problem) -> HTTPResponse? {
    guard state.digest?.matches() ?? true else { throw .digestMismatch() }
    switch state.form {
    case .single(let name):
      guard let file = state.file.take() else { return nil }
      return try add(file, named: name).response(route.tokens, for: principal)
    case .multipart(let parser):
      try mappingParserErrors { () throws(MultipartError) in try parser.finish() }
      while !state.heldParts.isEmpty {
        let held = state.heldParts.removeFirst()
        store(held.part, &state)
      }
      return try state.results.response(for: principal)
    case .json(_, let bytes):
      let response = try route.makeAsset(of: HTTPRequest(head: head, body: bytes), for: principal)
      hasAdded.store(true, ordering: .relaxed)
      return response
    }
  }

  private func write(_ piece: [UInt8], _ state: inout State) throws(Problem) {
    guard let file = state.file else { return try discard(piece.count, &state) }
    if isTooLarge(file, with: piece) { throw .fileTooLarge(limit: route.limits.fileBytes) }
    try mappingFileErrors { () throws(LibraryFilesError) in try file.write(piece) }
  }

  /// Counts bytes that are not stored. A form may have no more of them than one with as many and as large files as are
  /// allowed.
  private func discard(_ count: Int, _ state: inout State) throws(Problem) {
    let limits = route.limits
    if state.partProblem == nil {
      state.fieldBytes += Int64(count)
      if state.fieldBytes > limits.fileBytes { throw .fileTooLarge(limit: limits.fileBytes) }
    } else {
      state.refusedBytes += Int64(count)
      if state.refusedBytes / Int64(max(1, limits.files)) > limits.fileBytes {
        throw .fileTooLarge(limit: limits.fileBytes)
      }
    }
  }

  private func isTooLarge(_ file: IncomingFile, with piece: [UInt8]) -> Bool {
    file.size + Int64(piece.count) > route.limits.fileBytes
  }

  private func add(_ file: IncomingFile, named name: String?) throws(Problem) -> UploadedAsset {
    if file.size == 0 {
      throw Problem(422, "image-unreadable", "The file can't be read", detail: "The file is empty.")
    }
    let added = try mappingFileErrors { () throws(LibraryFilesError) in
      try route.files.add(file, named: name, for: principal)
    }
    if added.isNew { hasAdded.store(true, ordering: .relaxed) }
    return added
  }

  private func mappingFileErrors<Value>(_ body: () throws(LibraryFilesError) -> Value) throws(Problem) -> Value {
    try route.mappingErrors(body)
  }
}
