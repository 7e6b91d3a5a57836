import HTTPCore

/// How an upload's body is read, from its head.
enum UploadForm: Sendable {
  /// The body is the file.
  ///
  /// - Parameter name: the file's name as sent, if it was sent.
  case single(name: String?)
  /// Each part of the body is a file.
  case multipart(MultipartParser)
  /// The body is a JSON object that names a staged upload, or a file if it does not begin like an object.
  ///
  /// - Parameters:
  ///   - name: of the file, as sent.
  ///   - bytes: received so far.
  case json(name: String?, bytes: [UInt8])

  /// - Throws: 400 or 415.
  init(_ head: RequestHead, _ target: RequestTarget) throws(Problem) {
    let name = try Self.filename(head, target)
    let type = head.value(of: .contentType) ?? "application/octet-stream"
    if type.split(separator: ";").first?.lowercased() == JSONBody.mediaType {
      self = .json(name: name, bytes: [])
      return
    }
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
    self = .single(name: name)
  }

  /// The file's name as sent: from the query, else from Content-Disposition. Throws 400 for another query parameter.
  static func filename(_ head: RequestHead, _ target: RequestTarget) throws(Problem) -> String? {
    var query = try QueryReader(target)
    let name = query.text("filename")
    try query.finish()
    var fields = FieldParameters(head.value(of: .contentDisposition) ?? "")
    let disposition = fields.takeExtendedValue("filename") ?? fields.take("filename")
    return name ?? disposition
  }
}
