import GRDB
import PhotoModel

/// The assets that a new file may join, such as a RAW file its picture. A file that a principal adds may join only
/// assets that the principal can see: joining another one would change that asset and reveal it.
enum JoinableAssets: Sendable, Hashable {
  case of(LibraryID)
  case none

  /// The assets that a principal can see, within one transaction.
  init(visibleTo principal: Principal, _ db: Database) throws {
    guard principal.may(.read), let library = try LibraryID(of: principal, db) else {
      self = .none
      return
    }
    self = .of(library)
  }

  /// Whether the asset with this row may be joined.
  func contains(_ row: Int64, _ db: Database) throws -> Bool {
    switch self {
    case .of(let library): try library.contains(asset: row, db)
    case .none: false
    }
  }
}
