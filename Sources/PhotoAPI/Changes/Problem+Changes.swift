import AssetLibrary
import PhotoModel

extension Problem {
  init(_ error: ChangeHistoryError, parameter: String) {
    switch error {
    case .malformedToken:
      self = QueryReader.invalid(parameter, "is a changeToken that this library gave out")
    case .expiredToken: self = .expiredToken(parameter)
    case .noSuchCollection:
      self = .collectionNotFound
      self.parameter = "collection"
    case .source(let error): self.init(error)
    }
  }

  static func expiredToken(_ parameter: String) -> Problem {
    Problem(
      410, "change-token-expired", "The change token has expired",
      detail: "What changed right behind it is not known any more; fetch anew, and go on from the changeToken of that.",
      parameter: parameter)
  }

  static let libraryReadOnly = Problem(
    409, "library-read-only", "The library is read-only",
    detail: "Its files, or its catalogue, may only be read: by the setting readOnly, or because the disk is mounted so."
  )

  static let insufficientStorage = Problem(
    507, "insufficient-storage", "The disk is full",
    detail: "There is no room for the change on the disk of the library or of its catalogue; nothing has changed.")

  init(_ error: ChangeListError) {
    self = Self.problem(error.reason)
    if let parameter = error.parameter { self.parameter = parameter }
    index = error.index
  }

  private static func problem(_ reason: ChangeListError.Reason) -> Problem {
    switch reason {
    case .noSuchAsset(let name):
      return Problem(404, "asset-not-found", "No such asset", detail: "There is no asset \(name.prefix(64)).")
    case .noSuchCollection(let name):
      return Problem(
        404, "collection-not-found", "No such collection", detail: "There is no collection \(name.prefix(64)).")
    case .notEditable(let name):
      return Problem(
        409, "collection-not-editable", "The collection can't be edited",
        detail: "\(name.prefix(64)) is no album or folder: what is in it follows from the library.")
    case .notAnAlbum(let name):
      return Problem(
        409, "not-an-album", "Not an album", detail: "\(name.prefix(64)) is a folder; assets are in albums.")
    case .notAFolder(let name):
      return Problem(
        409, "not-a-folder", "Not a folder", detail: "\(name.prefix(64)) is an album; collections are in folders.")
    case .noSuchPlaceholder(let name):
      return Problem(
        400, "invalid-parameter", "Invalid parameter",
        detail: "No entry before this one creates \(name.prefix(64)), or it is of another kind.")
    case .placeholderInUse(let name):
      return Problem(
        400, "invalid-parameter", "Invalid parameter",
        detail: "An entry before this one is called \(name.prefix(64)) already.")
    case .revisionMismatch(let name):
      return Problem(
        412, "precondition-failed", "Precondition failed",
        detail: "The revision of \(name.prefix(64)) is another one; get it anew.")
    case .notAMember(let name):
      return Problem(
        409, "not-a-member", "Not a member", detail: "The asset \(name.prefix(64)) is not in the album.")
    case .namedTwice(let name):
      return Problem(
        400, "invalid-parameter", "Invalid parameter", detail: "\(name.prefix(64)) would be in the album twice.")
    case .indexOutOfRange(let most):
      return Problem(
        400, "invalid-parameter", "Invalid parameter",
        detail: "Indexes here go from 0 to \(most); they count every member, hidden ones too, without those that move.")
    case .folderCycle:
      return Problem(
        409, "folder-cycle", "A folder in itself", detail: "A folder can't lie in itself, nor in what lies in it.")
    case .foldersTooDeep(let limit):
      return Problem(
        409, "folders-too-deep", "Folders too deep", detail: "No more than \(limit) folders lie in one another.")
    case .tooManyMembers(let limit):
      return Problem(
        409, "too-many-members", "Too many members", detail: "An album or folder holds at most \(limit).")
    case .outsideOfGrant:
      return Problem(
        403, "outside-of-grant", "Outside of what you may see",
        detail: "You see some collections alone: name a folder among them as the parent.")
    case .forbidden:
      return Problem(
        403, "outside-of-grant", "Outside of what you may see",
        detail: "You see some collections alone, and files in none: upload what is to be an asset.")
    case .files(let error): return problem(error)
    case .source(let error): return problem(error)
    }
  }

  /// With the member of the entry that it is about.
  private static func problem(_ error: LibraryFilesError) -> Problem {
    if case .catalogue(let error) = error { return problem(error) }
    var problem = Problem(error)
    switch error {
    case .noSuchAsset, .notInTrash: problem.parameter = "asset"
    case .noSuchFile, .notMedia, .damagedMedia: problem.parameter = "path"
    case .readOnly, .insufficientStorage, .failed, .catalogue: break
    }
    return problem
  }

  private static func problem(_ error: AssetSourceError) -> Problem {
    switch error {
    case .storageFailed(.full, _): .insufficientStorage
    case .storageFailed(.readOnly, _): .libraryReadOnly
    default: Problem(error)
    }
  }

  /// The same, of the entry at an index.
  func at(_ index: Int) -> Problem {
    var problem = self
    problem.index = index
    return problem
  }
}
