import GRDB

/// Why the access database can't be read or changed.
package enum AccessError: Error, Sendable, CustomStringConvertible {
  /// `access.sqlite` can't be created, opened, read or written.
  case unusable(path: String, reason: String)
  /// `access.sqlite` is no database, or has damaged pages.
  case damaged(path: String, reason: String)
  /// A newer version of photod created the file.
  case tooNew(path: String)
  /// `access.sqlite` is empty. Using it as a new database would open the library to callers without a token.
  case withoutTables(path: String)
  /// A daemon that requires credentials has found another `access.sqlite`, without tokens. Using it would open the
  /// library to callers without a token.
  case replacedWithoutTokens(path: String)
  /// The copy to write exists already.
  case copyExists(path: String)
  /// Another process writes a copy to this path.
  case copyUnderWay(path: String)
  /// The copy to write is a file that photod uses in its data folder.
  case copyWouldReplaceFileInUse(path: String)
  /// The file to restore holds no tokens of photod, or is damaged.
  case notACopy(path: String, reason: String)
  /// The limit of active tokens is reached.
  case tooManyTokens(limit: Int)
  /// No token has that identifier or name.
  case noSuchToken(String)
  /// A new token would have the scope `write` and not `read`.
  case writeNeedsRead
  /// Several active tokens have that name.
  case ambiguousToken(String)

  package var description: String {
    switch self {
    case .unusable(let path, let reason): "\(path) can't be used: \(reason)"
    case .tooNew(let path): "\(path) was created by a newer version of photod; run that version"
    case .damaged(let path, let reason): "\(path) is damaged: \(reason); \(Self.remedy)"
    case .withoutTables(let path): "\(path) is damaged: it has no tables; \(Self.remedy)"
    case .replacedWithoutTokens(let path):
      "\(path) was replaced by a file without tokens: put the former file back, or create a token"
    case .copyExists(let path): "\(path) already exists; choose another file, or pass --replace"
    case .copyUnderWay(let path): "another backup to \(path) is in progress; wait until it ends"
    case .copyWouldReplaceFileInUse(let path): "photod itself uses \(path); choose another file"
    case .notACopy(let path, let reason): "\(path) can't be restored: \(reason)"
    case .tooManyTokens(let limit): "the limit of \(limit) active tokens is reached; revoke a token first"
    case .noSuchToken(let name): "there is no token \(name); run photod token list to see all tokens"
    case .writeNeedsRead: "the scope write requires read; a token that may only upload has the scope add"
    case .ambiguousToken(let name): "several active tokens are named \(name); use the identifier"
    }
  }

  private static let remedy =
    "restore a backup with photod restore --include-tokens, or delete it to begin without tokens"

  init(_ error: any Error, path: String) {
    if let error = error as? AccessError {
      self = error
      return
    }
    switch (error as? DatabaseError)?.resultCode {
    case .some(.SQLITE_CORRUPT), .some(.SQLITE_NOTADB): self = .damaged(path: path, reason: "\(error)")
    default: self = .unusable(path: path, reason: "\(error)")
    }
  }
}
