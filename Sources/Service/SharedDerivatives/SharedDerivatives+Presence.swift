import ObjectStores

extension SharedDerivatives {
  package func waitForPresence(of name: String) -> Bool? {
    let (now, hash) = (now(), name.hashValue)
    guard let key = ObjectKey(name) else { preconditionFailure("a name of FrameStore is a key") }
    enum Answer {
      case known(Bool)
      case unknown
      case ask
    }
    let answer = state.withLock { state -> Answer in
      if state.known.contains(hash) { return .known(true) }
      if state.damaged.contains(hash) { return .known(false) }
      return !state.isClosed && state.readBreaker.admit(now: now) == nil ? .ask : .unknown
    }
    switch answer {
    case .known(let isPresent): return isPresent
    case .unknown: return nil
    case .ask: break
    }
    let result = Result { () throws(ObjectStoreError) in try store.waitForHead(key, stop: stop) }
    report(\.readBreaker, result.map { _ in }, "looking for shared derivatives failed") { state in
      if case .success = result { noteKnown(name, &state) }
    }
    return switch result {
    case .success: true
    case .failure(.notFound): false
    case .failure: nil
    }
  }
}
