// What a watcher knows: folders, what was told of them, and what it has made of that. Events go in here one after the
// other; nothing is opened and nothing waits.

import LibraryFolder
import PhotoModel

struct WatchState {
  /// Symbolic links that are remembered; of more, those beyond are left to scans of everything.
  private static let links = 1024

  /// Something that had a name and has none, until it has another one.
  private struct Departure {
    var paths: [[UInt8]]
    /// Where it is a folder.
    var nodes: [WatchTree.Node]
    /// It was left out of a scan once.
    var hasWaited = false
  }

  let events: FolderEvents
  let folderLimit: Int
  var tree = WatchTree()
  var gathering: Gathering
  private var departures: [UInt32: Departure] = [:]
  /// Symbolic links, by where they are; and whether they lead to folders.
  private var links: [[UInt8]: Bool] = [:]
  /// Since the last scan something got or lost its name; or a folder did.
  private var haveNamesChanged = false
  private var haveFoldersChanged = false
  /// How often something came under a name that it had not before.
  private(set) var arrivals = 0
  var statistics = WatchStatistics()
  /// Scans of everything, counted.
  private var scan: UInt32 = 0
  /// Folders that could not be watched in this scan, and why the first could not.
  private var refused = 0
  private(set) var refusal: String?
  /// Files that were removed for what was told, since everything was scanned.
  var removed = 0
  var isScanQueued = false
  /// Not all was told, and everything is to be scanned for that.
  var isAskedForEverything = false

  init(events: FolderEvents, folderLimit: Int, gathering: Gathering.Limits) {
    self.events = events
    self.folderLimit = folderLimit
    self.gathering = Gathering(gathering)
  }

  // MARK: What a scan comes by

  mutating func scanBegins() {
    scan &+= 1
    links = [:]
    refused = 0
    refusal = nil
  }

  /// - Parameter isWalked: it came by everything.
  mutating func scanEnded(isWalked: Bool) {
    statistics.unwatchedFolders = refused
    guard isWalked else { return }
    // What is on its way somewhere is found there, by whoever looks.
    for (cookie, departure) in departures {
      for node in departure.nodes { events.unwatch(tree.remove(node)) }
      departures[cookie]?.nodes = []
    }
    events.unwatch(tree.removeAll(notOfScan: scan))
  }

  mutating func willList(_ path: [UInt8], _ folder: LibraryFile, now: Int64) {
    let slash = path.lastIndex(of: UInt8(ascii: "/"))
    let above = Array(path[..<(slash ?? 0)])
    let parent = path.isEmpty ? nil : tree.node(at: above)
    if !path.isEmpty && parent == nil {
      if refusal != nil { return refuse("the folder above it is not watched") }
      // The folder above is another than the one that was known by its name, and was not looked into yet.
      return gathering.note(above, [.folder, .arrived], now: now)
    }
    if tree.count >= folderLimit, tree.node(at: path) == nil { return refuse("watch.folders is \(folderLimit)") }
    do throws(SystemError) {
      let watch = try events.watch(folder, isRoot: path.isEmpty)
      if path.isEmpty, let root = tree.root, tree.watch(of: root) != watch { forgetAll() }
      events.unwatch(tree.put(Array(path[(slash.map { $0 + 1 } ?? 0)...]), in: parent, watch: watch, scan: scan))
    } catch {
      refuse("\(error)")
    }
  }

  mutating func passes(link path: [UInt8], isFolder: Bool) {
    if links[path] != nil || links.count < Self.links { links[path] = isFolder || links[path] ?? false }
  }

  private mutating func refuse(_ reason: String) {
    refused += 1
    refusal = refusal ?? reason
    statistics.unwatchedFolders = max(statistics.unwatchedFolders, refused)
  }

  // MARK: What is told

  mutating func happened(_ event: FolderEvent, now: Int64) {
    statistics.events += 1
    if event.kinds.contains(.overflow) {
      statistics.overflows += 1
      return gathering.noteAll(from: now)
    }
    let nodes = tree.nodes(of: event.watch)
    if event.kinds.contains(.unmounted) { gathering.noteAll(from: now) }
    if event.kinds.contains(.ended) {
      if tree.root.map(nodes.contains) == true {
        forgetAll()
        gathering.noteAll(from: now)
      } else {
        for node in nodes { events.unwatch(tree.remove(node)) }
      }
      return
    }
    // Of a folder that is no longer in the library, or of which a scan will find where it is.
    guard !nodes.isEmpty else { return events.unwatch([event.watch]) }
    guard !event.name.isEmpty else {
      guard event.kinds.contains(.folderMoved), tree.root.map(nodes.contains) == true else { return }
      // Another folder has the root's name by now, or none.
      forgetAll()
      return gathering.noteAll(from: now)
    }
    let isFolder = event.kinds.contains(.isFolder)
    if FolderNames.passesOver(event.name, isFolder: isFolder) { return }
    for node in nodes {
      guard let folder = tree.path(of: node) else { continue }
      let path = folder.isEmpty ? event.name : folder + [UInt8(ascii: "/")] + event.name
      // A link that leads to a folder is no folder to the kernel.
      happened(event, path, in: node, isFolder: isFolder || tree.child(of: node, event.name) != nil, now)
    }
    if event.kinds.contains(.movedTo), let departure = departures.removeValue(forKey: event.cookie) {
      arrive(departure.nodes, event)
    }
  }

  private mutating func happened(
    _ event: FolderEvent, _ path: [UInt8], in node: WatchTree.Node, isFolder: Bool, _ now: Int64
  ) {
    var told: Gathering.Told = event.kinds.contains(.isFolder) ? .folder : isFolder ? [.file, .folder] : .file
    if event.kinds.contains(.written) { told.insert(.closed) }
    if event.kinds.contains(.attributes), told == .folder { told = .rights }
    if event.kinds.contains(.movedTo) { told.formUnion([.closed, .arrived]) }
    // Nobody watches it yet, and whatever was moved there since was told as gone alone.
    if event.kinds.contains(.created) && isFolder { told.insert(.arrived) }
    let child = tree.child(of: node, event.name)
    if event.kinds.contains(.deleted), let child { events.unwatch(tree.remove(child)) }
    if event.kinds.contains(.movedFrom) {
      var departure = departures[event.cookie] ?? Departure(paths: [], nodes: [])
      departure.paths.append(path)
      if let child {
        tree.detach(child)
        departure.nodes.append(child)
      }
      departures[event.cookie] = departure
      if departures.count > gathering.limits.paths { loseDepartures(now) }
    }
    if !event.kinds.isDisjoint(with: [.created, .deleted, .movedFrom, .movedTo]) {
      haveNamesChanged = true
      if isFolder { haveFoldersChanged = true }
    }
    if told.contains(.arrived) { arrivals += 1 }
    gathering.note(path, told, now: now)
  }

  /// Puts a folder where it is now, with all below it. One that links lead to had more paths, and a scan finds them.
  private mutating func arrive(_ nodes: [WatchTree.Node], _ event: FolderEvent) {
    var places = tree.nodes(of: event.watch)[...]
    for node in nodes {
      if let place = places.popFirst() {
        events.unwatch(tree.attach(node, to: place, event.name))
      } else {
        events.unwatch(tree.remove(node))
      }
    }
  }

  private mutating func loseDepartures(_ now: Int64) {
    for departure in departures.values { for node in departure.nodes { events.unwatch(tree.remove(node)) } }
    departures = [:]
    gathering.noteAll(from: now)
  }

  // MARK: What is to be done

  /// What is due. Something that lost its name, and has no other one yet, waits for one more time: the two halves of a
  /// rename may be read apart.
  mutating func take(now: Int64) -> (paths: [[UInt8]: Gathering.Told], isEverything: Bool) {
    var waiting: Set<[UInt8]> = []
    var gone: Set<[UInt8]> = []
    for (cookie, departure) in departures {
      if departure.hasWaited {
        departures[cookie] = nil
        gone.formUnion(departure.paths)
        for node in departure.nodes { events.unwatch(tree.remove(node)) }
      } else {
        departures[cookie]?.hasWaited = true
        waiting.formUnion(departure.paths)
      }
    }
    var taken = gathering.take(now: now) { waiting.contains($0) }
    if statistics.unwatchedFolders > 0 && !gone.isEmpty {
      // It may be where nobody watches: only a scan of everything can tell.
      for path in gone { taken.paths[path] = nil }
      gathering.noteAll(from: now)
    }
    if haveNamesChanged && !taken.paths.isEmpty {
      for (path, isFolder) in links {
        taken.paths[path, default: []].formUnion(isFolder && !haveFoldersChanged ? .file : [.file, .folder])
      }
      (haveNamesChanged, haveFoldersChanged) = (false, false)
    }
    return taken
  }

  /// Takes back the watch of a folder that can't be looked into any more, so that it is new when it can be.
  mutating func forget(_ path: [UInt8]) { if let node = tree.node(at: path) { events.unwatch(tree.remove(node)) } }

  private mutating func forgetAll() {
    departures = [:]
    if let root = tree.root { events.unwatch(tree.remove(root)) }
  }
}
