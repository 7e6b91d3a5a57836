// What managers keep follows the library: what it is of is looked up anew after a change, and windows move with their lists.
//
//     commit -> 200 ms later, each manager, on the look-up queue: which assets were touched   library's history
//                 -> those of them that it keeps; its window's list, as it is now; what that has where something was touched
//               a long list that has to be read anew: the same again, on the queue of fetches
//     -> on the managers' queue: entries and window become what they are now

import Dispatch
import PhotoModel

extension CachingManagers {
  /// The library has changed, and readers see it. From any thread; what follows is done elsewhere, a little later.
  package func libraryDidChange() { queue.async { [self] in noteChanges() } }

  /// Looks up anew what managers keep, where the library is another by now.
  func noteChanges() {
    guard library.generation != lastGeneration, !isChangeDue else { return }
    isChangeDue = true
    later(Self.gathering) { [self] in
      queue.async { [self] in
        isChangeDue = false
        lastGeneration = library.generation
        for manager in turns { refresh(manager) }
      }
    }
  }

  /// What is asked about a manager.
  private struct Question: Sendable {
    let number: UInt64
    let name: Name
    let owner: Principal
    /// The assets that it keeps or wants.
    let assets: Set<LocalIdentifier>
    let knownAt: String?
    let window: CachingManager.Window?
    let mostAssets: Int
    let now: ContinuousClock.Instant
  }

  /// What was found out.
  private struct Answer: Sendable {
    /// Of those that were touched; `nil`: gone, or not for the owner.
    var assets: [LocalIdentifier: Asset?]
    /// The window as it would be now; `nil`: its list is gone.
    var window: CachingManager.Window?
    /// Its list is another one.
    var isOtherList = false
    let knownAt: String
  }

  func refresh(_ manager: CachingManager) {
    guard !manager.isRefreshing else { return manager.isStale = true }
    manager.isRefreshing = true
    manager.isStale = false
    let question = Question(
      number: manager.number, name: name(of: manager), owner: manager.owner,
      assets: Set(manager.entries.keys.map(\.asset)), knownAt: manager.knownAt, window: manager.window,
      mostAssets: limits.assets, now: now())
    ask(question, on: lookups, mayReadAll: false)
  }

  /// Looks it up on a queue: first what needs no long list to be read, which is what almost all changes are.
  private func ask(_ question: Question, on asked: WorkQueue, mayReadAll: Bool) {
    let isAccepted = asked.submit { [self] in
      let found = logging { () throws(Failure) -> Answer? in
        try asking { () throws(AssetSourceError) in try answer(question, mayReadAll: mayReadAll) }
      }
      if let found, found == nil { return ask(question, on: fetches, mayReadAll: true) }
      queue.async { [self] in take(found ?? nil, of: question) }
    }
    if !isAccepted { queue.async { [self] in take(nil, of: question) } }
  }

  /// - Returns: `nil`: a long list would have to be read.
  private func answer(_ question: Question, mayReadAll: Bool) throws(AssetSourceError) -> Answer? {
    let touched = try library.touchedAssets(since: question.knownAt, for: question.owner)
    func isTouched(_ identifier: LocalIdentifier) -> Bool { touched.identifiers?.contains(identifier) ?? true }
    var window = question.window
    var isOtherList = false
    if let old = window {
      let change = try old.source.followed(
        visible: old.arithmetic.visible, known: Array(old.assets.keys), mayReadAll: mayReadAll)
      switch change {
      case .same(let source): window?.source = source
      case .gone: window = nil
      case .isLong: return nil
      case .other(let source, let visible, let moved):
        isOtherList = true
        window?.source = source
        window?.arithmetic.listChanged(count: source.count, visible: visible)
        window?.assets = [:]
        for (from, to) in moved { window?.assets[to] = old.assets[from] }
      }
    }
    if var now = window {
      let plan = now.arithmetic.plan(at: question.now)
      // What lies outside is forgotten: it may be another by the time that one comes back.
      let known = now.assets.filter { plan.kept.contains($0.key) }
      now.assets = known.filter { $0.value.map { !isTouched($0.localIdentifier) } ?? false }
      let missing = plan.order.prefix(question.mostAssets).filter { known[$0] == nil }
      let positions = known.keys.filter { now.assets[$0] == nil } + missing
      let assets = positions.isEmpty ? [] : try now.source.assets(at: positions)
      for (position, asset) in zip(positions, assets) { now.assets[position] = .some(asset) }
      window = now
    }
    let identifiers = question.assets.filter(isTouched)
    let assets = identifiers.isEmpty ? [] : try library.assets(named: Array(identifiers), for: question.owner)
    return Answer(
      assets: Dictionary(uniqueKeysWithValues: zip(identifiers, assets)), window: window, isOtherList: isOtherList,
      knownAt: touched.changeToken)
  }

  private func take(_ answer: Answer?, of question: Question) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let manager = managers[question.name], manager.number == question.number else { return }
    manager.isRefreshing = false
    guard let answer else { return manager.isStale = true }
    // What came in meanwhile was perhaps looked up before the change.
    manager.knownAt = manager.isStale ? nil : answer.knownAt
    manager.assetsAre(answer.assets)
    if let asked = question.window, let window = manager.window, window.isOver(asked.source) {
      take(answer, over: window, asked, manager)
    }
    let now = now()
    // Else it is planned when it knows what it is over.
    if manager.missingPositions(at: now).isEmpty { manager.plan(at: now) }
    thereMayBeRoom()
    settle(manager)
  }

  /// The window's list and what it has are these now; where the client has moved it meanwhile, it stays there.
  private func take(
    _ answer: Answer, over window: CachingManager.Window, _ asked: CachingManager.Window, _ manager: CachingManager
  ) {
    guard let found = answer.window else { return manager.endWindow() }
    manager.window?.source = found.source
    guard answer.isOtherList else {
      // Those that came in meanwhile are as new.
      manager.window?.assets = window.assets.filter { asked.assets[$0.key] == nil }.merging(found.assets) { $1 }
      return
    }
    manager.window?.assets = found.assets
    let visible = window.arithmetic.visible
    manager.window?.arithmetic.listChanged(
      count: found.source.count, visible: visible == asked.arithmetic.visible ? found.arithmetic.visible : visible)
  }

  func logging<Value>(_ question: () throws(Failure) -> Value) -> Value? {
    do throws(Failure) {
      return try question()
    } catch {
      logger.error("a preheat window can't be looked up", metadata: ["error": "\(error)"])
      return nil
    }
  }
}
