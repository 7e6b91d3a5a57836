import LibraryCatalogue
import PhotoModel
import Synchronization

/// Streams the library's history, limited to the objects that the client may see and has requested.
final class HistoryStream: ChangeStreamSource {
  private let catalogue: Catalogue
  private let filter: ChangeFilter
  private let principal: Principal
  private let queries: QueryService
  /// The state that the client has; `nil` if it is unknown.
  private let token: Mutex<ChangeToken?>

  /// - Parameter token: `nil`: the first event tells the client to fetch again.
  init(
    catalogue: Catalogue, filter: ChangeFilter, principal: Principal, since token: ChangeToken?, queries: QueryService
  ) {
    self.catalogue = catalogue
    self.filter = filter
    self.principal = principal
    self.queries = queries
    self.token = Mutex(token)
  }

  var eventID: String? { since.map { queries.tokens.text(of: $0) } }
  private var since: ChangeToken? { token.withLock { $0 } }

  func keepAlive() {}

  func next(_ limits: ChangeStreams.Limits) -> ChangeStreamStep {
    do throws(ChangeHistoryError) {
      return try step(limits)
    } catch {
      if case .source(let error) = error { queries.log(error) }
      return .end
    }
  }

  private func step(_ limits: ChangeStreams.Limits) throws(ChangeHistoryError) -> ChangeStreamStep {
    guard let since else { return try reload() }
    do throws(ChangeHistoryError) {
      if try catalogue.isBehind(since, by: limits.streamLagObjects, for: principal) { return try reload() }
      let changes = try catalogue.changes(since: since, filter, limit: limits.objectsPerEvent, for: principal)
      token.withLock { $0 = changes.changeToken }
      if changes.isEmpty { return changes.hasMore ? .skipped : .idle }
      return .event(
        "change", id: queries.tokens.text(of: changes.changeToken),
        data: ChangesJSON.encode(changes, queries.tokens), hasMore: changes.hasMore)
    } catch {
      guard case .expiredToken = error else { throw error }
      return try reload()
    }
  }

  /// Sends a `reload` event instead of single changes: the client fetches again, and gets changes from now on.
  private func reload() throws(ChangeHistoryError) -> ChangeStreamStep {
    struct Payload: Encodable {
      let changeToken: String
    }
    let now: ChangeToken
    do throws(AssetSourceError) { now = try catalogue.changeToken(for: principal) } catch { throw .source(error) }
    token.withLock { $0 = now }
    let text = queries.tokens.text(of: now)
    return .event("reload", id: text, data: JSONBody.encode(Payload(changeToken: text)), hasMore: false)
  }
}
