import HTTPCore

/// How an upload's body is read, from its head.
enum UploadForm: Sendable {
  /// The body is the file.
  ///
  /// - Parameter name: the file's name as sent, if it was sent.
  case single(name: String?)
  /// Each part of the body is a file.
  case multipart(MultipartParser)

  /// - Throws: 400 or 415.
  init(_ head: RequestHead, _ target: RequestTarget) throws(Problem) {
    var query = try QueryReader(target)
    let name = query.text("filename")
    try query.finish()
    let type = head.value(of: .contentType) ?? "application/octet-stream"
    var fields = FieldParameters(head.value(of: .contentDisposition) ?? "")
    let disposition = fields.takeExtendedValue("filename") ?? fields.take("filename")
    do throws(MultipartError) {
      if let boundary = try MultipartParser.boundary(of: type) {
        self = .multipart(try MultipartParser(boundary: boundary))
        return
      }
    } catch {
      throw Problem(error)
    }
    if type.lowercased().hasPrefix("multipart/") {
      throw Problem(
        415, "media-type-unsupported", "Unsupported media type",
        detail: "Send several files as multipart/form-data, or one file as the body itself.")
    }
    self = .single(name: name ?? disposition)
  }
}
