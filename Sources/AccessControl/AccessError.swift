import GRDB

/// Why the list of who may come in can't be read or changed.
package enum AccessError: Error, Sendable, CustomStringConvertible {
  /// `access.sqlite` can't be made, opened, read or written.
  case unusable(path: String, reason: String)
  /// A newer photod made it.
  case tooNew(path: String)
  /// So many tokens are in force already.
  case tooManyTokens(limit: Int)
  /// No token of that identifier or name.
  case noSuchToken(String)
  /// Several tokens in force have that name.
  case ambiguousToken(String)

  package var description: String {
    switch self {
    case .unusable(let path, let reason): "\(path) can't be used: \(reason)"
    case .tooNew(let path): "\(path) was made by a newer photod"
    case .tooManyTokens(let limit): "there are \(limit) tokens in force; revoke one first"
    case .noSuchToken(let name): "there is no token \(name); photod token list names them"
    case .ambiguousToken(let name): "several tokens are named \(name); name it by its identifier"
    }
  }

  init(_ error: any Error, path: String) {
    self = error as? AccessError ?? .unusable(path: path, reason: "\(error)")
  }
}
