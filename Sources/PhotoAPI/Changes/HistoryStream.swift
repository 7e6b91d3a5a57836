import AssetLibrary
import HTTPCore
import Logging
import PhotoModel
import Synchronization

/// Tells of the library's history, as far as the client may know of it and wants to.
final class HistoryStream: ChangeStreamSource {
  private let catalogue: Catalogue
  private let filter: ChangeFilter
  private let principal: Principal
  /// Whether the client may still be told what it was told before: a token may have been revoked.
  private let isAdmitted: @Sendable () -> Bool
  private let logger: Logger
  private let token: Mutex<String>

  init(
    catalogue: Catalogue, filter: ChangeFilter, principal: Principal, since token: String, logger: Logger,
    isAdmitted: @escaping @Sendable () -> Bool
  ) {
    self.catalogue = catalogue
    self.filter = filter
    self.principal = principal
    self.isAdmitted = isAdmitted
    self.logger = logger
    self.token = Mutex(token)
  }

  var eventID: String? { since }
  private var since: String { token.withLock { $0 } }

  func keepAlive() {}

  func next(_ limits: ChangeStreams.Limits) -> ChangeStreamStep {
    guard isAdmitted() else { return .end }
    let since = self.since
    do throws(ChangeHistoryError) {
      if try catalogue.isBehind(since, by: limits.objectsBehind, for: principal) { return try reload() }
      let changes = try catalogue.changes(since: since, filter, limit: limits.objectsAnEvent, for: principal)
      token.withLock { $0 = changes.changeToken }
      if changes.isEmpty { return changes.hasMore ? .skipped : .nothing }
      return .event(
        "change", id: changes.changeToken, data: ChangesJSON.encode(changes), hasMore: changes.hasMore)
    } catch {
      switch error {
      case .expiredToken: return (try? reload()) ?? .end
      case .malformedToken, .noSuchCollection: return .end
      case .source(let error):
        logger.error("the catalogue can't be read", metadata: ["error": "\(error)"])
        return .end
      }
    }
  }

  /// What happened is not told one by one: the client fetches anew, and hears of what comes from now on.
  private func reload() throws(ChangeHistoryError) -> ChangeStreamStep {
    struct Shape: Encodable {
      let changeToken: String
    }
    let now: String
    do throws(AssetSourceError) { now = try catalogue.changeToken(for: principal) } catch { throw .source(error) }
    token.withLock { $0 = now }
    return .event("reload", id: now, data: JSONBody.encode(Shape(changeToken: now)), hasMore: false)
  }
}
