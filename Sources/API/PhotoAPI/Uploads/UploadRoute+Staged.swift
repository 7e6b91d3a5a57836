// Staged uploads, and assets created from them.
//
//     POST /v1/uploads           201 and the identifier; the body, if any, has the first bytes
//     GET, HEAD /v1/uploads/ID   204 with the offset
//     PATCH /v1/uploads/ID       204; the body continues at Upload-Offset
//     DELETE /v1/uploads/ID      204
//     POST /v1/assets            {"upload": ID}: the asset

import HTTPCore
import HTTPServer
import LibraryCatalogue
import LibraryFiles
import Logging
import PhotoModel

extension UploadRoute {
  /// Maximum size of the JSON body that names a staged upload.
  static let jsonBytes = 4096

  /// Creates a staged upload.
  func create(_ body: StreamedBody?, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let head = routed.request.head
    let name = try UploadForm.filename(head, routed.target)
    let fields = try UploadFields(head)
    if let offset = fields.offset, offset != 0 { throw QueryReader.invalid("Upload-Offset", "must be 0 or absent") }
    let announced = Self.announcedBytes(body)
    if let announced, let length = fields.length, fields.isEnd ? announced != length : announced > length {
      throw Problem.stagedUpload(.uploadLengthMismatch(length: length, offset: 0))
    }
    let digest = try BodyDigest(head, isWhole: fields.isEnd)
    // With Upload-Complete: ?1 the whole file is in this request.
    let length = fields.length ?? (fields.isEnd ? announced : nil)
    if max(length ?? 0, announced ?? 0) > limits.fileBytes { throw .fileTooLarge(limit: limits.fileBytes) }
    let permit = try beginUpload()
    let receiver = StagedUploadReceiver(
      self, permit, body, isNew: true, isEnd: fields.isEnd, digest: digest, routed.reply)
    receiver.begin { [files] () throws(LibraryFilesError) in
      try files.stage(named: name, length: length, for: principal)
    }
  }

  /// Continues a staged upload.
  func append(_ body: StreamedBody?, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let head = routed.request.head
    let type = head.value(of: .contentType)?.split(separator: ";").first.map(String.init)?.lowercased()
    guard type == UploadFields.partialType else {
      throw Problem(
        415, "media-type-unsupported", "Unsupported media type",
        detail: "Send a part of a file as \(UploadFields.partialType).",
        fields: ["Accept-Patch": UploadFields.partialType])
    }
    let fields = try UploadFields(head)
    guard let offset = fields.offset else {
      throw QueryReader.invalid("Upload-Offset", "is missing; HEAD gives the offset to continue at")
    }
    let digest = try BodyDigest(head, isWhole: false)
    let identifier = try Self.identifier(routed)
    let announced = Self.announcedBytes(body)
    guard (announced ?? 0) <= limits.fileBytes - offset, (fields.length ?? 0) <= limits.fileBytes else {
      throw .fileTooLarge(limit: limits.fileBytes)
    }
    let permit = try beginUpload()
    let receiver = StagedUploadReceiver(
      self, permit, body, isNew: false, isEnd: fields.isEnd, digest: digest, routed.reply)
    receiver.begin { [files] () throws(LibraryFilesError) in
      try files.append(
        to: identifier, at: offset, bytes: announced, length: fields.length, isEnd: fields.isEnd, for: principal)
    }
  }

  /// The state of a staged upload. HEAD ends a request that still appends to it, from callers who may continue it:
  /// its owner, from no page or from a page that may upload. GET only reads, because any page can send one.
  func progress(_ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let identifier = try Self.identifier(routed)
    let endsAppend = routed.request.method == .head && routed.reach == .everything
    try routed.respond(on: queue) { [self] () throws(Problem) in
      let progress = try mappingErrors { () throws(LibraryFilesError) in
        try files.progress(of: identifier, for: principal, endsAppend: endsAppend)
      }
      return HTTPResponse(204, fields(of: progress))
    }
  }

  /// Deletes a staged upload.
  func delete(_ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let identifier = try Self.identifier(routed)
    try routed.respond(on: queue) { [self] () throws(Problem) in
      try mappingErrors { () throws(LibraryFilesError) in try files.deleteStaged(identifier, for: principal) }
      return HTTPResponse(204, [("Cache-Control", "no-store")])
    }
  }

  /// Creates an asset from a staged upload, which a JSON body names.
  func makeAsset(of request: HTTPRequest, for principal: Principal) throws(Problem) -> HTTPResponse {
    var body = try JSONObjectReader(request)
    let text = try body.text("upload")
    try body.finish()
    guard let text else { throw QueryReader.invalid("upload", "is missing") }
    guard let identifier = UploadIdentifier(text) else { throw .uploadNotFound }
    let upload = try mappingErrors { () throws(LibraryFilesError) in try files.addStaged(identifier, for: principal) }
    return upload.response(tokens, for: principal)
  }

  /// The fields that describe a staged upload.
  func fields(of progress: StagedUploadProgress) -> [(name: String, value: String)] {
    var fields = [
      (name: "Cache-Control", value: "no-store"), ("Upload-Offset", String(progress.offset)),
      ("Upload-Complete", progress.isComplete ? "?1" : "?0"),
      ("Upload-Limit", "max-size=\(limits.fileBytes), max-age=\(files.stagedSeconds)"),
    ]
    if let length = progress.length { fields.append(("Upload-Length", String(length))) }
    return fields
  }

  func mappingErrors<Value>(_ body: () throws(LibraryFilesError) -> Value) throws(Problem) -> Value {
    do throws(LibraryFilesError) {
      return try body()
    } catch {
      throw loggedProblem(error)
    }
  }

  /// The problem of an error, which is logged if the response does not say enough. Not inlined: the code above exists
  /// once for each type of value.
  @inline(never)
  private func loggedProblem(_ error: LibraryFilesError) -> Problem {
    let problem = Problem(error)
    if problem.status >= 500 {
      // 503 asks the caller to retry; nothing is left to do here.
      let level = problem.status == 503 ? Logger.Level.warning : .error
      logger.log(level: level, "upload failed", metadata: ["error": "\(error)"])
    } else {
      switch error {
      // The response does not name the file or the folder, so the log does.
      case .failed, .linkedFolder: logger.warning("upload failed", metadata: ["error": "\(error)"])
      default: break
      }
    }
    return problem
  }

  /// The length of the body: 0 if there is none, `nil` if it is chunked.
  private static func announcedBytes(_ body: StreamedBody?) -> Int64? {
    guard let body else { return 0 }
    return body.length.map(Int64.init)
  }

  private static func identifier(_ routed: RoutedRequest) throws(Problem) -> UploadIdentifier {
    guard let identifier = UploadIdentifier(routed.route["upload"]) else { throw .uploadNotFound }
    return identifier
  }
}
