// `POST /v1/assets`: one file as the body, or several as multipart/form-data. Staged uploads are in UploadRoute+Staged.
//
//     head -> UploadForm -> a place among the concurrent uploads
//          -> UploadReceiver: pieces -> LibraryFiles -> UploadResult

import HTTPCore
import HTTPServer
import ImageService
import LibraryCatalogue
import LibraryFiles
import Logging
import PhotoModel

/// Limits for uploads.
package struct UploadLimits: Sendable, Hashable {
  /// Maximum size of one file.
  package var fileBytes: Int64
  /// Maximum number of files in one request.
  package var files: Int
  /// Maximum number of concurrent upload requests.
  package var concurrent: Int
  /// Maximum number of files of all forms with a digest together: they stay open until their form has arrived.
  package var heldFiles: Int

  package init(fileBytes: Int64 = 4 << 30, files: Int = 100, concurrent: Int = 16, heldFiles: Int = 256) {
    self.fileBytes = fileBytes
    self.files = files
    self.concurrent = concurrent
    self.heldFiles = heldFiles
  }
}

final class UploadRoute: Sendable {
  let files: LibraryFiles
  let tokens: TokenCodec
  let limits: UploadLimits
  let queue: WorkQueue
  let logger: Logger
  /// Called after a request that has added assets.
  let onAssetsAdded: @Sendable () -> Void
  private let uploadPermits: PermitPool
  private let heldFilePermits: PermitPool

  /// - Parameter queue: writes the files (``APIQueues/uploads``).
  init(
    files: LibraryFiles, tokens: TokenCodec, limits: UploadLimits, queue: WorkQueue,
    onAssetsAdded: @escaping @Sendable () -> Void, logger: Logger
  ) {
    self.files = files
    self.tokens = tokens
    self.limits = limits
    uploadPermits = PermitPool(capacity: limits.concurrent)
    heldFilePermits = PermitPool(capacity: limits.heldFiles)
    self.queue = queue
    self.onAssetsAdded = onAssetsAdded
    self.logger = logger
  }

  /// Receives the files of a request.
  ///
  /// - Throws: 400, 413 or 415 if the head does not announce acceptable files; 503 if there are too many uploads.
  func receive(_ body: StreamedBody, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    let form = try UploadForm(routed.request.head, routed.target)
    if case .single = form, let length = body.length, Int64(length) > limits.fileBytes {
      throw .fileTooLarge(limit: limits.fileBytes)
    }
    let digest = try BodyDigest(routed.request.head, isWhole: true)
    let permit = try beginUpload()
    UploadReceiver(self, permit, form, body, digest, principal, routed).begin()
  }

  /// A permit for one of the concurrent uploads. Throws 503 if none is free.
  func beginUpload() throws(Problem) -> PermitPool.Permit {
    if let permit = uploadPermits.acquire() { return permit }
    throw Problem(
      503, "overloaded", "Too many uploads at once",
      detail: "The limit upload.concurrentRequests is reached. Retry after a moment.",
      fields: ["Retry-After": "5"])
  }

  /// A permit for a file that stays open until its form has arrived. Throws 503 if none is free.
  func holdFile() throws(Problem) -> PermitPool.Permit {
    if let permit = heldFilePermits.acquire() { return permit }
    throw Problem(
      503, "overloaded", "Too many files of forms at once",
      detail: "Forms with a checksum keep at most \(limits.heldFiles) files open. Retry after a moment.",
      fields: ["Retry-After": "5"])
  }
}

extension Problem {
  static func fileTooLarge(limit: Int64) -> Problem {
    Problem(
      413, "file-too-large", "The file is too large",
      detail: "A file may have at most \(limit) bytes (upload.fileBytes).")
  }

  static func tooManyFiles(limit: Int) -> Problem {
    Problem(
      413, "too-many-files", "Too many files",
      detail: "This request may have at most \(limit) files (upload.filesPerRequest; fewer with a checksum, for which "
        + "they are kept open). Send the others in another one.")
  }
}
