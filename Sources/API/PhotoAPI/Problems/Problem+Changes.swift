import LibraryCatalogue
import PhotoModel

extension Problem {
  init(_ error: ChangeHistoryError, parameter: String) {
    switch error {
    case .malformedToken:
      self = QueryReader.invalid(parameter, "must be a changeToken that this library issued")
    case .expiredToken: self = .expiredToken(parameter)
    case .noSuchCollection:
      self = .collectionNotFound
    case .noSuchAsset:
      self = .assetNotFound.naming("asset")
    case .source(let error): self.init(error)
    }
  }

  static func expiredToken(_ parameter: String) -> Problem {
    Problem(
      410, "change-token-expired", "The change token has expired",
      detail: "The history since that token is no longer kept. Fetch again and continue from the new changeToken.",
      parameter: parameter)
  }

  static let changeListHasNoTag = Problem(
    412, "precondition-failed", "Precondition failed",
    detail: "A change list has no entity tag that If-Match could name. No change was made. Give the revision of an "
      + "object as ifMatch of its entry.")

  static let libraryReadOnly = Problem(
    409, "library-read-only", "The library is read-only",
    detail: "The setting readOnly is on, the library is on a web server, which photod only reads, or the disk of the "
      + "library or of its catalogue is mounted read-only."
  )

  static let insufficientStorage = Problem(
    507, "insufficient-storage", "Insufficient storage",
    detail: "The disk of the library or of its catalogue is full. No change was made.")

  init(_ error: ChangeListError) {
    self = Self.problem(error.reason)
    if let parameter = error.parameter { self.parameter = parameter }
    index = error.index
  }

  private static func problem(_ reason: ChangeListError.Reason) -> Problem {
    switch reason {
    case .noSuchAsset(let name): return assetNotFound(named: name)
    case .noSuchCollection(let name):
      return Problem(
        404, "collection-not-found", "No such collection",
        detail: "There is no collection with the localIdentifier \(name.prefix(64)).")
    case .notEditable(let name):
      return Problem(
        409, "collection-not-editable", "The collection can't be edited",
        detail: "\(name.prefix(64)) is not an album or folder. Its contents are computed from the library.")
    case .notAnAlbum(let name):
      return Problem(
        409, "not-an-album", "Not an album", detail: "\(name.prefix(64)) is a folder; only albums contain assets.")
    case .notAFolder(let name):
      return Problem(
        409, "not-a-folder", "Not a folder", detail: "\(name.prefix(64)) is an album; only folders hold collections.")
    case .noSuchPlaceholder(let name):
      return invalidParameter("No earlier entry creates \(name.prefix(64)), or it creates an object of another kind.")
    case .placeholderInUse(let name):
      return invalidParameter("An earlier entry already uses the placeholder \(name.prefix(64)).")
    case .revisionMismatch(let name):
      return Problem(
        412, "precondition-failed", "Precondition failed",
        detail: "\(name.prefix(64)) has another revision now. Get it again and retry with the new revision.")
    case .notAMember(let name):
      return Problem(
        409, "not-a-member", "Not a member", detail: "The asset \(name.prefix(64)) is not in the album.")
    case .notAdjustable(let name): return notAdjustable(name)
    case .notOfBurst(let name):
      return Problem(
        409, "not-of-a-burst", "Not part of a burst",
        detail: "The asset \(name.prefix(64)) is not part of a burst; only pictures of a burst can be picked.")
    case .dayOutOfRange:
      return invalidParameter("The day of the asset must be in the years 0000 to 9999.")
    case .namedTwice(let name):
      return invalidParameter("The album or folder would contain \(name.prefix(64)) twice.")
    case .indexOutOfRange(let most):
      return invalidParameter(
        "Indexes must be from 0 to \(most). They count all members, also hidden ones, except the moved ones.")
    case .folderCycle:
      return Problem(
        409, "folder-cycle", "Folder cycle", detail: "A folder can't contain itself or a folder that contains it.")
    case .foldersTooDeep(let limit):
      return Problem(
        409, "folders-too-deep", "Folders too deep", detail: "At most \(limit) levels of folders are allowed.")
    case .tooManyMembers(let limit):
      return Problem(
        409, "too-many-members", "Too many members", detail: "An album or folder has at most \(limit) members.")
    case .outsideOfGrant:
      return Problem(
        403, "outside-of-grant", "Outside of your access",
        detail: "You have access to some collections only. Give a folder among them as the parent.")
    case .forbidden:
      return Problem(
        403, "outside-of-grant", "Outside of your access",
        detail: "You have access to some collections only, not to files. Upload the file instead.")
    case .files(let error): return problem(error)
    case .source(let error): return Problem(error)
    }
  }

  /// The problem, with the name of the entry's member at fault.
  private static func problem(_ error: LibraryFilesError) -> Problem {
    var problem = Problem(error)
    switch error {
    case .noSuchAsset, .notInTrash, .linkedFile, .fileReplaced, .fileRenamed: problem.parameter = "asset"
    case .noSuchFile, .notMedia, .damagedMedia: problem.parameter = "path"
    case .noSuchUpload, .uploadIncomplete, .uploadNamedTwice: problem.parameter = "upload"
    case .readOnly, .busy, .insufficientStorage, .storeFailed, .failed, .catalogue, .uploadComplete,
      .uploadOffsetMismatch, .uploadLengthMismatch, .uploadSuperseded, .tooManyUploads, .stagedStorageFull,
      .diskMissing, .linkedFolder:
      break
    }
    return problem
  }

  static func notAdjustable(_ name: String) -> Problem {
    Problem(
      422, "not-adjustable", "Not adjustable",
      detail: "The asset \(name.prefix(64)) is not a picture; only pictures have adjustments.")
  }

  /// The same problem for the entry at an index.
  func at(_ index: Int) -> Problem {
    var problem = self
    problem.index = index
    return problem
  }
}
