// What routes that fetch have in common: how long a fetch may take, and what becomes of its errors.

import AssetLibrary
import HTTPCore
import Logging
import PhotoModel

struct Fetching: Sendable {
  static let cacheControl = "private, max-age=0, must-revalidate"

  let library: any AssetFetching
  let results: FetchResults
  /// How long a fetch may take, from its beginning.
  let deadline: Duration
  let logger: Logger

  /// Asks the library; what it throws becomes a problem.
  func asking<Value>(
    _ question: (any AssetFetching) throws(AssetSourceError) -> Value
  ) throws(Problem) -> Value {
    do throws(AssetSourceError) {
      return try question(library)
    } catch {
      switch error {
      case .catalogueFailed(let reason):
        logger.error("the catalogue can't be read", metadata: ["error": "\(reason)"])
      case .storageFailed(let fault, let reason):
        logger.error("the catalogue can't be read", metadata: ["error": "\(reason)", "fault": "\(fault)"])
      case .malformedCursor, .noSuchCollection, .queryTooExpensive, .tooManyAssets, .noSuchAsset: break
      }
      throw Problem(error)
    }
  }

  /// When a fetch that begins now is to be done.
  var end: ContinuousClock.Instant { .now + deadline }

  /// A fetch result that the principal holds, its lease renewed; `nil`: none. One that was found by places is none to who may
  /// not know places any more.
  func heldFetchResult(_ id: String, _ principal: Principal) -> FetchResult? {
    guard let result = results.handles.value(id, owner: principal) else { return nil }
    return principal.may(.location) || !result.fetch.needsLocationScope ? result : nil
  }

  /// The same. Throws 404.
  func fetchResult(_ id: String, _ principal: Principal) throws(Problem) -> FetchResult {
    guard let result = heldFetchResult(id, principal) else { throw .fetchResultNotFound }
    return result
  }

  /// Where a collection's assets are. Throws 404.
  func scope(of identifier: LocalIdentifier, _ principal: Principal) throws(Problem) -> AssetScope {
    if let transient = results.transients.value(identifier.rawValue, owner: principal) { return .rows(transient.rows) }
    guard
      let scope = try asking({ library throws(AssetSourceError) in try library.scope(of: identifier, for: principal) })
    else {
      throw .collectionNotFound
    }
    return scope
  }

  /// The path of the next page: what was asked, with another cursor.
  static func next(_ path: String, _ parameters: [String: String], cursor: String) -> String {
    var parameters = parameters
    parameters["cursor"] = cursor
    return path + "?"
      + parameters.sorted { $0.key < $1.key }
      .map { "\(RequestTarget.encoded($0.key))=\(RequestTarget.encoded($0.value))" }.joined(separator: "&")
  }
}
