// Receives the body of one request to a staged upload. Each piece is written on the upload queue before the next one is
// requested. However the request ends, the bytes that were written stay.

import HTTPCore
import HTTPServer
import LibraryCatalogue
import LibraryFiles
import Synchronization

/// One request. Its steps run one after the other, so the lock is never contended; the compiler needs it for
/// `Sendable`.
final class StagedUploadReceiver: Sendable {
  private let route: UploadRoute
  /// `nil`: the request has no body.
  private let body: StreamedBody?
  private let isNew: Bool
  private let isEnd: Bool
  private let reply: Reply
  private let append = Mutex<StagedAppend?>(nil)
  /// `nil`: the sender announced no digest.
  private let digest: Mutex<BodyDigest?>
  /// This request's place among the concurrent uploads. `nil` after its end.
  private let permit: Mutex<PermitPool.Permit?>

  /// - Parameters:
  ///   - isNew: the request creates the staged upload.
  ///   - isEnd: the file ends with this body.
  ///   - digest: that the sender announced for this body.
  init(
    _ route: UploadRoute, _ permit: PermitPool.Permit, _ body: StreamedBody?, isNew: Bool, isEnd: Bool,
    digest: BodyDigest?, _ reply: Reply
  ) {
    self.route = route
    self.permit = Mutex(permit)
    self.body = body
    self.isNew = isNew
    self.isEnd = isEnd
    self.digest = Mutex(digest)
    self.reply = reply
  }

  /// Frees this request's place among the concurrent uploads.
  private func end() { _ = permit.withLock { $0.take() } }

  /// - Parameter open: creates or finds the staged upload, on the upload queue.
  func begin(_ open: @escaping @Sendable () throws(LibraryFilesError) -> StagedAppend) {
    step { [self] () throws(Problem) in
      let opened = try route.mappingErrors(open)
      append.withLock { $0 = opened }
      opened.onSupersede { [weak self] in self?.superseded() }
      return body == nil ? try finish(opened) : nil
    }
  }

  /// A newer request has ended this one, whose connection is often dead. Its place is free at once, not only when the
  /// body times out. The read that fails leads to the response.
  private func superseded() {
    end()
    body?.cancel()
  }

  private func next() {
    body?.read { [self] read in
      step { [self] () throws(Problem) in
        guard let append = append.withLock({ $0 }) else { return nil }
        switch read {
        case .piece(let piece):
          guard append.offset + Int64(piece.count) <= route.limits.fileBytes else {
            throw .fileTooLarge(limit: route.limits.fileBytes)
          }
          digest.withLock { $0?.update(piece) }
          try route.mappingErrors { () throws(LibraryFilesError) in try append.write(piece) }
          return nil
        case .end: return try finish(append)
        case .failed(let failure):
          // The bytes so far stay as a part of the file. They can't be checked: the digest is of the whole body.
          _ = try route.mappingErrors { () throws(LibraryFilesError) in try route.files.finish(append, isEnd: false) }
          throw Problem(failure)
        }
      }
    }
  }

  private func finish(_ append: StagedAppend) throws(Problem) -> HTTPResponse {
    guard digest.withLock({ $0?.matches() ?? true }) else {
      try route.mappingErrors { () throws(LibraryFilesError) in try append.discard() }
      throw .digestMismatch(fields: ["Upload-Offset": String(append.start)])
    }
    let progress = try route.mappingErrors { () throws(LibraryFilesError) in
      try route.files.finish(append, isEnd: isEnd)
    }
    let fields = route.fields(of: progress)
    guard isNew else { return HTTPResponse(204, fields) }
    struct Payload: Encodable {
      let upload: String
    }
    let identifier = append.upload.identifier.rawValue
    var response = HTTPResponse.json(
      Payload(upload: identifier), status: 201, location: "/v1/uploads/\(identifier)")
    response.head.fields += fields.filter { $0.name != "Cache-Control" }
    return response
  }

  /// Runs a step on the queue. Sends the response if the step gives one; otherwise reads the next piece of the body.
  private func step(_ body: @escaping @Sendable () throws(Problem) -> HTTPResponse?) {
    let isAccepted = route.queue.submit { [self] in
      do throws(Problem) {
        guard let response = try body() else { return next() }
        finish(with: response)
      } catch {
        finish(with: response(to: error))
      }
    }
    if !isAccepted { finish(with: Problem.overloaded.response) }
  }

  /// The problem also names the staged upload, so that a client that has no identifier yet can continue.
  private func response(to problem: Problem) -> HTTPResponse {
    guard let append = append.withLock({ $0 }) else { return problem.response }
    var problem = problem
    if isNew { problem.fields["Location"] = "/v1/uploads/\(append.upload.identifier.rawValue)" }
    return problem.response
  }

  private func finish(with response: HTTPResponse) {
    append.withLock { $0 = nil }
    // Before the response: the client may send its next upload as soon as it has the response.
    end()
    reply.send(response)
  }
}
