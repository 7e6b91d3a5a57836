// Scans of changed paths. They run on photod.scan.

import Dispatch
import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel
import Synchronization

extension LibraryWatcher {
  /// Maximum number of renamed or new files that are compared before removals; with more, removals are deferred.
  private static let arrivalLimit = 1024
  /// Pause before a failed scan is retried.
  private static let retryPauseNanoseconds: Int64 = 1_000_000_000

  /// Scans the paths that are due.
  func scanDue() {
    dispatchPrecondition(condition: .onQueue(scanQueue))
    defer {
      state.withLock { state in
        state.isScanQueued = false
        state.pathsInScan = [:]
      }
      rearmTimer()
    }
    if stop.isRaised { return }
    var taken = state.withLock { $0.take(now: clock.now()) }
    if taken.isEverything {
      state.withLock { $0.isFullScanRequested = true }
      return requestFullScan()
    }
    if taken.paths.isEmpty { return }
    do throws(LibraryError) {
      let written = try writtenFiles(among: taken.paths)
      // The kernel reports a write only under the name that it was made through.
      for path in written { taken.paths[path, default: []].formUnion([.file, .closed]) }
      var options = scanOptions()
      options.recentRemovals = state.withLock { $0.removed }
      options.closedFiles = Set(taken.paths.filter { $0.value.contains(.closed) }.keys)
      options.writtenFiles = written
      options.awaitedRenames = Set(taken.paths.filter { $0.value.contains(.awaited) }.keys)
      options.scope = try scope(of: taken.paths)
      let outcome = try scanner.scan(options)
      note(outcome, of: taken.paths)
      if let refusal = outcome.refusal {
        warnings.log("deferring removals until the next full scan", key: "\(refusal)", ["reason": "\(refusal)"])
      }
      recordFirstScan()
      scanned(outcome.progress)
    } catch {
      let now = clock.now()
      if error == .scanUnderWay {
        state.withLock { $0.debouncer.requeue(taken.paths, until: now + Self.retryPauseNanoseconds, now: now) }
      } else {
        state.withLock { $0.debouncer.replaceWithFullScan(at: now + Self.retryPauseNanoseconds) }
        warnings.log("scan of changed paths failed", key: "\(error)", ["error": "\(error)"])
      }
    }
  }

  /// The files that a writer has closed, under all of their known names.
  private func writtenFiles(among paths: [[UInt8]: EventDebouncer.PathHints]) throws(LibraryError) -> Set<[UInt8]> {
    let closed = paths.filter { $0.value.contains(.closed) && !$0.value.contains(.arrived) }
    var written = Set(closed.keys)
    var names = LinkedNames(catalogue: scanner.catalogue, isEnabled: true)
    do throws(AssetSourceError) {
      for path in closed.keys {
        if let row = try scanner.catalogue.knownFile(at: path) { try names.add(of: row) }
      }
    } catch {
      throw LibraryError(error, dataFolder: scanner.catalogue.dataFolder)
    }
    written.formUnion(names.paths)
    return written
  }

  /// Records the result of a scan of changed paths, and schedules the rescans that it asks for.
  private func note(_ outcome: ScanOutcome, of paths: [[UInt8]: EventDebouncer.PathHints]) {
    let now = clock.now()
    state.withLock { state in
      state.statistics.scans += 1
      state.removed += outcome.progress.removed
      if outcome.isWalkComplete { state.firstScanRechecks.pathsScanned(paths.keys) }
      for recheck in outcome.rechecks {
        state.debouncer.note(recheck, (paths[recheck.path] ?? []).union(.file), now: now)
      }
      for recheck in outcome.renamed {
        // Without `.closed`, because the debouncer gives up closed paths after some rescans.
        let hints = (paths[recheck.path] ?? []).subtracting(.closed).union([.file, .arrived, .awaited])
        state.debouncer.note(recheck, hints, now: now)
      }
      for path in outcome.appeared {
        state.debouncer.note(Recheck(path: path, delayNanoseconds: 0), .file, now: now)
      }
      // The events of these paths are handled. With `.closed`, a path that often changes would be given up; with
      // `.arrived`, missing files would wait for each other's arrival for ever.
      for recheck in outcome.followUps {
        let hints = (paths[recheck.path] ?? []).subtracting([.closed, .arrived, .awaited]).union(.file)
        state.debouncer.note(recheck, hints, now: now)
      }
      // A full scan decides whether the mounts really changed, and writes a damaged list of them again if it misses no
      // file.
      if outcome.refusal == .mountsChanged || outcome.refusal == .mountsUnreadable {
        state.debouncer.replaceWithFullScan(at: now)
      }
    }
  }

  /// The scan scope for changed paths.
  private func scope(of paths: [[UInt8]: EventDebouncer.PathHints]) throws(LibraryError) -> ScanScope {
    let top: LibraryFile
    let root: LibraryFolder
    do throws(SystemError) {
      root = try LibraryFolder(path: scanner.directory)
      top = try root.open([], isFolder: true)
    } catch {
      throw .libraryUnavailable(path: scanner.directory, error)
    }
    var targets: [ScanScope.Target] = []
    for (path, hints) in paths {
      if hints == .attributes {
        let isWatched = state.withLock { $0.tree.node(at: path) != nil }
        if isWatched { unwatchIfUnreadable(path, root) } else { targets.append(.folder(path)) }
        continue
      }
      if !hints.isDisjoint(with: [.folder, .attributes]) { targets.append(.folder(path)) }
      guard hints.contains(.file) else { continue }
      targets.append(.file(path))
      // Where case is ignored, a program may have used another spelling than the folder lists.
      if NameSpellings.hasOtherCase(path, in: top) {
        var listed = path
        while !LibraryWalk.reaches(listed, in: root) { listed = LibraryPath.folder(of: listed) }
        if listed != path { targets.append(.folder(listed)) }
      }
      // The link may lead to a folder now.
      if !hints.contains(.folder), (try? top.entry(path))?.kind == .link { targets.append(.folder(path)) }
    }
    return ScanScope(targets)
  }

  /// Removes the watch of a folder that became unreadable, so that the folder is scanned when it becomes readable
  /// again.
  private func unwatchIfUnreadable(_ path: [UInt8], _ root: LibraryFolder) {
    // Looking up a name needs search permission, listing needs read permission.
    let isReadable = (try? root.open(path, isFolder: true).entry([UInt8(ascii: ".")])) != nil
    if !isReadable { state.withLock { $0.forget(path) } }
  }

  /// The files that were renamed to paths that are not scanned yet, or whose scan has not ended. May be called on any
  /// queue.
  package func filesInTransit(in root: LibraryFolder) -> FilesInTransit {
    // Events that are read here do not wake the watcher, so its timer is set again.
    defer { rearmTimer() }
    return FilesInTransit({ [self] in arrivals(includesPathsInScan: true) }, in: root)
  }

  /// Pending paths that were renamed and are not scanned yet.
  ///
  /// - Parameter includesPathsInScan: whether to add renamed paths of the running scan: of changed paths, or a full one
  ///   that replaces lost events.
  func arrivals(includesPathsInScan: Bool = false) -> Arrivals {
    drain()
    // Where events were lost, any file may have arrived anywhere.
    let (pending, inScan, count, isIncomplete) = state.withLock { state in
      let hasLostPaths = state.debouncer.hasLostPaths || includesPathsInScan && state.isFindingLostPaths
      return (state.debouncer.arrivals, state.pathsInScan, state.arrivals, hasLostPaths)
    }
    var arrivals = pending
    if includesPathsInScan { arrivals.merge(inScan.filter { $0.value.contains(.arrived) }) { $0.union($1) } }
    let files = arrivals.filter { !$0.value.contains(.folder) }
    return Arrivals(
      files: Array(files.keys.prefix(Self.arrivalLimit)),
      isPartialList: isIncomplete || files.count < arrivals.count || files.count > Self.arrivalLimit,
      count: count)
  }
}
