// GET /v1/changes/stream?fetchResult=: a list that somebody has on screen, told from one handle to the next.
//
//     the list told last --FetchResultChangeRoute.delta--> what changed, and the list now -> a handle for that -> one event
//
// The list told last is held by the stream itself, whatever becomes of its handle. Its handle is kept alive for as long as
// the stream lasts, for the client reads there what came; so is the one that the stream was opened with until something else
// was told. Of those that the stream made, the one before the last stays too, for its lease, in case the client did not
// get the last event; older ones are ended. So a stream holds two handles, however long it lasts.

import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel
import Synchronization

final class FetchResultStream: ChangeStreamSource {
  private struct State {
    /// What the client was told last, and what that is called.
    var told: FetchResult
    var name: String
    /// The stream made its handle.
    var isOwn: Bool
    /// The handle before it, if the stream made it.
    var before: String?
    /// Nobody knows which list the client has.
    var isLost: Bool
    /// The client knows that there is something that it can't be told now.
    var hasToldReload = false

    /// The change token is for people and for the history; the handle is what is gone on from. Of a list that nobody knows the
    /// client keeps the name that it has.
    var eventID: String? { isLost ? nil : told.changeToken + String(FetchResultStream.separator) + name }
  }

  /// In no token and no handle.
  private static let separator: Character = "."

  private let changes: FetchResultChangeRoute
  private let fetches: WorkQueue
  private let principal: Principal
  private let isAdmitted: @Sendable () -> Bool
  private let state: Mutex<State>
  private var fetching: Fetching { changes.fetching }

  /// - Parameters:
  ///   - id: the handle that the client asked for.
  ///   - last: the event that it got last, where it lost a stream of that handle. It names another handle: what the client
  ///     shows now. Where that is gone, the client is told to read a new one.
  ///   - fetches: where long lists are read anew.
  /// - Throws: 404 where both are gone, or somebody else's.
  init(
    _ id: String, comingBackFrom last: String?, _ changes: FetchResultChangeRoute, _ fetches: WorkQueue,
    _ principal: Principal, isAdmitted: @escaping @Sendable () -> Bool
  ) throws(Problem) {
    self.changes = changes
    self.fetches = fetches
    self.principal = principal
    self.isAdmitted = isAdmitted
    let name = last.map { String($0.split(separator: Self.separator).last ?? "") } ?? id
    if let told = changes.fetching.heldFetchResult(name, principal) {
      state = Mutex(State(told: told, name: name, isOwn: name != id, isLost: false))
    } else {
      let told = try changes.fetching.fetchResult(id, principal)
      state = Mutex(State(told: told, name: id, isOwn: false, isLost: true))
    }
  }

  var eventID: String? { state.withLock { $0.eventID } }

  func keepAlive() { _ = fetching.results.handles.value(state.withLock { $0.name }, owner: principal) }

  func next(_ limits: ChangeStreams.Limits) -> ChangeStreamStep {
    guard isAdmitted() else { return .end }
    if let step = step(mayReadAll: false, until: fetching.end) { return step }
    let end = fetching.end
    return .elsewhere(fetches) { [self] in step(mayReadAll: true, until: end) ?? .end }
  }

  /// `nil`: the list has to be read anew, and is too long for that.
  private func step(mayReadAll: Bool, until end: ContinuousClock.Instant) -> ChangeStreamStep? {
    let before = state.withLock { $0 }
    do throws(Problem) {
      guard let delta = try changes.delta(of: before.told, mayReadAll: mayReadAll, until: end, principal) else {
        return nil
      }
      if delta.details?.isEmpty == true, !before.isLost {
        state.withLock { $0.hasToldReload = false }
        return .nothing
      }
      let now = try after(before, delta.after)
      state.withLock { $0 = now }
      let handle = FetchResultJSON(now.name, now.told, fetching.results.limits)
      let body = JSONBody.encode(FetchResultChangesJSON(before.isLost ? nil : delta.details, handle))
      return .event("change", id: now.eventID, data: body, hasMore: false)
    } catch {
      return step(error, before)
    }
  }

  /// The state in which the client has been told of a list.
  private func after(_ before: State, _ list: FetchResult) throws(Problem) -> State {
    // A list that is lost may not have changed.
    if list === before.told { return State(told: list, name: before.name, isOwn: before.isOwn, isLost: false) }
    if let old = before.before { _ = fetching.results.handles.end(old, owner: principal) }
    do {
      let name = try fetching.results.keep(list, owner: principal)
      return State(told: list, name: name, isOwn: true, before: before.isOwn ? before.name : nil, isLost: false)
    } catch {
      throw Problem(error)
    }
  }

  /// Where there is no room for the list, or no time to read it: it is told so once, and what changed by the time that there
  /// is, from the list that it was told last.
  private func step(_ problem: Problem, _ before: State) -> ChangeStreamStep {
    guard problem.fields["Retry-After"] != nil else { return .end }
    if before.hasToldReload { return .nothing }
    struct Shape: Encodable {
      let changeToken: String
    }
    state.withLock { $0.hasToldReload = true }
    return .event(
      "reload", id: before.eventID, data: JSONBody.encode(Shape(changeToken: before.told.changeToken)), hasMore: false)
  }
}
