import HTTPCore
import ImageService
import MediaMetadata
import PhotoModel

extension Problem {
  static let resourceNotFound = Problem(
    404, "resource-not-found", "The asset has no such file",
    detail: "GET /v1/assets/{localIdentifier}/resources lists the asset's files by type.")

  static func archiveTooLarge(_ limits: ArchiveLimits) -> Problem {
    Problem(
      400, "archive-too-large", "Too many files for an archive",
      detail: """
        An archive has at most \(limits.files) files (archives.maximumFiles), and their names fit into \
        archives.memoryBytes. Request several smaller archives.
        """)
  }

  static let archiveTooSlow = Problem(
    503, "archive-too-slow", "The archive took too long",
    detail: "Its files could not be opened within archives.planSeconds. Request several smaller archives.",
    fields: ["Retry-After": "60"])

  /// The error's own text goes to the log: it describes the file's structure.
  init(_ error: LocationRemovalError) {
    switch error {
    case .unsupported, .malformed, .overlap, .limitExceeded:
      self.init(
        403, "location-scope-needed", "The places in this file can't be removed",
        detail: "The file can only be downloaded with its places: use includeLocation=true (scope location).")
    case .readFailed:
      self.init(
        500, "original-unreadable", "The original can't be read",
        detail: "Reading the asset's file failed. See the daemon's log.")
    }
  }
}

extension ImageServiceError {
  init(_ error: BodySourceError) {
    switch error {
    case .fileChanged: self = .originalChanged
    case .readFailed(let code): self.init(OriginalStoreError.failed(SystemError(code: code)))
    case .overloaded: self = .queueFull
    }
  }
}
