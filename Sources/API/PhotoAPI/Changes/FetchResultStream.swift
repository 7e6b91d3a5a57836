// GET /v1/changes/stream?fetchResult=: streams the changes of one fetch result, from one handle to the next.
//
//     list sent last --FetchResultChangeRoute.delta--> changes and new list -> a handle for that list -> one event
//
// The stream itself holds the list sent last, even if its handle ends. It keeps the current handle's lease alive while
// the stream is open, because the client reads the members through it. Until the first change is sent, this is the
// handle that the client named. Of the handles that the stream made, the previous one stays until its lease ends, in
// case the client did not receive the last event; older ones are ended. So a stream holds at most two handles.

import HTTPCore
import ImageService
import LibraryCatalogue
import PhotoModel
import Synchronization

final class FetchResultStream: ChangeStreamSource {
  private struct State {
    /// The list that was sent last, and its handle.
    var lastSent: any LeasedFetchResult
    var handle: String
    /// Whether the stream made `handle`.
    var ownsHandle: Bool
    /// The previous handle, if the stream made it.
    var previousHandle: String?
    /// True if it is unknown which list the client has.
    var isClientListUnknown: Bool
    /// True if the client got a `reload` event, because the changes can't be sent now.
    var hasSentReload = false

    /// `CHANGETOKEN.HANDLE`. The change token helps people and GET /v1/changes; the stream resumes from the handle.
    /// `nil` while the client's list is unknown: the client keeps its previous identifier.
    func eventID(_ tokens: TokenCodec) -> String? {
      if isClientListUnknown { return nil }
      return tokens.text(of: lastSent.changeToken) + String(FetchResultStream.separator) + handle
    }
  }

  /// A character that neither tokens nor handles contain.
  private static let separator: Character = "."

  private let changes: FetchResultChangeRoute
  private let principal: Principal
  private let state: Mutex<State>
  private var queries: QueryService { changes.queries }

  /// - Parameters:
  ///   - id: the handle in the request.
  ///   - last: the last event that the client received, if it lost a stream of that handle. It names another handle:
  ///     the list that the client shows now. If that handle has ended, the client must read a new list.
  /// - Throws: 404 if both handles have ended or belong to another caller.
  init(
    _ id: String, lastEventID last: String?, _ changes: FetchResultChangeRoute, _ principal: Principal
  ) throws(Problem) {
    self.changes = changes
    self.principal = principal
    let handle = last.map { String($0.split(separator: Self.separator).last ?? "") } ?? id
    if let lastSent = changes.queries.leasedFetchResult(handle, principal) {
      state = Mutex(State(lastSent: lastSent, handle: handle, ownsHandle: handle != id, isClientListUnknown: false))
    } else {
      let lastSent = try changes.queries.anyFetchResult(id, principal)
      state = Mutex(State(lastSent: lastSent, handle: id, ownsHandle: false, isClientListUnknown: true))
    }
  }

  var eventID: String? { state.withLock { $0 }.eventID(queries.tokens) }

  func keepAlive() { _ = queries.results.handles.value(state.withLock { $0.handle }, owner: principal) }

  func next(_ limits: ChangeStreams.Limits) -> ChangeStreamStep {
    if let step = step(mayReadAll: false, until: queries.deadline) { return step }
    let end = queries.deadline
    return .deferred(queries.fetches) { [self] in step(mayReadAll: true, until: end) ?? .end }
  }

  /// `nil`: the list must be read again and is too long for the worker.
  private func step(mayReadAll: Bool, until end: ContinuousClock.Instant) -> ChangeStreamStep? {
    let before = state.withLock { $0 }
    do throws(Problem) {
      guard let delta = try changes.delta(of: before.lastSent, mayReadAll: mayReadAll, until: end, principal) else {
        return nil
      }
      if delta.details?.isEmpty == true, !before.isClientListUnknown {
        state.withLock { $0.hasSentReload = false }
        return .idle
      }
      let now = try after(before, delta.after)
      state.withLock { $0 = now }
      let handle = FetchResultJSON(now.handle, now.lastSent, queries)
      let body = JSONBody.encode(FetchResultChangesJSON(before.isClientListUnknown ? nil : delta.details, handle))
      return .event("change", id: now.eventID(queries.tokens), data: body, hasMore: false)
    } catch {
      return step(error, before)
    }
  }

  /// The state after a list has been sent to the client.
  private func after(_ before: State, _ list: any LeasedFetchResult) throws(Problem) -> State {
    // The list may be unchanged when the client had lost it.
    if list === before.lastSent {
      return State(lastSent: list, handle: before.handle, ownsHandle: before.ownsHandle, isClientListUnknown: false)
    }
    if let old = before.previousHandle { _ = queries.results.handles.end(old, owner: principal) }
    do {
      let handle = try queries.results.keep(list, owner: principal)
      return State(
        lastSent: list, handle: handle, ownsHandle: true, previousHandle: before.ownsHandle ? before.handle : nil,
        isClientListUnknown: false)
    } catch {
      throw Problem(error)
    }
  }

  /// For a lack of room or time: sends one `reload` event. Later, when the list can be read, the client gets the
  /// changes since the list sent last.
  private func step(_ problem: Problem, _ before: State) -> ChangeStreamStep {
    guard problem.fields["Retry-After"] != nil else { return .end }
    if before.hasSentReload { return .idle }
    struct Payload: Encodable {
      let changeToken: String
    }
    state.withLock { $0.hasSentReload = true }
    let payload = Payload(changeToken: queries.tokens.text(of: before.lastSent.changeToken))
    return .event("reload", id: before.eventID(queries.tokens), data: JSONBody.encode(payload), hasMore: false)
  }
}
