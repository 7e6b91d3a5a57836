import ObjectStores
import PhotoModel

extension OriginalDownloads {
  /// Keeps a copy of an uploaded file as the most recently used original, if there is room for it. Reads and writes the
  /// whole file on this thread. If the disk fails, the original is in the cloud only, like any other.
  package func adopt(_ source: any ByteSource, _ key: ObjectKey, _ identity: FileIdentity) {
    let name = OriginalName(key, identity)
    let (number, removed) = state.withLock { state -> (UInt64, [OriginalName]?) in
      state.lastNumber += 1
      guard !state.index.contains(name), state.jobs[name] == nil else { return (0, nil) }
      return (state.lastNumber, state.index.reserve(identity.size))
    }
    guard let removed else { return }
    for name in removed { folder.remove(name) }
    let isKept = copy(source, number, as: name)
    state.withLock { state in
      state.index.release(identity.size)
      if isKept { state.index.insert(name, size: identity.size) }
    }
    // Downloads may have waited for this room.
    queue.async { [self] in startNext() }
  }

  private func copy(_ source: any ByteSource, _ number: UInt64, as name: OriginalName) -> Bool {
    guard let partial = try? folder.makePartial(number) else { return false }
    do {
      var offset: Int64 = 0
      while offset < source.size {
        let bytes = try source.bytes(at: offset, count: 1 << 20)
        guard !bytes.isEmpty else { break }
        try partial.write(bytes, at: offset)
        offset += Int64(bytes.count)
      }
      if offset == source.size {
        try folder.keep(partial, as: name)
        return true
      }
    } catch {
      // The first request downloads it.
    }
    folder.discard(partial)
    return false
  }
}
