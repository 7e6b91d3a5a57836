import LibraryCatalogue

// Problems of staged uploads. Those about bytes carry Upload-Offset, so that the client can continue without a HEAD.

extension Problem {
  static let uploadNotFound = Problem(
    404, "upload-not-found", "No such upload",
    detail: "You have no such staged upload. It may have been used, deleted, or removed because it received nothing "
      + "for upload.stagedSeconds. POST /v1/uploads creates one.", parameter: "upload")

  /// - Parameter error: one of the cases about staged uploads.
  static func stagedUpload(_ error: LibraryFilesError) -> Problem {
    switch error {
    case .uploadIncomplete(let offset):
      return Problem(
        409, "upload-incomplete", "The upload is incomplete",
        detail: "The staged upload has \(offset) bytes and is not complete. Send the rest with PATCH, the last part "
          + "with Upload-Complete: ?1.", fields: uploadOffset(offset))
    case .uploadComplete(let offset):
      return Problem(
        409, "upload-complete", "The upload is complete",
        detail: "The staged upload is complete and takes no more bytes. Create an asset from it, or delete it.",
        fields: uploadOffset(offset).merging(["Upload-Complete": "?1"]) { $1 })
    case .uploadOffsetMismatch(let offset):
      return Problem(
        409, "upload-offset-mismatch", "Wrong upload offset",
        detail: "The staged upload has \(offset) bytes. Continue there.", parameter: "Upload-Offset",
        fields: uploadOffset(offset))
    case .uploadLengthMismatch(let length, let offset):
      return Problem(
        400, "upload-length-mismatch", "The length does not match",
        detail: "The staged upload was announced with \(length) bytes and has \(offset). A request may not exceed "
          + "that length, and may end the file only there.", parameter: "Upload-Length",
        fields: uploadOffset(offset))
    case .uploadSuperseded:
      return Problem(
        409, "upload-superseded", "Another request continues the upload",
        detail: "A newer request for the same staged upload has ended this one. Its bytes so far are kept.")
    case .uploadNamedTwice(let identifier):
      return invalidParameter("The staged upload \(identifier) is named twice. Name each staged upload once.")
    case .tooManyUploads(let limit):
      return Problem(
        429, "too-many-uploads", "Too many staged uploads",
        detail: "You have \(limit) staged uploads, which is the limit (upload.stagedPerCaller). Use or delete some.",
        fields: ["Retry-After": "60"])
    case .stagedStorageFull(let limit):
      return Problem(
        507, "staged-storage-full", "No room for staged uploads",
        detail: "All staged uploads together may have at most \(limit) bytes (upload.stagedBytes). Use or delete some.")
    default: return uploadNotFound
    }
  }

  private static func uploadOffset(_ offset: Int64) -> [String: String] { ["Upload-Offset": String(offset)] }
}
