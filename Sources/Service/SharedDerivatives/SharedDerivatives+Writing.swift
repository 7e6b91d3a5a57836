// Writes wait in a bounded queue, as functions that return the content: so the content is in memory only while it is
// written.

import Dispatch
import ObjectStores

extension SharedDerivatives {
  package func write(_ name: String, content: @escaping @Sendable () -> [UInt8]?) {
    let isAccepted = state.withLock { state in
      guard !state.isClosed, !state.known.contains(name.hashValue), !state.pendingNames.contains(name) else {
        return false
      }
      guard state.waitingWrites.count < limits.waitingWrites else {
        state.counts.droppedWrites += 1
        return false
      }
      state.waitingWrites.append(PendingWrite(name: name, content: content))
      state.pendingNames.insert(name)
      return true
    }
    if isAccepted { queue.async { [self] in startWrites() } }
  }

  package func waitToWrite(_ name: String, _ bytes: [UInt8]) {
    guard let key = admitWrite(name, bytes) else { return }
    let result = Result { () throws(ObjectStoreError) in
      try store.waitToPut(bytes, as: key, replaces: true, stop: stop)
    }
    writeEnded(name, result.map { _ in })
  }

  private func startWrites() {
    dispatchPrecondition(condition: .onQueue(queue))
    while let write = nextWrite() {
      guard let bytes = write.content(), let key = admitWrite(write.name, bytes) else {
        placeFreed(by: write.name)
        continue
      }
      // Replaces a damaged object. An intact object of this name has the same pictures.
      _ = store.put(bytes, as: key, replaces: true) { [self] result in
        queue.async { [self] in
          writeEnded(write.name, result.map { _ in })
          placeFreed(by: write.name)
          startWrites()
        }
      }
    }
  }

  private func nextWrite() -> PendingWrite? {
    state.withLock { state in
      guard state.runningWrites < limits.writes, !state.waitingWrites.isEmpty else { return nil }
      state.runningWrites += 1
      return state.waitingWrites.removeFirst()
    }
  }

  private func placeFreed(by name: String) {
    state.withLock { state in
      state.runningWrites -= 1
      state.pendingNames.remove(name)
    }
  }

  /// The key of an object that is written now; `nil` if it is dropped.
  private func admitWrite(_ name: String, _ bytes: [UInt8]) -> ObjectKey? {
    guard let key = ObjectKey(name) else { preconditionFailure("a name of FrameStore is a key") }
    let now = now()
    let isAdmitted = state.withLock { state in
      guard !state.isClosed, bytes.count <= limits.objectBytes, state.writeBreaker.admit(now: now) == nil else {
        state.counts.droppedWrites += 1
        return false
      }
      return true
    }
    return isAdmitted ? key : nil
  }

  private func writeEnded(_ name: String, _ result: Result<Void, ObjectStoreError>) {
    report(\.writeBreaker, result, "writing shared derivatives failed") { state in
      switch result {
      case .success:
        state.counts.written += 1
        noteKnown(name, &state)
      case .failure(.cancelled): break
      case .failure: state.counts.failedWrites += 1
      }
    }
  }
}
