// The state of a watcher: the watched folders, the pending renames and the paths to scan. Events are handled one at a
// time. This type opens no file and never waits.

import LibraryFolder
import PhotoModel

struct WatchState {
  /// Maximum number of remembered symbolic links; only full scans check the others.
  private static let maximumLinks = 1024

  /// The first half of a rename (IN_MOVED_FROM) whose second half has not arrived yet.
  private struct PendingMove {
    var paths: [[UInt8]]
    /// The renamed folder, detached from the tree; empty for a file.
    var nodes: [WatchTree.Node]
    /// It was already held back from one scan.
    var hasWaited = false
  }

  let events: FolderEvents
  let folderLimit: Int
  var tree = WatchTree()
  var debouncer: EventDebouncer
  private var pendingMoves: [UInt32: PendingMove] = [:]
  /// The remembered symbolic links by path; the value is true where the link leads to a folder.
  private var links: [[UInt8]: Bool] = [:]
  /// Whether a name was added or removed since the last scan.
  private var haveNamesChanged = false
  /// Whether one of these names was that of a folder.
  private var haveFoldersChanged = false
  /// Number of events that renamed something to a path or created a folder.
  private(set) var arrivals = 0
  var statistics = WatchStatistics()
  /// Number of full scans.
  private var scan: UInt32 = 0
  /// Folders that this scan could not watch, and the reason for the first of them.
  private var failedWatches = 0
  private(set) var watchFailure: String?
  /// Files removed by scans of changed paths since the last full scan.
  var removed = 0
  var isScanQueued = false
  /// The paths of the running scan of changed paths.
  var pathsInScan: [[UInt8]: EventDebouncer.PathHints] = [:]
  /// Whether a full scan was requested because events were lost.
  var isFullScanRequested = false
  var firstScanRechecks = FirstScanRechecks()
  /// Whether paths were dropped or events lost before a full scan began, which finds renamed files there. If it does
  /// not walk the whole library, or needs another walk, a later one finds them.
  private(set) var isFindingLostPaths = false

  init(events: FolderEvents, folderLimit: Int, debouncer: EventDebouncer.Limits) {
    self.events = events
    self.folderLimit = folderLimit
    self.debouncer = EventDebouncer(debouncer)
  }

  // MARK: Progress of a scan

  mutating func scanBegins() {
    scan &+= 1
    isFindingLostPaths = isFindingLostPaths || debouncer.hasLostPaths
    debouncer.fullScanBegins()
    links = [:]
    failedWatches = 0
    watchFailure = nil
  }

  /// - Parameters:
  ///   - isWalkComplete: the scan walked the whole library.
  ///   - needsAnotherWalk: only another full scan finds the files that were held back.
  /// - Returns: whether the scan was to find renamed files whose paths were dropped or whose events were lost.
  @discardableResult
  mutating func scanEnded(isWalkComplete: Bool, needsAnotherWalk: Bool = false) -> Bool {
    statistics.unwatchedFolders = failedWatches
    let wasFindingLostPaths = isFindingLostPaths
    guard isWalkComplete else { return wasFindingLostPaths }
    isFindingLostPaths = wasFindingLostPaths && needsAnotherWalk
    // A full scan finds renamed files at their new paths.
    for (cookie, pendingMove) in pendingMoves {
      for node in pendingMove.nodes { events.unwatch(tree.remove(node)) }
      pendingMoves[cookie]?.nodes = []
    }
    events.unwatch(tree.removeAll(notOfScan: scan))
    return wasFindingLostPaths
  }

  mutating func willList(_ path: [UInt8], _ folder: LibraryFile, now: Int64) {
    let above = LibraryPath.folder(of: path)
    let parent = path.isEmpty ? nil : tree.node(at: above)
    if !path.isEmpty && parent == nil {
      if watchFailure != nil { return recordWatchFailure("its parent folder is not watched") }
      // The parent is a different folder than the one known by its name, and was not scanned yet.
      return debouncer.note(above, [.folder, .arrived], now: now)
    }
    if tree.count >= folderLimit, tree.node(at: path) == nil {
      return recordWatchFailure("watch.maximumFolders is \(folderLimit)")
    }
    do throws(SystemError) {
      let watch = try events.watch(folder, isRoot: path.isEmpty)
      if path.isEmpty, let root = tree.root, tree.watch(of: root) != watch { forgetAll() }
      events.unwatch(tree.put(LibraryPath.name(of: path), in: parent, watch: watch, scan: scan))
    } catch {
      recordWatchFailure("\(error)")
    }
  }

  mutating func didFind(link path: [UInt8], isFolder: Bool) {
    if links[path] != nil || links.count < Self.maximumLinks { links[path] = isFolder || links[path] ?? false }
  }

  private mutating func recordWatchFailure(_ reason: String) {
    failedWatches += 1
    watchFailure = watchFailure ?? reason
    statistics.unwatchedFolders = max(statistics.unwatchedFolders, failedWatches)
  }

  // MARK: Events

  mutating func handle(_ event: FolderEvent, now: Int64) {
    statistics.events += 1
    if event.kinds.contains(.overflow) {
      statistics.overflows += 1
      return debouncer.replaceWithFullScan(at: now)
    }
    let nodes = tree.nodes(of: event.watch)
    if event.kinds.contains(.unmounted) { debouncer.replaceWithFullScan(at: now) }
    if event.kinds.contains(.watchRemoved) {
      if tree.root.map(nodes.contains) == true {
        forgetAll()
        debouncer.replaceWithFullScan(at: now)
      } else {
        for node in nodes { events.unwatch(tree.remove(node)) }
      }
      return
    }
    // The folder left the library, or a scan will find its new path.
    guard !nodes.isEmpty else { return events.unwatch([event.watch]) }
    guard !event.name.isEmpty else {
      guard event.kinds.contains(.movedSelf), tree.root.map(nodes.contains) == true else { return }
      // The name of the root now belongs to another folder, or to none.
      forgetAll()
      return debouncer.replaceWithFullScan(at: now)
    }
    let isFolder = event.kinds.contains(.isFolder)
    if FolderNames.isIgnored(event.name, isFolder: isFolder) { return }
    for node in nodes {
      guard let folder = tree.path(of: node) else { continue }
      let path = LibraryPath.join(folder, event.name)
      // The kernel does not report a link to a folder as a folder.
      handle(event, path, in: node, isFolder: isFolder || tree.child(of: node, event.name) != nil, now)
    }
    if event.kinds.contains(.movedTo), let pendingMove = pendingMoves.removeValue(forKey: event.cookie) {
      attachMoved(pendingMove.nodes, event)
    }
  }

  private mutating func handle(
    _ event: FolderEvent, _ path: [UInt8], in node: WatchTree.Node, isFolder: Bool, _ now: Int64
  ) {
    var hints: EventDebouncer.PathHints =
      event.kinds.contains(.isFolder) ? .folder : isFolder ? [.file, .folder] : .file
    if event.kinds.contains(.closedAfterWrite) { hints.insert(.closed) }
    if event.kinds.contains(.attributes), hints == .folder { hints = .attributes }
    if event.kinds.contains(.movedTo) { hints.formUnion([.closed, .arrived]) }
    // The new folder is not watched yet: of a file moved into it, only the removal of the old name raised an event.
    if event.kinds.contains(.created) && isFolder { hints.insert(.arrived) }
    let child = tree.child(of: node, event.name)
    if event.kinds.contains(.deleted), let child { events.unwatch(tree.remove(child)) }
    if event.kinds.contains(.movedFrom) {
      var pendingMove = pendingMoves[event.cookie] ?? PendingMove(paths: [], nodes: [])
      pendingMove.paths.append(path)
      if let child {
        tree.detach(child)
        pendingMove.nodes.append(child)
      }
      pendingMoves[event.cookie] = pendingMove
      if pendingMoves.count > debouncer.limits.paths { dropPendingMoves(now) }
    }
    if !event.kinds.isDisjoint(with: [.created, .deleted, .movedFrom, .movedTo]) {
      haveNamesChanged = true
      if isFolder { haveFoldersChanged = true }
    }
    if hints.contains(.arrived) { arrivals += 1 }
    debouncer.note(path, hints, now: now)
  }

  /// Attaches a renamed folder and its subtree at the new place. A folder that links lead to has further paths; a scan
  /// finds those.
  private mutating func attachMoved(_ nodes: [WatchTree.Node], _ event: FolderEvent) {
    var places = tree.nodes(of: event.watch)[...]
    for node in nodes {
      if let place = places.popFirst() {
        events.unwatch(tree.attach(node, to: place, event.name))
      } else {
        events.unwatch(tree.remove(node))
      }
    }
  }

  private mutating func dropPendingMoves(_ now: Int64) {
    for pendingMove in pendingMoves.values { for node in pendingMove.nodes { events.unwatch(tree.remove(node)) } }
    pendingMoves = [:]
    debouncer.replaceWithFullScan(at: now)
  }

  // MARK: Due paths

  /// The paths to scan now. The first half of a rename waits for one more round, because the two halves may arrive in
  /// separate reads.
  mutating func take(now: Int64) -> (paths: [[UInt8]: EventDebouncer.PathHints], isEverything: Bool) {
    var waiting: Set<[UInt8]> = []
    var gone: Set<[UInt8]> = []
    for (cookie, pendingMove) in pendingMoves {
      if pendingMove.hasWaited {
        pendingMoves[cookie] = nil
        gone.formUnion(pendingMove.paths)
        for node in pendingMove.nodes { events.unwatch(tree.remove(node)) }
      } else {
        pendingMoves[cookie]?.hasWaited = true
        waiting.formUnion(pendingMove.paths)
      }
    }
    var taken = debouncer.take(now: now) { waiting.contains($0) }
    if statistics.unwatchedFolders > 0 && !gone.isEmpty {
      // The file may have moved to an unwatched folder: only a full scan can find it there.
      for path in gone { taken.paths[path] = nil }
      debouncer.replaceWithFullScan(at: now)
    }
    if haveNamesChanged && !taken.paths.isEmpty {
      for (path, isFolder) in links {
        taken.paths[path, default: []].formUnion(isFolder && !haveFoldersChanged ? .file : [.file, .folder])
      }
      (haveNamesChanged, haveFoldersChanged) = (false, false)
    }
    pathsInScan = taken.paths
    return taken
  }

  /// Removes the watch of a folder that became unreadable, so that it counts as new once it is readable again.
  mutating func forget(_ path: [UInt8]) { if let node = tree.node(at: path) { events.unwatch(tree.remove(node)) } }

  private mutating func forgetAll() {
    pendingMoves = [:]
    if let root = tree.root { events.unwatch(tree.remove(root)) }
  }
}
